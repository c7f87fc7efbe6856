"""Keys for JOSE tests: one key per algorithm and session, by the provider that a plan would choose."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding

from anka_flow.errors import Refused, Unsupported
from anka_flow.jose import jwk
from anka_flow.jose.composite_signature import PAIRS, CompositeSigner
from anka_flow.jose.mac_signer import as_signer
from anka_flow.keys import Key
from anka_flow.plan import primitive
from anka_flow.primitives import Algorithm, KeyPair
from anka_flow.provider import choose
from anka_flow.providers.openssl.signature import RsaPss

from . import offers

PAYLOAD = b"It is a payload, and 41 octets long, in all"[:41]
SIGNING = [a.id for a in offers.CATALOG.algorithms.values() if a.kind in ("mac", "signature")]
COMPOSITES = ["+".join(pair) for pair in PAIRS]
REGISTERED = {
    "HS256": "mac:HMAC-SHA256",
    "HS384": "mac:HMAC-SHA384",
    "HS512": "mac:HMAC-SHA512",
    "PS256": "signature:RSA-2048",
    "ES256": "signature:P-256",
    "ES384": "signature:P-384",
    "ES512": "signature:P-521",
    "Ed25519": "signature:Ed25519",
    "Ed448": "signature:Ed448",
    "ML-DSA-44": "signature:ML-DSA-44",
    "ML-DSA-65": "signature:ML-DSA-65",
    "ML-DSA-87": "signature:ML-DSA-87",
}


def b64u(octets: bytes) -> bytes:
    """base64url as the standard library has it, to check ours against."""
    return base64.urlsafe_b64encode(octets).rstrip(b"=")


def compact(header: dict[str, Any] | bytes, payload: bytes, signature: bytes) -> bytes:
    """Put a compact token together without the code under test."""
    octets = header if isinstance(header, bytes) else json.dumps(header).encode()
    return b".".join((b64u(octets), b64u(payload), b64u(signature)))


def take_apart(token: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return header, payload and signature of a compact token."""
    parts = [base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4)) for part in bytes(token).split(b".")]
    return json.loads(parts[0]), parts[1], parts[2]


def must_refuse(what: str, call: Callable[..., object], *arguments: Any) -> str:
    """Fail unless the call raises ``Refused``; return what it says."""
    try:
        call(*arguments)
    except Refused as error:
        return str(error)
    pytest.fail(f"{what} was accepted")


@cache
def _chosen(algorithm_id: str) -> str:
    algorithm = offers.algorithm_of(algorithm_id)
    return choose(algorithm, offers.CATALOG.default_order).name


def key(name: str) -> Key:
    """Return the session's key of an algorithm id (``kind:name``) or a composite (``P-256+ML-DSA-44``), with fresh limits."""
    if "+" in name:
        return Key(composite(name), _composite_pair(name), kid="the kid")
    provider = _provider(name)
    return Key(as_signer(offers.primitive(provider, name)), offers.key(provider, name), kid="the kid")


def other_key(name: str) -> Key:
    """Return a second key of the algorithm; of a signature, its public part alone will do."""
    if "+" in name:
        return jwk.generate(composite(name))
    provider, kind = _provider(name), name.partition(":")[0]
    signer = as_signer(offers.primitive(provider, name))
    return Key(signer, signer.generate() if kind == "mac" else KeyPair(offers.other_public(provider, name), None))


def _provider(algorithm_id: str) -> str:
    try:
        return _chosen(algorithm_id)
    except Unsupported as reason:
        pytest.skip(str(reason))


def composite(name: str) -> CompositeSigner:
    """Return the composite signer of ``P-256+ML-DSA-44`` or another pair."""
    classical, pqc = name.split("+")
    return CompositeSigner(primitive("signature", classical), primitive("signature", pqc))  # type: ignore[arg-type]


@cache
def _composite_pair(name: str) -> KeyPair:
    return composite(name).generate()


class RsaPkcs1(RsaPss):
    """RS256, RS384, RS512 for published vectors; the catalog has RSA-PSS alone."""

    def __init__(self, algorithm: Algorithm, bits: str, digest: str) -> None:
        super().__init__(algorithm, bits, digest)
        self._padding = padding.PKCS1v15()


def signer_for(jwk_of: dict[str, Any], alg: str) -> Any:
    """Return the primitive of a registered ``alg`` for the key of a vector."""
    if alg[:2] in ("RS", "PS"):
        bits = max(2048, len(base64.urlsafe_b64decode(jwk_of.get("n", "") + "==")) * 8)  # no catalog row has a shorter modulus
        row = Algorithm(name=f"RSA-{bits}", kind="signature", family="RSA", kty="RSA", jose=alg)
        return (RsaPkcs1 if alg[0] == "R" else RsaPss)(row, str(bits), f"SHA{alg[2:]}")
    if alg == "EdDSA":
        alg = jwk_of["crv"]
    kind, _, name = REGISTERED[alg].partition(":")
    return as_signer(primitive(kind, name))  # type: ignore[arg-type]


def vector_key(members: dict[str, Any], alg: str) -> Key:
    """Return the key of a vector for ``alg``."""
    return jwk.import_key(members, signer_for(members, alg))
