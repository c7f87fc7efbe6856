"""Base64url of octets that come in pieces, both ways (RFC 4648, 5; no padding)."""

from __future__ import annotations

from collections.abc import Callable

import pybase64

from anka_flow.primitives import Buffer
from anka_flow.streams import CHUNK_BYTES

from .encoding import b64u_decode, b64u_encode, refusal

_URL = b"-_"
_NONE = b""
_PAD = ord("=")
_QUOTE = ord('"')  # what ends the text in JSON must not wait unseen


class TextWriter:
    """Writes octets as text. A piece of a multiple of 3 octets goes through as it is; else up to 2 wait for the next."""

    def __init__(self, write: Callable[[Buffer], object]) -> None:
        self._write = write
        self.rest = b""

    def write(self, octets: memoryview) -> None:
        if self.rest:
            octets = self._complete(octets)
        over = len(octets) % 3
        if over:
            self.rest += bytes(octets[-over:])
            octets = octets[:-over]
        if octets:
            self._write(b64u_encode(octets))

    def _complete(self, octets: memoryview) -> memoryview:
        """Write the waiting octets with the first of these, and return the others."""
        missing = 3 - len(self.rest)
        group = self.rest + bytes(octets[:missing])
        if len(group) < 3:
            self.rest = group
            return octets[:0]
        self.rest = b""
        self._write(b64u_encode(group))
        return octets[missing:]

    def finish(self) -> None:
        """Write what waits."""
        if self.rest:
            self._write(b64u_encode(self.rest))
            self.rest = b""


class TextReader:
    """Decodes text to octets. Whole groups of 4 characters are decoded at once; up to 3 wait for the next piece."""

    def __init__(self) -> None:
        self.rest = b""
        self._near = memoryview(bytearray(CHUNK_BYTES // 3 * 4))

    def read(self, text: memoryview) -> tuple[bytes, Buffer]:
        """Return the octets of a piece: those of a group that began in the piece before, and all others. Raises ``Refused``."""
        group = b""
        if self.rest:
            missing = 4 - len(self.rest)
            self.rest += bytes(text[:missing])
            text = text[missing:]
            if len(self.rest) == 4:
                group, self.rest = b64u_decode(self.rest), b""
        over = len(text) % 4
        if over:
            self.rest += bytes(text[-over:])
            text = text[:-over]
            if _QUOTE in self.rest:
                raise refusal()
        return group, _decode_groups(self._nearby(text))

    def _nearby(self, text: memoryview) -> memoryview:
        """Return the text in the processor's cache: the strict decoder reads it twice, from memory at half the speed."""
        size = len(text)
        if size > len(self._near):
            return text
        self._near[:size] = text
        return self._near[:size]

    def finish(self) -> bytes:
        """Return the octets of what waits: the one place where a group may be short. Raises ``Refused``."""
        return b64u_decode(self.rest)


def _decode_groups(text: memoryview) -> Buffer:
    """Return the octets of whole groups; padding, foreign characters and short groups are refused."""
    if not text:
        return b""
    if text[-1] == _PAD:
        raise refusal()
    try:
        return pybase64.b64decode_as_bytearray(text, _URL, ignorechars=_NONE)
    except ValueError:
        raise refusal() from None
