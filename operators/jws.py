"""JSON Web Signature: compact tokens, and detached ones over a source. Signatures, MACs and composites take one path."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from anka_flow import Buffer, CheckFailed, Key, Mac, Refused, Signer, operator
from anka_flow.jose import damage, jwk, jws, jws_stream
from anka_flow.jose.jws import CompactToken
from anka_flow.jose.jws_stream import DetachedToken
from anka_flow.jose.mac_signer import as_signer
from anka_flow.streams import Source


def _restore(data: bytes, algorithm: Signer | Mac) -> Key:
    return Key.load(data, as_signer(algorithm))


@operator(restore=_restore)
def generate(algorithm: Signer | Mac) -> Key:
    """Return a new key; a MAC's is used through the shape of a signer."""
    return jwk.generate(algorithm)


@operator
def sign(key: Key, payload: bytes) -> CompactToken:
    """Return the compact token."""
    return CompactToken(jws.sign_compact(key, payload))


@operator
def verify(key: Key, token: CompactToken) -> bytearray:
    """Return the payload of a valid token."""
    return jws.verify_compact(key, token.octets)


@operator
def resign(old: Key, new: Key, token: CompactToken) -> CompactToken:
    """Return the token under the new key, once it has been verified under the old one; the payload stays inside."""
    return CompactToken(jws.resign_compact(old, new, token.octets))


@operator
def signing_input(key: Key, payload: bytes) -> bytes:
    """Return the octets that a compact token signs: one step of ``sign``, apart."""
    return jws.signing_input(key, payload)


@operator
def assemble(signed: bytes, signature: bytes) -> CompactToken:
    """Return the compact token of a signing input and its signature: the last step of ``sign``, apart."""
    return CompactToken(jws.assemble(signed, signature))


@operator
def sign_stream(key: Key, payload: Source) -> DetachedToken:
    """Return the detached token of the source."""
    return jws_stream.sign_stream(key, payload, issued_at_s=int(time.time()))


@operator
def verify_stream(key: Key, payload: Source, token: DetachedToken) -> bool:
    """Return True for a valid token of the source; others are refused."""
    return jws_stream.verify_stream(key, payload, token)


@operator
def resign_stream(old: Key, new: Key, payload: Source, token: DetachedToken) -> DetachedToken:
    """Return a token of the new key, once that of the old one has been verified, in one pass over the source."""
    return jws_stream.resign_stream(old, new, payload, token, issued_at_s=int(time.time()))


# Above this size only what the payload's size could change is tried again; the smaller payloads of a suite try all of it.
_LARGE = 1 << 20
_FLIPPED = ("a flipped payload bit", "a flipped signature bit")


@operator
def check_refusals(key: Key, other: Key, token: CompactToken) -> None:
    """The token is refused under another key, and under its own once it is damaged in any of the ways of ``jose.damage``."""
    _must_refuse("another key", partial(jws.verify_compact, other, token.octets))
    for what, octets in damage.compact(token.octets):
        if len(token.octets) < _LARGE or what in _FLIPPED:
            _must_refuse(what, partial(jws.verify_compact, key, octets))


@operator
def check_stream_refusals(key: Key, other: Key, payload: Source, token: DetachedToken) -> None:
    """The detached token is refused under another key, for another payload, and once it is damaged."""
    _must_refuse("another key", partial(jws_stream.verify_stream, other, payload, token))
    _must_refuse("another payload", partial(jws_stream.verify_stream, key, _Longer(payload), token))
    large = sum(len(chunk) for chunk in payload.chunks()) >= _LARGE
    for what, octets in damage.detached(token):
        if not large or what in _FLIPPED:
            _must_refuse(what, partial(jws_stream.verify_stream, key, payload, octets))


class _Longer:
    """A source with one octet more."""

    def __init__(self, source: Source) -> None:
        self.source, self.once = source, source.once

    def chunks(self, size: int = 1 << 16) -> Iterator[Buffer]:
        yield from self.source.chunks(size)
        yield b"\0"


def _must_refuse(what: str, verify: Callable[[], object]) -> None:
    try:
        verify()
    except Refused:
        return
    raise CheckFailed(f"a token with {what} was accepted")
