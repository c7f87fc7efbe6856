"""Stateful keys in every provider: no index is used twice, no state has two holders, and a spent key says so."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import pytest

from anka_flow.catalog import bundled
from anka_flow.errors import Refused
from anka_flow.primitives import KeyPair
from anka_flow.provider import availability, providers

CATALOG = bundled()
STATEFUL = [
    (name, algorithm.name)
    for name, provider in providers().items()
    for algorithm in CATALOG.algorithms.values()
    if algorithm.stateful and provider.mechanism(algorithm)
]
each = pytest.mark.parametrize(("provider", "name"), STATEFUL, ids=lambda value: value)


@cache
def signer_of(provider: str, name: str) -> Any:
    return providers().get(provider).implement(CATALOG.get("signature", name))


@cache
def holder(provider: str, name: str) -> dict[str, KeyPair]:
    """Return where the session's one key of the pair is held; a key takes seconds to make."""
    return {"pair": signer_of(provider, name).generate()}


def start(provider: str, name: str) -> tuple[Any, dict[str, KeyPair]]:
    if reason := availability(provider):
        pytest.skip(f"{provider}: {reason}")
    return signer_of(provider, name), holder(provider, name)


def index(signature: bytes) -> int:
    """Return the index that a signature was made with (RFC 8391, 4.1.8: idx; RFC 8554, 5.4: q)."""
    return int.from_bytes(signature[:4], "big")


@each
def test_no_index_is_used_twice_across_a_hand_over(provider: str, name: str) -> None:
    """Signatures before and after a key is written and read have indices that only grow, and all verify."""
    signer, held = start(provider, name)
    pair = held["pair"]
    first = [signer.sign(pair.private, b"one"), signer.sign(pair.private, b"two")]
    held["pair"] = again = signer.decode_private(signer.encode_private(pair))
    last = signer.sign(again.private, b"three")
    indices = [index(signature) for signature in (*first, last)]
    assert indices == sorted(set(indices))
    assert [signer.verify(again.public, m, s) for m, s in zip((b"one", b"two", b"three"), (*first, last), strict=True)] == [
        True
    ] * 3


@each
def test_a_state_that_was_handed_over_signs_no_more(provider: str, name: str) -> None:
    """Whoever wrote the key cannot sign with it, nor write it a second time."""
    signer, held = start(provider, name)
    old = held["pair"]
    held["pair"] = signer.decode_private(signer.encode_private(old))
    with pytest.raises(Refused, match="handed over"):
        signer.sign(old.private, b"message")
    with pytest.raises(Refused, match="handed over"):
        signer.encode_private(old)


@each
def test_two_threads_share_no_index(provider: str, name: str) -> None:
    """Two threads that sign with one key get signatures with different indices."""
    signer, held = start(provider, name)
    made: list[bytes] = []
    threads = [threading.Thread(target=lambda: made.append(signer.sign(held["pair"].private, b"message"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({index(signature) for signature in made}) == 2


@each
def test_remaining_counts_down(provider: str, name: str) -> None:
    """A signature leaves one fewer."""
    signer, held = start(provider, name)
    before = signer.remaining(held["pair"])
    signer.sign(held["pair"].private, b"message")
    assert signer.remaining(held["pair"]) == before - 1


@each
def test_a_context_is_refused(provider: str, name: str) -> None:
    """XMSS and LMS know no context, and none is passed over."""
    signer, held = start(provider, name)
    with pytest.raises(Refused):
        signer.sign(held["pair"].private, b"message", b"context")


def advanced(provider: str, name: str, state: bytes, position: int, width: int, last: int) -> tuple[Any, KeyPair]:
    """Return signer and key with the index within its encoding set to ``last``."""
    signer = signer_of(provider, name)
    return signer, signer.decode_private(state[:position] + last.to_bytes(width, "big") + state[position + width :])


# Where the index lies in an encoding, and its octets: XMSS behind public key and OID (its reference code), HSS first behind the
# public key, pyhsslms last.
PLACES = [("liboqs", "XMSS", 68 + 4, 4), ("liboqs", "LMS", 56, 8), ("pyhsslms", "LMS", -4, 4)]


@pytest.mark.parametrize(("provider", "name", "position", "width"), PLACES)
def test_a_spent_key_is_refused(provider: str, name: str, position: int, width: int) -> None:
    """Past its last index a key signs nothing, and says that it is used up."""
    signer, _ = start(provider, name)
    state = signer.encode_private(signer.generate())
    _, pair = advanced(provider, name, state, position % len(state), width, 1022)
    left = signer.remaining(pair)
    assert 1 <= left <= 2
    for _ in range(left):
        assert index(signer.sign(pair.private, b"message")) >= 1022
    with pytest.raises(Refused, match="used up"):
        signer.sign(pair.private, b"message")
