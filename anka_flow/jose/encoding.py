"""Octets and headers of JOSE tokens: strict base64url, strict JSON, length prefixes. Nothing here knows a key.

Everything that is not the one right form is refused with the one sentence of ``refusal``.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pybase64

from anka_flow.errors import Refused
from anka_flow.primitives import Buffer

MAX_HEADER_BYTES = 64 * 1024
_BULK = 4096  # from here on, the call that checks padding bits costs more than a second call for the last block
_PIECE = 48 * 1024  # a multiple of 3: only the last piece can have a rest
_URL = b"-_"
_PAD = ord("=")
_NONE = b""  # characters to skip; with ``validate=True`` instead, pybase64 lets "+" and "/" pass


def refusal() -> Refused:
    """Return the error for every token that is not valid, whatever is wrong with it."""
    return Refused("token is not valid for this key")


def b64u_encode(data: Buffer) -> bytes:
    """Return base64url without padding (RFC 7515, 2)."""
    return pybase64.b64encode(data, _URL, padded=False)


def b64u_length(octets: int) -> int:
    """Return the characters that so many octets take."""
    return (octets * 8 + 5) // 6


def b64u_write(out: memoryview, data: Buffer) -> None:
    """Write base64url to the start of ``out``, in pieces that stay in the cache and need no large memory of their own.

    Two large blocks at a time make the allocator give pages back and fetch them again: three times the cost of the encoding.
    """
    view, at = memoryview(data), 0
    for start in range(0, len(view), _PIECE):
        piece = b64u_encode(view[start : start + _PIECE])
        end = at + len(piece)
        out[at:end] = piece
        at = end


def b64u_decode(text: Buffer) -> bytes:
    """Return the octets of canonical base64url: no padding, no foreign characters, unused bits zero. Raises ``Refused``."""
    if len(text) < _BULK:
        return _decode_exact(text)
    return bytes(b64u_decode_payload(text))


def b64u_decode_payload(text: Buffer) -> bytearray:
    """Return the same octets as ``b64u_decode``, in a bytearray: for payloads, where the copy to ``bytes`` would cost."""
    view = memoryview(text)
    cut = max(0, len(view) - 1) & ~3  # the last block (1 to 4 characters) is the only one that can be non-canonical
    if cut and view[cut - 1] == _PAD:
        raise refusal()
    try:
        octets = pybase64.b64decode_as_bytearray(view[:cut], _URL, ignorechars=_NONE)
    except ValueError:
        raise refusal() from None
    octets += _decode_exact(view[cut:])
    return octets


def _decode_exact(text: Buffer) -> bytes:
    try:
        return pybase64.b64decode(text, _URL, ignorechars=_NONE, padded=False, canonical=True)
    except ValueError:
        raise refusal() from None


def parse_header(octets: Buffer, max_bytes: int = MAX_HEADER_BYTES) -> dict[str, Any]:
    """Return the JSON object in ``octets``. Raises ``Refused`` for anything else.

    Strict: UTF-8 without BOM, at most ``max_bytes``, no member twice (RFC 7515, 4), no NaN or Infinity.
    """
    if len(octets) > max_bytes:
        raise refusal()
    try:
        header = _DECODER.decode(str(octets, "utf-8"))
    except (ValueError, RecursionError):
        raise refusal() from None
    if type(header) is not dict:
        raise refusal()
    return header


def dump_header(header: dict[str, Any]) -> bytes:
    """Return the header as compact JSON in UTF-8, members in the order given."""
    return _ENCODER.encode(header).encode()


def lp(octets: Buffer) -> bytes:
    """Return ``octets`` behind their length as a big-endian uint32."""
    return len(octets).to_bytes(4, "big") + octets


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(members)
    if len(result) != len(members):
        raise ValueError("a member is there twice")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
