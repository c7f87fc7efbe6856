"""Valid JWS made invalid, each in one way, to prove that verification refuses them. Nothing here verifies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anka_flow.primitives import Buffer

from .encoding import b64u_decode, b64u_encode, dump_header, parse_header
from .jws_stream import take_apart

Damaged = tuple[str, bytes]
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def compact(token: Buffer) -> Iterator[Damaged]:
    """Yield (what was done, token) for a valid compact token."""
    whole = bytes(token)
    protected, payload, signature = whole.split(b".")
    flipped = b64u_encode(flip(b64u_decode(payload)))
    yield "a flipped payload bit", b".".join((protected, flipped, signature))
    yield "trailing data", whole + b"AAAA"
    yield "a fourth part", whole + b"." + signature
    yield "a line end behind it", whole + b"\n"
    for what, head, tail in _parts(protected, signature):
        yield what, b".".join((head, payload, tail))
    for at, part in enumerate((protected, payload, signature)):
        parts = [protected, payload, signature]
        for what, text in _texts(part):
            parts[at] = text
            yield f"{what} in part {at + 1}", b".".join(parts)


def detached(token: Buffer) -> Iterator[Damaged]:
    """Yield (what was done, token) for a valid flattened detached token."""
    protected, octets = take_apart(token)
    signature = b64u_encode(octets)
    yield "trailing data", bytes(token) + b"{}"
    yield "a payload member", bytes(token[:-1]) + b',"payload":""}'
    yield "a member twice", bytes(token[:-1]) + b',"signature":"%b"}' % signature
    for what, head, tail in _parts(protected, signature):
        yield what, b'{"protected":"%b","signature":"%b"}' % (head, tail)
    for what, text in _texts(signature):
        yield f"{what} in the signature", b'{"protected":"%b","signature":"%b"}' % (protected, text)


def flip(octets: bytes) -> bytes:
    """Return the octets with one bit changed in the middle."""
    at = len(octets) // 2
    return octets[:at] + bytes((octets[at] ^ 1,)) + octets[at + 1 :] if octets else b"\0"


def _parts(protected: bytes, signature: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """Yield (what was done, header, signature), both encoded."""
    octets, header = b64u_decode(signature), parse_header(b64u_decode(protected))
    yield "a flipped signature bit", protected, b64u_encode(flip(octets))
    yield "a flipped first signature bit", protected, b64u_encode(bytes((octets[0] ^ 0x80,)) + octets[1:])
    yield "a flipped last signature bit", protected, b64u_encode(octets[:-1] + bytes((octets[-1] ^ 1,)))
    yield "a truncated signature", protected, b64u_encode(octets[:-1])
    yield "an extended signature", protected, b64u_encode(octets + b"\0")
    yield "no signature", protected, b""
    other = "ES256" if header["alg"] == "HS256" else "HS256"
    for what, changed in (
        ("another alg", {"alg": other}),
        ("alg none", {"alg": "none"}),
        ("alg None", {"alg": "None"}),
        ("an alg of another type", {"alg": [header["alg"]]}),
        ("an unknown crit", {"crit": ["urn:unknown"], "urn:unknown": 1}),
        ("an empty crit", {"crit": []}),
        ("b64 of another type", {"b64": 0, "crit": ["b64"]}),
    ):
        yield what, _encoded({**header, **changed}), signature
    yield "alg none without a signature", _encoded({**header, "alg": "none"}), b""
    yield "no alg", _encoded({name: value for name, value in header.items() if name != "alg"}), signature
    yield "a member of the header twice", b64u_encode(b64u_decode(protected)[:-1] + b',"alg":"none"}'), signature


def _encoded(header: dict[str, Any]) -> bytes:
    return b64u_encode(dump_header(header))


def _texts(text: bytes) -> Iterator[Damaged]:
    """Yield other texts of the same octets, none of them canonical."""
    yield "padding", text + b"=" * (-len(text) % 4 or 1)
    yield "a blank", text[:1] + b" " + text[1:]
    if len(text) % 4:
        yield "an unused bit that is set", text[:-1] + bytes((_ALPHABET[_ALPHABET.index(text[-1]) | 1],))
    if any(char in text for char in b"-_"):
        yield "the other alphabet", text.translate(bytes.maketrans(b"-_", b"+/"))
