"""Profile S2: a message in segments of 64 KiB, each with a tag of its own (the STREAM construction, as age has it).

A segment is released only once its tag has been verified; a lost, moved, changed or added segment is refused. It serves pipes,
and every AEAD, also those that take whole messages only. No IETF text defines this for JOSE, so ``enc`` is private.

Nonce: random prefix || uint32 counter || 1 for the last segment, else 0. The AAD of a segment is empty: the header is bound
through the key, HKDF-Expand(SHA-256, content key, "anka-flow stream v1" || SHA-256(protected)).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from anka_flow.errors import AnkaError
from anka_flow.primitives import Aead, Buffer
from anka_flow.streams import Sink

from .encoding import b64u_encode, dump_header, refusal
from .framing import head_text, tail_text
from .kdf import hkdf_expand
from .management import Conveyed, Members
from .text import TextWriter

SEGMENT_BYTES = 64 * 1024
MODE = "STREAM64K"
_LABEL = b"anka-flow stream v1"
_COUNTER_BYTES = 5  # uint32 and the flag of the last segment
_MAX_SEGMENTS = 1 << 32
_PREFIX = "urn:anka-flow:"
_SALT_BYTES = 16
_BLOCK_BYTES = 16


def enc_of(content: Aead) -> str:
    """Return the ``enc`` of a content algorithm in segments."""
    return f"{_PREFIX}{content.algorithm.jose.removeprefix(_PREFIX)}-{MODE}"


def mark(protected: Members) -> Members:
    """Return the header with the ``crit`` that makes other libraries stop; a composite key has brought its own.

    The salt makes the segment key new for every message, also where the content key is not (``dir``).
    """
    if "crit" in protected:
        return protected
    salt = b64u_encode(os.urandom(_SALT_BYTES)).decode()
    return {**protected, "crit": ["anka"], "anka": {"v": 1, "mode": MODE, "salt": salt}}


def unmark(protected: Mapping[str, Any]) -> Members:
    """Return the header without what ``mark`` added. Raises ``Refused`` unless that is there in just this form."""
    anka = protected.get("anka")
    if protected.get("crit") != ["anka"] or type(anka) is not dict or anka.keys() != {"v", "mode", "salt"}:
        raise refusal()
    if type(anka["v"]) is not int or anka["v"] != 1 or anka["mode"] != MODE or type(anka["salt"]) is not str:
        raise refusal()
    return {name: value for name, value in protected.items() if name not in ("crit", "anka")}


def _segment_key(content: Aead, content_key: bytes, protected: bytes) -> Any:
    info = _LABEL + hashlib.sha256(protected).digest()
    return content.decode_public(hkdf_expand("sha256", content_key, info, content.key_bytes))


def _nonce(prefix: bytes, index: int, *, last: bool) -> bytes:
    return b"".join((prefix, index.to_bytes(4, "big"), b"\x01" if last else b"\x00"))


class SegmentSink:
    """A sink that encrypts what it is given and writes the token to another. Holds one segment of plaintext."""

    def __init__(self, conveyed: Conveyed, sink: Sink, content: Aead) -> None:
        self._sink, self._content = sink, content
        protected = b64u_encode(dump_header(mark(conveyed.protected)))
        self._key = _segment_key(content, conveyed.content_key, protected)
        self._prefix = os.urandom(content.nonce_bytes - _COUNTER_BYTES)
        self._segment = memoryview(bytearray(SEGMENT_BYTES))
        self._filled = self._index = 0
        self._text = TextWriter(sink.write)
        sink.write(head_text(protected, conveyed.recipients, self._prefix))

    def write(self, data: Buffer) -> None:
        """Take octets in; a full segment is sealed only when more comes, since the last one has a nonce of its own."""
        view = memoryview(data)
        while view:
            if self._filled == SEGMENT_BYTES:
                self._seal(last=False)
            end = min(SEGMENT_BYTES, self._filled + len(view))
            taken = end - self._filled
            self._segment[self._filled : end] = view[:taken]
            self._filled, view = end, view[taken:]

    def _seal(self, *, last: bool) -> None:
        if self._index == _MAX_SEGMENTS:
            raise AnkaError("message is too long for one token in segments (256 TiB)")
        nonce = _nonce(self._prefix, self._index, last=last)
        self._text.write(memoryview(self._content.seal(self._key, nonce, self._segment[: self._filled], b"")))
        self._index += 1
        self._filled = 0

    def commit(self) -> None:
        self._seal(last=True)
        self._text.finish()
        self._sink.write(tail_text(b""))
        self._sink.commit()

    def abort(self) -> None:
        self._sink.abort()


def open_segments(
    content: Aead, content_key: bytes, protected: bytes, prefix: bytes, pieces: Iterator[Buffer]
) -> Iterator[bytes]:
    """Yield the plaintext segment by segment, each verified. Raises ``Refused``, also if the last one is missing."""
    if len(prefix) != content.nonce_bytes - _COUNTER_BYTES:
        raise refusal()
    key = _segment_key(content, content_key, protected)
    for index, (segment, last) in enumerate(_gather(pieces, _sealed_bytes(content))):
        plain = content.open(key, _nonce(prefix, index, last=last), segment, b"")
        if index and not plain:
            raise refusal()  # only an empty message has an empty segment
        yield plain


def _sealed_bytes(content: Aead) -> int:
    """Return the octets of a full segment; CBC always adds padding, here a whole block (RFC 7518, 5.2.2.1)."""
    padding = _BLOCK_BYTES if content.algorithm.family == "AES-CBC-HMAC" else 0
    return SEGMENT_BYTES + padding + content.tag_bytes


def _gather(pieces: Iterator[Buffer], size: int) -> Iterator[tuple[memoryview, bool]]:
    """Yield the pieces anew in segments of ``size``, and whether each is the last."""
    segment = memoryview(bytearray(size))
    filled = 0
    for piece in pieces:
        view = memoryview(piece)
        while view:
            if filled == size:
                yield segment, False
                filled = 0
            end = min(size, filled + len(view))
            taken = end - filled
            segment[filled:end] = view[:taken]
            filled, view = end, view[taken:]
    yield segment[:filled], True
