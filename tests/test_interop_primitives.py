"""Where two providers give the same algorithm they open each other's output, over all ordered pairs.

Disagreements that are known stand in the catalog's notes as ``disagrees-<provider>: <version>: why`` and are held here too.
"""

from __future__ import annotations

from typing import Any

import pytest

from anka_flow.errors import Refused
from anka_flow.provider import availability, providers

from .offers import CATALOG, MESSAGE, algorithm_of, key, missing, other_public, primitive, signed

CONTENT_KEY = bytes(range(32))


def _ordered_pairs(*kinds: str) -> list[Any]:
    """Return ``(algorithm id, first, second)`` of every two providers that the registry names for one algorithm."""
    made = []
    for algorithm in CATALOG.algorithms.values():
        names = [name for name, provider in providers().items() if provider.mechanism(algorithm)]
        made += [
            pytest.param(algorithm.id, first, second, id=f"{algorithm.id}-{first}-{second}")
            for first in names
            for second in names
            if algorithm.kind in kinds and first != second
        ]
    return made


def _agreeing(algorithm: str, first: str, second: str) -> tuple[Any, Any]:
    """Return both primitives; skip where the catalog names a disagreement, which has a test of its own."""
    both = primitive(first, algorithm), primitive(second, algorithm)
    if any(_disagreement(algorithm, name) for name in (first, second)):
        pytest.skip("the catalog names a disagreement")
    return both


def _disagreement(algorithm: str, provider: str) -> str | None:
    """Return the note that holds for the provider's version here, or None."""
    note = algorithm_of(algorithm).notes.get(f"disagrees-{provider}", "")
    version = note.partition(":")[0]
    return note if note and version in providers().get(provider).version() else None


@pytest.mark.parametrize(("algorithm", "first", "second"), _ordered_pairs("kem"))
def test_kem_opens_the_others_ciphertext(algorithm: str, first: str, second: str) -> None:
    """What the second encapsulates to the first's key, the first decapsulates."""
    one, two = _agreeing(algorithm, first, second)
    pair = key(first, algorithm)
    ciphertext, secret = two.encapsulate(two.decode_public(one.encode_public(pair.public)))
    assert one.decapsulate(pair.private, ciphertext) == secret


@pytest.mark.parametrize(("algorithm", "first", "second"), _ordered_pairs("signature"))
def test_signature_verifies_with_the_other(algorithm: str, first: str, second: str) -> None:
    """What the first signs, the second verifies, and not for another message."""
    one, two = _agreeing(algorithm, first, second)
    public = two.decode_public(one.encode_public(key(first, algorithm).public))
    assert two.verify(public, MESSAGE, signed(first, algorithm)) is True
    assert two.verify(public, MESSAGE + b"\0", signed(first, algorithm)) is False


@pytest.mark.parametrize(("algorithm", "first", "second"), _ordered_pairs("mac"))
def test_mac_is_the_others_mac(algorithm: str, first: str, second: str) -> None:
    """Both make the same tag under one key."""
    one, two = _agreeing(algorithm, first, second)
    pair = key(first, algorithm)
    other = two.decode_private(one.encode_private(pair))
    for message in (b"", MESSAGE, MESSAGE * 1000):
        assert two.tag(other.private, message) == one.tag(pair.private, message)


@pytest.mark.parametrize(("algorithm", "first", "second"), _ordered_pairs("aead"))
def test_aead_makes_the_others_octets(algorithm: str, first: str, second: str) -> None:
    """Both seal to the same octets under one key and nonce, and open each other's."""
    one, two = _agreeing(algorithm, first, second)
    pair = key(first, algorithm)
    other, nonce = two.decode_private(one.encode_private(pair)), bytes(range(one.nonce_bytes))
    for data, aad in ((b"", b""), (MESSAGE, b"additional"), (MESSAGE * 1000, MESSAGE)):
        sealed = one.seal(pair.private, nonce, data, aad)
        assert two.seal(other.private, nonce, data, aad) == sealed
        assert two.open(other.private, nonce, sealed, aad) == data


@pytest.mark.parametrize(("algorithm", "first", "second"), _ordered_pairs("wrap"))
def test_wrapped_key_unwraps_with_the_other(algorithm: str, first: str, second: str) -> None:
    """What the first wraps, the second unwraps."""
    one, two = _agreeing(algorithm, first, second)
    pair = key(first, algorithm)
    assert two.unwrap(two.decode_private(one.encode_private(pair)).private, one.wrap(pair.public, CONTENT_KEY)) == CONTENT_KEY


def _noted() -> list[Any]:
    return [
        pytest.param(algorithm.id, note.removeprefix("disagrees-"), id=f"{algorithm.id}-{note}")
        for algorithm in CATALOG.algorithms.values()
        for note in algorithm.notes
        if note.startswith("disagrees-")
    ]


@pytest.mark.parametrize(("algorithm", "provider"), _noted())
def test_noted_disagreement_is_real(algorithm: str, provider: str) -> None:
    """A provider that the catalog says disagrees is kept out of the algorithm, or does not open the others' output."""
    assert provider in providers()
    if reason := availability(provider):
        pytest.skip(f"{provider}: {reason}")
    if not providers().get(provider).mechanism(algorithm_of(algorithm)) or missing(provider, algorithm):
        return
    if not _disagreement(algorithm, provider):
        pytest.skip("another version is here, which the pairs above cover")
    others = [name for name in providers() if name != provider and providers().get(name).mechanism(algorithm_of(algorithm))]
    other = next((name for name in others if missing(name, algorithm) is None), None)
    if other is None:
        pytest.skip("no second provider is here")
    assert not _agree(algorithm, provider, other)


def _agree(algorithm: str, first: str, second: str) -> bool:
    one, two = primitive(first, algorithm), primitive(second, algorithm)
    pair = key(first, algorithm)
    try:
        ciphertext, secret = two.encapsulate(two.decode_public(one.encode_public(pair.public)))
        return bool(one.decapsulate(pair.private, ciphertext) == secret)
    except Refused:
        return False


def test_a_disagreement_would_be_seen() -> None:
    """The comparison tells a secret for another key from the right one."""
    one = primitive("openssl", "kem:X25519")
    ciphertext, secret = one.encapsulate(other_public("openssl", "kem:X25519"))
    assert one.decapsulate(key("openssl", "kem:X25519").private, ciphertext) != secret
