"""A JWE in JSON that arrives in pieces: its members first, then the octets of its ciphertext, in constant memory.

The members that decryption needs must stand before the ciphertext; those after it are read at the end. Nothing here decrypts.
"""

from __future__ import annotations

from collections.abc import Iterator

from anka_flow.errors import Refused
from anka_flow.primitives import Buffer
from anka_flow.streams import CHUNK_BYTES, Source

from .encoding import refusal
from .framing import MAX_HEAD_BYTES, Frame, find_ciphertext, frame, parse_head, parse_tail
from .management import Members
from .text import TextReader

TEXT_BYTES = CHUNK_BYTES // 3 * 4


class StreamReader:
    """One pass over a token. Read ``frame``, then ``octets``, then ``tail``; each raises ``Refused`` on what it cannot read."""

    def __init__(self, source: Source) -> None:
        self._chunks = source.chunks(TEXT_BYTES)
        self.head, self._first = self._read_head()
        self._tail = b""

    def _read_head(self) -> tuple[bytes, memoryview]:
        """Return the text up to the ciphertext, and what of the ciphertext came with it."""
        gathered = b""
        for chunk in self._chunks:
            text: Buffer = gathered + bytes(chunk) if gathered else chunk
            found = find_ciphertext(text)
            if found and found[1] <= MAX_HEAD_BYTES:
                view = memoryview(text)
                return bytes(view[: found[1]]), view[found[1] :]
            if len(text) > MAX_HEAD_BYTES:
                break
            gathered = bytes(text)
        raise refusal()

    def frame(self) -> tuple[Frame, Members]:
        """Return the parts that the head shows, and its members."""
        members = parse_head(self.head)
        return frame(members), members

    def octets(self) -> Iterator[Buffer]:
        """Yield the ciphertext in pieces of at most ``CHUNK_BYTES``; each is valid until the next one is asked for."""
        reader = TextReader()
        for text in self._texts():
            state = reader.rest
            try:
                group, octets = reader.read(text)
            except Refused:
                at = bytes(text).find(b'"')
                if at < 0:
                    raise
                reader.rest = state
                group, octets = reader.read(text[:at])
                self._tail = self._rest_of_token(bytes(text[at + 1 :]))
                yield from (piece for piece in (group, octets, reader.finish()) if piece)
                return
            if group:
                yield group
            if octets:
                yield octets
        raise refusal()

    def _texts(self) -> Iterator[memoryview]:
        if self._first:
            yield self._first
        for chunk in self._chunks:
            yield memoryview(chunk)

    def _rest_of_token(self, text: bytes) -> bytes:
        for chunk in self._chunks:
            if len(text) + len(chunk) > MAX_HEAD_BYTES:
                raise refusal()
            text += chunk
        return text

    def tail(self) -> Members:
        """Return the members after the ciphertext, once all octets have been read."""
        return parse_tail(self._tail)
