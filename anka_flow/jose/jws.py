"""JWS compact serialization: sign, verify, re-sign (RFC 7515). Nothing here reads a clock or a file.

``alg`` is always the key's own: a token never chooses how it is verified. Whatever is wrong with a token ends in the
one error of ``encoding.refusal``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anka_flow.errors import Refused
from anka_flow.keys import Key
from anka_flow.primitives import Algorithm, Buffer, Signer

from .composite_signature import PAIRS
from .encoding import (
    b64u_decode,
    b64u_decode_payload,
    b64u_encode,
    b64u_length,
    b64u_write,
    dump_header,
    parse_header,
    refusal,
)
from .mac_signer import as_signer

ALIASES: Mapping[str, tuple[str, ...]] = {
    "Ed25519": ("EdDSA",),
    "Ed448": ("EdDSA",),
}  # RFC 9864, 4.1.2: deprecated, not forbidden
_WHOLE_BYTES = 48 * 1024  # up to here, encoding in one call is faster than in place
_OWN = frozenset(("alg", "b64", "crit"))
_TEXTS = ("kid", "typ", "cty", "jku", "x5u", "x5t", "x5t#S256")


def signer_of(key: Key) -> Signer:
    """Return the key's primitive as a signer, a MAC included."""
    return as_signer(key.primitive)


def private_of(key: Key) -> Any:
    """Return the private handle and count a use. Raises ``Refused`` for a public key, ``KeySpent`` past a limit."""
    if key.pair.private is None:
        raise Refused("key has no private part")
    key.spend()
    return key.pair.private


@lru_cache(maxsize=1024)
def _plain_protected(alg: str, kid: str) -> bytes:
    return b64u_encode(dump_header({"alg": alg, "kid": kid})) + b"."


def protect(key: Key, header: Mapping[str, Any] | None) -> bytes:
    """Return the encoded protected header and the dot behind it. Raises ``ValueError`` if ``header`` sets alg, b64 or crit."""
    alg = key.primitive.algorithm.jose
    if header is None:
        return _plain_protected(alg, key.kid)
    if _OWN & header.keys():
        raise ValueError("the header members alg, b64 and crit are not the caller's to set")
    return b64u_encode(dump_header({"alg": alg, "kid": key.kid, **header})) + b"."


def sign_compact(key: Key, payload: Buffer, *, header: Mapping[str, Any] | None = None) -> bytearray:
    """Return the token ``protected.payload.signature``; ``header`` adds members to alg and kid.

    Room for the signature is left from the start: growing the token afterwards would move it.
    """
    protected, room = protect(key, header), _room(key.primitive.algorithm)
    start, octets = len(protected), len(payload)
    if octets <= _WHOLE_BYTES:
        encoded = b64u_encode(payload)
        return _sign_in_place(key, bytearray().join((protected, encoded, room)), start + len(encoded))
    cut = start + b64u_length(octets)
    token = bytearray(cut + len(room))
    token[:start], token[cut:] = protected, room
    with memoryview(token) as view, view[start:cut] as place:
        b64u_write(place, payload)
    return _sign_in_place(key, token, cut)


def _sign_in_place(key: Key, token: bytearray, cut: int) -> bytearray:
    """Sign the octets before ``cut`` and put the signature behind the dot that stands there."""
    with memoryview(token) as view, view[:cut] as message:
        signature = signer_of(key).sign(private_of(key), message)
    token[cut + 1 :] = b64u_encode(signature)
    return token


@lru_cache(maxsize=256)
def _room_of(octets: int) -> bytes:
    return b"." + bytes(b64u_length(octets))


def _room(algorithm: Algorithm) -> bytes:
    sizes = algorithm.sizes
    return _room_of(sizes.get("signature") or sizes.get("tag") or sizes.get("signature_max", 0))


def signing_input(key: Key, payload: Buffer, *, header: Mapping[str, Any] | None = None) -> bytes:
    """Return the octets that are signed (RFC 7515, 5.1, step 5), for who measures the steps apart."""
    return protect(key, header) + b64u_encode(payload)


def assemble(signed: Buffer, signature: Buffer) -> bytearray:
    """Return the token of a signing input and its signature."""
    return bytearray(b".").join((signed, b64u_encode(signature)))


@dataclass(frozen=True, slots=True)
class CompactToken:
    """A compact token that tells what it is: the form in which operators hand tokens on."""

    octets: bytearray

    def facts(self) -> dict[str, str | int]:
        """Return what the token itself shows: its ``alg`` and the octets of its ``signature``. Raises ``Refused``."""
        first, last = self.octets.find(b"."), self.octets.rfind(b".")
        return facts(self.octets[:first], b64u_decode(self.octets[last + 1 :]))


def facts(protected: Buffer, signature: Buffer) -> dict[str, str | int]:
    """Return ``alg``, the octets of the ``signature``, and who gave the name (``naming``)."""
    alg = parse_header(b64u_decode(protected)).get("alg", "")
    return {"alg": alg, "signature": len(signature), "naming": naming(alg)}


def naming(alg: str) -> str:
    """Return ``registered``, ``private``, or of a composite pair: ``JOSE draft``, ``LAMPS label``, ``private``."""
    for pair in PAIRS.values():
        if pair.alg == alg:
            return pair.status
    return "private" if alg.startswith("urn:") else "registered"


def check_header(key: Key, protected: Mapping[str, Any], header: Mapping[str, Any] | None = None) -> bool:
    """Return whether the payload is base64url encoded (RFC 7797, 3). Raises ``Refused``.

    ``alg`` must be the key's own, all members of the right type; ``crit`` may name ``b64`` alone, and must if b64 is false.
    """
    names = protected if header is None else header
    own = key.primitive.algorithm.jose
    alg = names.get("alg")
    if alg != own and alg not in ALIASES.get(own, ()):
        raise refusal()
    for name in _TEXTS:
        if name in names and type(names[name]) is not str:
            raise refusal()
    if "b64" not in protected and "crit" not in protected:
        return True
    return _critical(protected)


def _critical(protected: Mapping[str, Any]) -> bool:
    encoded = protected.get("b64")
    if type(encoded) is not bool or protected.get("crit", ["b64"] if encoded else None) != ["b64"]:
        raise refusal()
    return encoded


def _verified(key: Key, token: Buffer) -> tuple[memoryview, int, int]:
    """Return the token, and the ends of its header and of its signing input, once the signature has been verified."""
    if isinstance(token, memoryview):
        token = bytes(token)
    first, last = token.find(b"."), token.rfind(b".")
    if first == last:
        raise refusal()
    view = memoryview(token)
    if not check_header(key, parse_header(b64u_decode(view[:first]))):
        raise refusal()  # RFC 7797, 5.2: an unencoded payload is for the detached form
    signature = b64u_decode(view[last + 1 :])
    key.spend()
    if not signer_of(key).verify(key.pair.public, view[:last], signature):
        raise refusal()
    return view, first, last


def verify_compact(key: Key, token: Buffer) -> bytearray:
    """Return the payload of a valid token. Raises ``Refused``."""
    view, first, last = _verified(key, token)
    return b64u_decode_payload(view[first + 1 : last])


def resign_compact(old: Key, new: Key, token: Buffer) -> bytearray:
    """Return the payload under a new signature, once the old one has been verified. Raises ``Refused``.

    The payload stays inside: it is decoded to check its encoding and then forgotten, its text goes over as it is, since
    canonical base64url has one form.
    """
    view, first, last = _verified(old, token)
    text = view[first + 1 : last]
    b64u_decode_payload(text)
    protected = protect(new, None)
    fresh = bytearray().join((protected, text, _room(new.primitive.algorithm)))
    return _sign_in_place(new, fresh, len(protected) + len(text))
