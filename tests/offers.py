"""Every (provider, algorithm) that the registry offers, made usable once per test session.

Keys are made at most once per pair. RSA keys above 2048 bits are made by ``openssl`` alone and loaded by the others, since
some need minutes for one.
"""

from __future__ import annotations

from base64 import b64decode
from functools import cache
from typing import Any

import pytest

from anka_flow.catalog import bundled
from anka_flow.errors import Unsupported
from anka_flow.known_answers import answer_of
from anka_flow.primitives import Algorithm, KeyPair
from anka_flow.provider import availability, providers

CATALOG = bundled()
MESSAGE = b"one message that every signer signs, and that fills more than a block of any hash here. " * 3


def pairs(*kinds: str, algorithms: list[str] | None = None) -> list[Any]:
    """Return pytest parameters ``(provider, algorithm id)``, without importing a library."""
    return [
        pytest.param(name, algorithm.id, id=f"{name}-{algorithm.id}")
        for name, provider in providers().items()
        for algorithm in CATALOG.algorithms.values()
        if (not kinds or algorithm.kind in kinds)
        and (algorithms is None or algorithm.id in algorithms)
        and provider.mechanism(algorithm)
    ]


def algorithm_of(algorithm_id: str) -> Algorithm:
    return CATALOG.algorithms[algorithm_id]


def missing(provider: str, algorithm_id: str) -> str | None:
    """Return why the pair cannot be used here, or None."""
    return (
        availability(provider)
        or providers().get(provider).refusal(algorithm_of(algorithm_id))
        or _made(provider, algorithm_id)[1]
    )


@cache
def _made(provider: str, algorithm_id: str) -> tuple[Any, str | None]:
    try:
        return providers().get(provider).implement(algorithm_of(algorithm_id)), None
    except Unsupported as error:
        return None, str(error)


def primitive(provider: str, algorithm_id: str) -> Any:
    """Return the primitive, or skip with the reason that there is none here."""
    if reason := missing(provider, algorithm_id):
        pytest.skip(f"{provider}: {reason}")
    return _made(provider, algorithm_id)[0]


def present(algorithm_id: str) -> list[str]:
    """Return the names of the providers that can do the algorithm here."""
    algorithm = algorithm_of(algorithm_id)
    return [name for name, p in providers().items() if p.mechanism(algorithm) and missing(name, algorithm_id) is None]


_KEYS: dict[tuple[str, str], KeyPair] = {}


def key(provider: str, algorithm_id: str) -> KeyPair:
    """Return the session's key of the pair."""
    if (provider, algorithm_id) not in _KEYS:
        implementation = primitive(provider, algorithm_id)
        octets = _rsa_key(algorithm_of(algorithm_id).name)
        _KEYS[provider, algorithm_id] = implementation.decode_private(octets) if octets else implementation.generate()
    return _KEYS[provider, algorithm_id]


def keep(provider: str, algorithm_id: str, pair: KeyPair) -> None:
    """Put another key in the session's place: a stateful key has one holder at a time."""
    _KEYS[provider, algorithm_id] = pair


@cache
def _rsa_key(name: str) -> bytes | None:
    family, _, bits = name.partition("-")
    if family != "RSA" or not bits.isdigit() or missing("openssl", f"signature:{name}"):
        return None
    rsa = primitive("openssl", f"signature:{name}")
    return bytes(rsa.encode_private(rsa.generate()))


@cache
def signed(provider: str, algorithm_id: str) -> bytes:
    """Return a signature of ``MESSAGE`` under the session's key."""
    return bytes(primitive(provider, algorithm_id).sign(key(provider, algorithm_id).private, MESSAGE))


@cache
def other_public(provider: str, algorithm_id: str) -> Any:
    """Return a public key handle of the same algorithm that belongs to another private key."""
    implementation, algorithm = primitive(provider, algorithm_id), algorithm_of(algorithm_id)
    if algorithm.kty == "RSA":
        return implementation.decode_public(_another_modulus(implementation.encode_public(key(provider, algorithm_id).public)))
    stored = (answer_of(algorithm) or {}).get("public")
    if isinstance(stored, str):  # spares making a second key, which takes seconds for XMSS
        return implementation.decode_public(b64decode(stored))
    others = [name for name in present(algorithm_id) if name != provider]
    if algorithm.family == "Classic-McEliece" and others:
        made = primitive(others[0], algorithm_id)
        return implementation.decode_public(made.encode_public(key(others[0], algorithm_id).public))
    return implementation.generate().public


def _another_modulus(der: bytes) -> bytes:
    """Return an RSA public key whose modulus differs: a second key of 8192 bits would take too long to make.

    It has no factor below 1000, since some libraries refuse a modulus that has one.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    public = serialization.load_der_public_key(der)
    assert isinstance(public, rsa.RSAPublicKey)
    numbers = public.public_numbers()
    modulus = next(n for n in range(numbers.n - 2, 0, -2) if all(n % factor for factor in range(3, 1000, 2)))
    other = rsa.RSAPublicNumbers(numbers.e, modulus).public_key()
    return other.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def flipped(data: bytes, at: int) -> bytes:
    """Return ``data`` with one bit changed in octet ``at``."""
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)


def pieces(data: bytes) -> list[bytes | bytearray | memoryview]:
    """Return ``data`` in uneven pieces of every kind of buffer, one of them empty."""
    return [data[:1], memoryview(data)[1:70], b"", bytearray(data[70:])]
