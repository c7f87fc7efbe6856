"""JWS JSON serialization: flattened and general, with the payload inside (RFC 7515, 7.2). For interoperation, not for speed.

Verification takes one key: a general token is valid if one of its signatures, of the key's own ``alg``, is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anka_flow.errors import Refused
from anka_flow.keys import Key
from anka_flow.primitives import Buffer

from .encoding import b64u_decode, b64u_decode_payload, b64u_encode, parse_header, refusal
from .jws import check_header, sign_compact, signer_of
from .jws_stream import text

MAX_TOKEN_BYTES = 64 * 1024 * 1024
MAX_SIGNATURES = 16
_SIGNATURE = frozenset(("protected", "header", "signature"))


def sign_flattened(key: Key, payload: Buffer, *, header: Mapping[str, Any] | None = None) -> bytes:
    """Return ``{"payload":...,"protected":...,"signature":...}``, all base64url."""
    protected, encoded, signature = sign_compact(key, payload, header=header).split(b".")
    return b"".join((b'{"payload":"', encoded, b'","protected":"', protected, b'","signature":"', signature, b'"}'))


def verify_json(key: Key, token: Buffer, *, payload: Buffer | None = None) -> bytearray:
    """Return the payload of a valid flattened or general token; ``payload`` is that of a detached one. Raises ``Refused``."""
    members = parse_header(token, MAX_TOKEN_BYTES)
    if ("payload" in members) == (payload is not None):
        raise refusal()
    inside = bytes(payload) if payload is not None else _utf8(members.pop("payload"))
    for signature in _signatures(members):
        try:
            return _verify(key, signature, inside, detached=payload is not None)
        except Refused:
            continue
    raise refusal()


def _signatures(members: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the signature objects of either form."""
    if "signatures" not in members:
        found: Any = [members]
    elif members.keys() != {"signatures"}:
        raise refusal()  # RFC 7515, 7.2.2: no member of the flattened form beside "signatures"
    else:
        found = members["signatures"]
    if type(found) is not list or not 0 < len(found) <= MAX_SIGNATURES:
        raise refusal()
    if not all(type(one) is dict and "signature" in one and one.keys() <= _SIGNATURE for one in found):
        raise refusal()
    return found


def _verify(key: Key, signature: dict[str, Any], payload: bytes, *, detached: bool) -> bytearray:
    protected = text(signature.get("protected", ""))
    known = parse_header(b64u_decode(protected)) if protected else {}
    encoded = check_header(key, known, _joined(known, signature.get("header", {})))
    octets = b64u_decode(text(signature["signature"]))
    signed = b64u_encode(payload) if detached and encoded else payload
    key.spend()
    if not signer_of(key).verify(key.pair.public, b"%b.%b" % (protected, signed), octets):
        raise refusal()
    return b64u_decode_payload(signed) if encoded else bytearray(signed)


def _joined(protected: dict[str, Any], header: Any) -> dict[str, Any]:
    """Return both headers as one. RFC 7515, 4 and 4.1.11: no name twice, ``crit`` (and b64) only where it is protected."""
    if type(header) is not dict or protected.keys() & header.keys() or header.keys() & {"crit", "b64"}:
        raise refusal()
    return protected | header


def _utf8(value: Any) -> bytes:
    """Return the octets of the payload member: base64url, or text where b64 is false. Raises ``Refused``."""
    try:
        return str.encode(value)
    except (TypeError, UnicodeEncodeError):
        raise refusal() from None
