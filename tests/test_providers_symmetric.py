"""What every MAC, AEAD and key wrap must do, whichever library is behind it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from anka_flow.errors import Refused, Unsupported

from .offers import MESSAGE, algorithm_of, flipped, key, pairs, pieces, primitive

CONTENT_KEY = bytes(range(32))

macs = pytest.mark.parametrize(("provider", "algorithm"), pairs("mac"))
aeads = pytest.mark.parametrize(("provider", "algorithm"), pairs("aead"))
wraps = pytest.mark.parametrize(("provider", "algorithm"), [*pairs("wrap"), *pairs("kem", algorithms=["kem:RSA-2048"])])


@macs
def test_mac_is_repeatable_and_of_its_size(provider: str, algorithm: str) -> None:
    """A tag is the same twice, of the standard's size, and changes with every bit of message and key."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    tag = made.tag(pair.private, MESSAGE)
    assert type(tag) is bytes
    assert made.tag(pair.public, MESSAGE) == tag
    assert len(tag) == algorithm_of(algorithm).sizes["tag"]
    assert made.tag(pair.private, flipped(MESSAGE, 0)) != tag
    assert made.tag(pair.private, MESSAGE + b"\0") != tag
    other = made.decode_private(flipped(made.encode_private(pair), 3))
    assert made.tag(other.private, MESSAGE) != tag


@macs
def test_mac_in_pieces_is_mac_at_once(provider: str, algorithm: str) -> None:
    """A tag made in pieces is the tag made at once, and two in progress do not disturb each other."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    first, second = made.start_tag(pair.private), made.start_tag(pair.private)
    second.update(b"another message")
    for piece in pieces(MESSAGE):
        first.update(piece)
    assert first.finish() == made.tag(pair.private, MESSAGE)
    assert second.finish() == made.tag(pair.private, b"another message")


@aeads
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 65_537])
def test_aead_opens_what_it_sealed(provider: str, algorithm: str, size: int) -> None:
    """Opening gives the data back, for whole and broken blocks; the tag has the standard's size."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    nonce, data = os.urandom(made.nonce_bytes), os.urandom(size)
    sealed = made.seal(pair.private, nonce, data, b"additional")
    padding = 16 - size % 16 if "CBC" in algorithm else 0
    assert type(sealed) is bytes
    assert len(sealed) == size + padding + algorithm_of(algorithm).sizes["tag"]
    opened = made.open(pair.private, nonce, sealed, b"additional")
    assert type(opened) is bytes
    assert opened == data


@aeads
def test_aead_takes_its_sizes_from_the_catalog(provider: str, algorithm: str) -> None:
    """Key, nonce and tag sizes are the standard's."""
    made, sizes = primitive(provider, algorithm), algorithm_of(algorithm).sizes
    assert (made.key_bytes, made.nonce_bytes, made.tag_bytes) == (sizes["key"], sizes["nonce"], sizes["tag"])
    assert len(made.encode_private(key(provider, algorithm))) == sizes["key"]


@aeads
def test_aead_refuses_what_was_changed(provider: str, algorithm: str) -> None:
    """A changed bit in data, tag, nonce or additional data is refused, as are another key and a cut message."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    nonce = os.urandom(made.nonce_bytes)
    sealed = made.seal(pair.private, nonce, MESSAGE, b"additional")
    wrong = [(pair.private, nonce, flipped(sealed, at), b"additional") for at in (0, len(MESSAGE) // 2, len(sealed) - 1)]
    wrong += [(pair.private, nonce, sealed[:cut], b"additional") for cut in (0, 1, made.tag_bytes - 1, made.tag_bytes, -1)]
    wrong += [(pair.private, nonce, sealed + b"\0", b"additional")]
    wrong += [(pair.private, flipped(nonce, 0), sealed, b"additional"), (pair.private, b"", sealed, b"additional")]
    wrong += [(pair.private, nonce, sealed, b"additionaL"), (pair.private, nonce, sealed, b"")]
    wrong += [
        (made.decode_private(flipped(made.encode_private(pair), made.key_bytes - 1)).private, nonce, sealed, b"additional")
    ]
    for case in wrong:
        with pytest.raises(Refused):
            made.open(*case)


@aeads
def test_aead_in_pieces_is_aead_at_once(provider: str, algorithm: str) -> None:
    """Pieces give the same octets and tag as one call, both ways; or both forms say that they are missing."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    nonce, data = os.urandom(made.nonce_bytes), os.urandom(70_001)
    if not made.streams:
        with pytest.raises(Unsupported):
            made.sealer(pair.private, nonce, b"")
        with pytest.raises(Unsupported):
            made.opener(pair.private, nonce, b"")
        return
    sealed = made.seal(pair.private, nonce, data, b"additional")
    sealer = made.sealer(pair.private, nonce, b"additional")
    assert _through(sealer, data) == sealed[: len(data)]
    assert sealer.finish() == sealed[len(data) :]
    opener = made.opener(pair.private, nonce, b"additional")
    assert _through(opener, sealed[: len(data)]) == data
    opener.finish(memoryview(sealed)[len(data) :])


@aeads
def test_aead_in_pieces_refuses_a_wrong_tag(provider: str, algorithm: str) -> None:
    """A stream whose tag is changed, cut, longer or missing ends in refusal."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    if not made.streams:
        pytest.skip("no form in pieces")
    nonce = os.urandom(made.nonce_bytes)
    sealed = made.seal(pair.private, nonce, MESSAGE, b"")
    tag = sealed[len(MESSAGE) :]
    for wrong in (flipped(tag, 0), flipped(tag, 15), tag[:-1], tag[:4], tag + b"\0", b""):
        opener = made.opener(pair.private, nonce, b"")
        _through(opener, sealed[: len(MESSAGE)])
        with pytest.raises(Refused):
            opener.finish(wrong)


def _through(worker: Any, data: bytes) -> bytes:
    """Push ``data`` through in uneven pieces with an output that is 16 octets larger than each."""
    made, view, at = bytearray(), memoryview(data), 0
    for size in (1, 31, 4096, 0, len(data)):
        piece = view[at : at + size]
        out = bytearray(len(piece) + 16)
        made += out[: worker.update_into(piece, memoryview(out))]
        at += len(piece)
    return bytes(made)


@wraps
def test_wrapped_key_unwraps(provider: str, algorithm: str) -> None:
    """Unwrapping gives the content key back; a changed or cut one is refused."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    wrapped = made.wrap(pair.public, CONTENT_KEY)
    assert made.unwrap(pair.private, wrapped) == CONTENT_KEY
    for wrong in (
        flipped(wrapped, 0),
        flipped(wrapped, len(wrapped) - 1),
        wrapped[:-1],
        wrapped[:-8],
        wrapped + b"\0",
        b"",
        b"\0" * 7,
    ):
        with pytest.raises(Refused):
            made.unwrap(pair.private, wrong)


@wraps
def test_wrap_refuses_what_it_cannot_carry(provider: str, algorithm: str) -> None:
    """A content key that is too long for RSA-OAEP, or no multiple of 8 for AES-KW, is refused."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    if "GCMKW" in algorithm:
        pytest.skip("carries any length")
    with pytest.raises(Refused):
        made.wrap(pair.public, bytes(513))
