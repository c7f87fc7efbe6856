"""Valid JWE made invalid, each in one way, to prove that decryption refuses them. Nothing here decrypts.

The damage to streamed tokens is laid over the token's memory, so that a token of 100 MiB is not copied for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from anka_flow.primitives import Buffer
from anka_flow.streams import CHUNK_BYTES

from .damage import Damaged, flip
from .encoding import b64u_decode, b64u_encode, dump_header, parse_header
from .framing import find_ciphertext

_HEADERS: Sequence[tuple[str, dict[str, Any]]] = (
    ("an enc of another type", {"enc": ["A256GCM"]}),
    ("zip", {"zip": "DEF"}),
    ("an unknown crit", {"crit": ["urn:unknown"], "urn:unknown": 1}),
    ("an empty crit", {"crit": []}),
)


def compact(token: Buffer) -> Iterator[Damaged]:
    """Yield (what was done, token) for a valid compact token."""
    whole = bytes(token)
    parts = whole.split(b".")
    yield "trailing data", whole + b"AAAA"
    yield "a sixth part", whole + b"." + parts[4]
    yield "four parts", b".".join(parts[:4])
    yield "a line end behind it", whole + b"\n"
    for at, part in enumerate(parts):
        for what, text in _octets(part):
            yield f"{what} in part {at + 1}", b".".join((*parts[:at], text, *parts[at + 1 :]))
    header = parse_header(b64u_decode(parts[0]))
    other = "RSA-OAEP" if header["alg"] == "dir" else "dir"
    for what, changed in (
        *_headers(header),
        ("another alg", {"alg": other}),
        ("an alg of another type", {"alg": [header["alg"]]}),
    ):
        yield what, b".".join((b64u_encode(dump_header({**header, **changed})), *parts[1:]))
    yield "a member of the header twice", b".".join((b64u_encode(b64u_decode(parts[0])[:-1] + b',"enc":"x"}'), *parts[1:]))


def _headers(header: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield members that make the header another one."""
    yield "another enc", {"enc": "A192GCM" if header["enc"] != "A192GCM" else "A256GCM"}
    yield from _HEADERS


def _octets(text: bytes) -> Iterator[Damaged]:
    """Yield other texts in the place of one part."""
    octets = b64u_decode(text)
    yield "padding", text + b"=" * (-len(text) % 4 or 1)
    yield "an octet more", b64u_encode(octets + b"\0")
    if octets:
        yield "a flipped bit", b64u_encode(flip(octets))
        yield "a flipped last bit", b64u_encode(octets[:-1] + bytes((octets[-1] ^ 1,)))
        yield "an octet less", b64u_encode(octets[:-1])
        yield "nothing", b""


def general(token: Buffer) -> Iterator[Damaged]:
    """Yield (what was done, token) for a valid General token of a composite key."""
    yield "trailing data", bytes(token) + b"{}"
    yield "a member twice", bytes(token)[:-1] + b',"iv":"AAAA"}'
    members = json.loads(bytes(token))
    for what, changed in (*_members(members), *_recipients(members), *_protected(members)):
        yield what, json.dumps(changed, separators=(",", ":")).encode()


def _members(members: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("iv", "ciphertext", "tag"):
        for what, text in _octets(members[name].encode()):
            yield f"{what} in {name}", {**members, name: text.decode()}
        yield f"no {name}", {key: value for key, value in members.items() if key != name}
    yield "an unknown member", {**members, "anka": 1}
    yield "an aad", {**members, "aad": "AAAA"}


def _recipients(members: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    first, second = members["recipients"]
    yield "one recipient", {**members, "recipients": [first]}
    yield "three recipients", {**members, "recipients": [first, second, second]}
    yield "swapped recipients", {**members, "recipients": [second, first]}
    yield "the first recipient twice", {**members, "recipients": [first, first]}
    swapped = [{**first, "encrypted_key": second["encrypted_key"]}, {**second, "encrypted_key": first["encrypted_key"]}]
    yield "swapped encrypted keys", {**members, "recipients": swapped}
    for at, entry in enumerate((first, second)):
        for what, text in _octets(entry["encrypted_key"].encode()):
            entries = [first, second]
            entries[at] = {**entry, "encrypted_key": text.decode()}
            yield f"{what} in recipient {at + 1}", {**members, "recipients": entries}
        entries = [first, second]
        entries[at] = {**entry, "header": {"alg": "ECDH-ES"}}
        yield f"another alg in recipient {at + 1}", {**members, "recipients": entries}


def _protected(members: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    header = parse_header(b64u_decode(members["protected"].encode()))
    anka = header["anka"]
    wrong = (
        ("another version", {"anka": {**anka, "v": 2}}),
        ("a version of another type", {"anka": {**anka, "v": True}}),
        ("another kdf", {"anka": {**anka, "kdf": "HKDF-SHA512" if anka["kdf"] != "HKDF-SHA512" else "HKDF-SHA256"}}),
        ("the pair the other way round", {"anka": {**anka, "alg": anka["alg"][::-1]}}),
        ("an alg for all", {"alg": "dir"}),
        ("another kid", {"kid": "0"}),
    )
    for what, changed in (*_headers(header), *wrong):
        yield what, {**members, "protected": b64u_encode(dump_header({**header, **changed})).decode()}
    bare = {name: value for name, value in header.items() if name not in ("crit", "anka")}
    yield "no crit", {**members, "protected": b64u_encode(dump_header(bare)).decode()}


class Overlaid:
    """Several buffers one after the other as a source; only chunks that span two of them are copies."""

    once = False

    def __init__(self, *parts: Buffer) -> None:
        self._parts = [memoryview(part) for part in parts if part]

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        gathered = b""
        for part in self._parts:
            start = 0
            if gathered:
                start = size - len(gathered)
                gathered += part[:start]
                if len(gathered) < size:
                    continue
                yield gathered
                gathered = b""
            whole = start + (len(part) - start) // size * size
            for at in range(start, whole, size):
                yield part[at : at + size]
            gathered = bytes(part[max(whole, start) :])
        if gathered:
            yield gathered


def streamed(token: memoryview) -> Iterator[tuple[str, Overlaid]]:
    """Yield (what was done, source of a token) for a valid streamed token."""
    found = find_ciphertext(token[: 2 * CHUNK_BYTES])
    assert found
    start, end = found[1], _end_of_ciphertext(token)
    yield "nothing in it", Overlaid()
    yield "its end lost", Overlaid(token[:-2])
    yield "its second half lost", Overlaid(token[: (start + end) // 2])
    yield "trailing data", Overlaid(token, b" {}")
    yield "four characters lost", Overlaid(token[:start], token[start + 4 :])
    yield "four characters more", Overlaid(token[:start], b"AAAA", token[start:])
    for what, at in (("the first", start), ("a middle", (start + end) // 2), ("the last", end - 2)):
        yield f"{what} character of the ciphertext changed", _changed(token, at)
    yield "a character of the tag changed", _changed(token, len(token) - 6)
    yield "a foreign character in the ciphertext", Overlaid(token[: start + 1], b"+", token[start + 2 :])


def _end_of_ciphertext(token: memoryview) -> int:
    tail = bytes(token[-4096:])
    closing = b'","tag":' if b'","tag":' in tail else b'"}'
    return len(token) - len(tail) + tail.rindex(closing)


def _changed(token: memoryview, at: int) -> Overlaid:
    return Overlaid(token[:at], b"B" if token[at] == ord("A") else b"A", token[at + 1 :])
