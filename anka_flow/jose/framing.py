"""A JWE in JSON serialization, taken apart and put together without JSON of its payload. Nothing here knows a key.

The ciphertext is cut out as text before what is left is parsed, so that its size costs neither copies nor a parser.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anka_flow.primitives import Buffer

from .encoding import b64u_decode, b64u_encode, parse_header, refusal
from .management import MAX_RECIPIENTS, Members, Recipient

MAX_HEAD_BYTES = 128 * 1024  # all members but the ciphertext; the largest KEM ciphertext takes 38 KiB of it
_MARK = re.compile(rb'"ciphertext"[ \t\r\n]*:[ \t\r\n]*"')
_STAND_IN = b64u_encode(os.urandom(16))  # no one can write a token that holds it
_GENERAL = frozenset(("protected", "unprotected", "recipients", "aad", "iv", "ciphertext", "tag"))
_FLATTENED = (_GENERAL - {"recipients"}) | {"header", "encrypted_key"}
_ENTRY = frozenset(("header", "encrypted_key"))


class Frame(NamedTuple):
    """What a token says beside its ciphertext. ``recipients`` carry joined headers (RFC 7516, 7.2.1)."""

    protected_text: bytes
    protected: Mapping[str, Any]
    recipients: Sequence[Recipient]
    aad: bytes
    iv: bytes
    tag: bytes


def find_ciphertext(text: Buffer) -> tuple[int, int] | None:
    """Return where the member that holds the ciphertext starts and where its value does, or None if it is not in ``text``."""
    found = _MARK.search(text)
    return (found.start(), found.end()) if found else None


def parse_head(head: bytes) -> Members:
    """Return the members before the ciphertext's value, at which ``head`` ends. Raises ``Refused``."""
    return _without_ciphertext(b"".join((head, _STAND_IN, b'"}')))


def parse_tail(tail: Buffer) -> Members:
    """Return the members after the ciphertext; ``tail`` starts with what follows its closing quote. Raises ``Refused``."""
    return _without_ciphertext(b"".join((b'{"ciphertext":"', _STAND_IN, b'"', tail)))


def _without_ciphertext(text: bytes) -> Members:
    """Parse, and make sure that what was cut out was the member of the token itself, not of something inside it."""
    members = parse_header(text, MAX_HEAD_BYTES)
    if members.pop("ciphertext", None) != _STAND_IN.decode():
        raise refusal()
    return members


def split(token: Buffer) -> tuple[Members, memoryview]:
    """Return a token's other members and the text of its ciphertext. Raises ``Refused``."""
    if isinstance(token, memoryview):
        token = bytes(token)
    found = find_ciphertext(token)
    end = token.find(b'"', found[1]) if found else -1
    if found is None or end < 0 or len(token) - (end - found[1]) > MAX_HEAD_BYTES:
        raise refusal()
    view = memoryview(token)
    members = _without_ciphertext(b"".join((view[: found[1]], _STAND_IN, view[end:])))
    return members, view[found[1] : end]


def frame(members: Mapping[str, Any]) -> Frame:
    """Return the typed parts of a General or Flattened JWE (RFC 7516, 7.2). Raises ``Refused``."""
    if not members.keys() <= (_GENERAL if "recipients" in members else _FLATTENED):
        raise refusal()
    text = _ascii(members, "protected")
    protected = parse_header(b64u_decode(text)) if text else {}
    shared = _object(members, "unprotected")
    recipients = [_recipient(entry, protected, shared) for entry in _entries(members)]
    aad = text + b"." + _ascii(members, "aad") if "aad" in members else text
    iv, tag = (b64u_decode(_ascii(members, name)) for name in ("iv", "tag"))
    return Frame(text, protected, recipients, aad, iv, tag)


def _entries(members: Mapping[str, Any]) -> list[Any]:
    if "recipients" not in members:
        return [{name: members[name] for name in _ENTRY if name in members}]
    entries = members["recipients"]
    if type(entries) is not list or not 0 < len(entries) <= MAX_RECIPIENTS:
        raise refusal()
    return entries


def _recipient(entry: Any, protected: Mapping[str, Any], shared: Mapping[str, Any]) -> Recipient:
    if type(entry) is not dict or not entry.keys() <= _ENTRY:
        raise refusal()
    return Recipient(join(protected, shared, _object(entry, "header")), b64u_decode(_ascii(entry, "encrypted_key")))


def join(protected: Mapping[str, Any], *others: Mapping[str, Any]) -> Members:
    """Return the JOSE header. Raises ``Refused`` if two parts share a name, or an unprotected one says crit or zip."""
    joined = dict(protected)
    for other in others:
        if joined.keys() & other.keys() or "crit" in other or "zip" in other:
            raise refusal()
        joined.update(other)
    return joined


def _object(members: Mapping[str, Any], name: str) -> Members:
    value = members.get(name, {})
    if type(value) is not dict:
        raise refusal()
    return value


def _ascii(members: Mapping[str, Any], name: str) -> bytes:
    """Return a member's text, nothing if it is absent. Raises ``Refused`` if it is not ASCII text."""
    value = members.get(name, "")
    if type(value) is not str or not value.isascii():
        raise refusal()
    return value.encode("ascii")


def head_text(protected: bytes, recipients: Sequence[Recipient], iv: bytes, aad: Buffer | None = None) -> bytes:
    """Return a General JWE up to where the text of its ciphertext starts."""
    extra = b'"aad":"' + b64u_encode(aad) + b'",' if aad is not None else b""
    entries = b",".join(_entry_text(*recipient) for recipient in recipients)
    return b"".join(
        (b'{"protected":"', protected, b'","recipients":[', entries, b"],", extra,
         b'"iv":"', b64u_encode(iv), b'","ciphertext":"')
    )  # fmt: skip


def _entry_text(header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
    parts = []
    if header:
        parts.append(b'"header":' + json.dumps(header, separators=(",", ":")).encode())
    if encrypted_key:
        parts.append(b'"encrypted_key":"' + b64u_encode(encrypted_key) + b'"')
    return b"{" + b",".join(parts) + b"}"


def tail_text(tag: bytes) -> bytes:
    """Return what follows the text of the ciphertext; an empty tag is left out."""
    return b'","tag":"' + b64u_encode(tag) + b'"}' if tag else b'"}'
