"""Detached JWS with an unencoded payload (RFC 7797): signed and verified in one pass over a source.

Where the signer streams, memory is constant. Where it cannot (Ed25519, Ed448, SLH-DSA, ...), the message is gathered first,
and the token says ``buffered``. Nothing here reads a clock: the caller says when a token was issued.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anka_flow.keys import Key
from anka_flow.primitives import Buffer, Signing, Verifying
from anka_flow.streams import BytesSource, Source

from .encoding import b64u_decode, b64u_encode, dump_header, parse_header, refusal
from .jws import check_header, facts, private_of, signer_of

MAX_TOKEN_BYTES = 256 * 1024  # a detached token holds a header and a signature; the largest (SLH-DSA) has 66 KiB
_OWN = frozenset(("alg", "b64", "crit", "kid", "ank_kv", "iat"))


class DetachedToken(bytes):
    """A flattened JWS without ``payload``. ``buffered`` says that making it took memory in proportion to the payload."""

    buffered = False

    def facts(self) -> dict[str, str | int]:
        """Return what the token shows: its ``alg``, the octets of its ``signature``, and whether it was ``buffered``."""
        return {**facts(*take_apart(self)), "buffered": self.buffered}

    def compact(self) -> bytes:
        """Return the compact form ``protected..signature``."""
        protected, signature = take_apart(self)
        return protected + b".." + b64u_encode(signature)


def sign_stream(
    key: Key,
    source: Source,
    *,
    header: Mapping[str, Any] | None = None,
    issued_at_s: int | None = None,
    key_version: int = 1,
) -> DetachedToken:
    """Return the token of what ``source`` gives. All header members are fixed before the first octet is read."""
    protected = _protect(key, header, issued_at_s, key_version)
    signer, private = signer_of(key), private_of(key)
    if not signer.streams:
        return _token(protected, signer.sign(private, _gather(protected, source)), buffered=True)
    signing = signer.start_sign(private)
    _feed(signing, protected, source)
    return _token(protected, signing.finish(), buffered=False)


def verify_stream(key: Key, source: Source, token: Buffer) -> bool:
    """Return True if the token is valid for what ``source`` gives. Raises ``Refused``."""
    protected, signature = _open(key, token)
    signer = signer_of(key)
    key.spend()
    if signer.streams:
        verifying = signer.start_verify(key.pair.public)
        _feed(verifying, protected, source)
        good = verifying.finish(signature)
    else:
        good = signer.verify(key.pair.public, _gather(protected, source), signature)
    if not good:
        raise refusal()
    return True


def resign_stream(
    old: Key, new: Key, source: Source, token: Buffer, *, issued_at_s: int | None = None, key_version: int = 1
) -> DetachedToken:
    """Return a token of ``new`` for the payload, once that of ``old`` has been verified on the same octets. Raises ``Refused``.

    One pass: what is signed is what was verified, even if the source changes meanwhile.
    """
    protected, signature = _open(old, token)
    fresh = _protect(new, None, issued_at_s, key_version)
    if not (signer_of(old).streams and signer_of(new).streams):
        return _resign_buffered(old, new, (protected, fresh), source, signature)
    old.spend()
    verifying, signing = signer_of(old).start_verify(old.pair.public), signer_of(new).start_sign(private_of(new))
    verifying.update(protected + b".")
    signing.update(fresh + b".")
    for chunk in source.chunks():
        verifying.update(chunk)
        signing.update(chunk)
    if not verifying.finish(signature):
        raise refusal()
    return _token(fresh, signing.finish(), buffered=False)


def _resign_buffered(old: Key, new: Key, protected: tuple[bytes, bytes], source: Source, signature: bytes) -> DetachedToken:
    """Gather the message once; the new header takes the place of the old one in it."""
    message = _gather(protected[0], source)
    old.spend()
    if not signer_of(old).verify(old.pair.public, message, signature):
        raise refusal()
    message[: len(protected[0])] = protected[1]
    return _token(protected[1], signer_of(new).sign(private_of(new), message), buffered=True)


def verify_detached(key: Key, token: Buffer, payload: Buffer) -> bool:
    """Return True if the compact token without its payload is valid for it; ``b64`` may be true (RFC 7515, F) or false."""
    protected, empty, signature = _split(bytes(token))
    if empty:
        raise refusal()
    signature = b64u_decode(signature)
    encoded = check_header(key, parse_header(b64u_decode(protected)))
    key.spend()
    message = _gather(protected, BytesSource(b64u_encode(payload) if encoded else payload))
    if not signer_of(key).verify(key.pair.public, message, signature):
        raise refusal()
    return True


def _split(token: bytes) -> tuple[bytes, bytes, bytes]:
    parts = token.split(b".")
    if len(parts) != 3:
        raise refusal()
    return parts[0], parts[1], parts[2]


def _protect(key: Key, header: Mapping[str, Any] | None, issued_at_s: int | None, key_version: int) -> bytes:
    extra = dict(header or {})
    if _OWN & extra.keys():
        raise ValueError(f"the header members {', '.join(sorted(_OWN))} are not the caller's to set")
    if issued_at_s is not None:
        extra["iat"] = issued_at_s
    alg = key.primitive.algorithm.jose
    own = {"alg": alg, "b64": False, "crit": ["b64"], "kid": key.kid, "ank_kv": key_version}
    return b64u_encode(dump_header(own | extra))


def _token(protected: bytes, signature: bytes, *, buffered: bool) -> DetachedToken:
    token = DetachedToken(b'{"protected":"%b","signature":"%b"}' % (protected, b64u_encode(signature)))
    token.buffered = buffered
    return token


def take_apart(token: Buffer) -> tuple[bytes, bytes]:
    """Return the encoded protected header and the signature's octets. Raises ``Refused`` for any other form."""
    members = parse_header(token, MAX_TOKEN_BYTES)
    if members.keys() != {"protected", "signature"}:
        raise refusal()
    return text(members["protected"]), b64u_decode(text(members["signature"]))


def text(value: Any) -> bytes:
    """Return the octets of an ASCII string of a JSON token. Raises ``Refused``."""
    if type(value) is not str or not value.isascii():
        raise refusal()
    return value.encode()


def _open(key: Key, token: Buffer) -> tuple[bytes, bytes]:
    """Return the protected header and the signature of a token whose header is right: this key's ``alg`` and b64 false."""
    protected, signature = take_apart(token)
    if check_header(key, parse_header(b64u_decode(protected))):
        raise refusal()
    return protected, signature


def _gather(protected: bytes, source: Source) -> bytearray:
    message = bytearray(protected)
    message += b"."
    for chunk in source.chunks():
        message += chunk
    return message


def _feed(progress: Signing | Verifying, protected: bytes, source: Source) -> None:
    progress.update(protected + b".")
    update = progress.update
    for chunk in source.chunks():
        update(chunk)
