"""Encryption and decryption in pieces, every octet given out at once.

The library holds octets back: a sealer up to a block, an opener also as many as the tag has. What it holds back is
encrypted or decrypted aside by the key stream alone, and dropped when the library gives it out later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from anka_flow.errors import Refused
from anka_flow.primitives import Buffer

from .jvm import STEP_BYTES, Machine

_REFUSED = "the ciphertext does not open"


class Running(Protocol):
    """A Java cipher within a message."""

    update: Any
    final: Any


def counter_mode(machine: Machine, cipher: str, key: Any, nonce: bytes) -> Callable[[int, bytes], bytes]:
    """Return what puts GCM's key stream over octets from a place on (SP 800-38D, 7.1: data starts at counter 2)."""
    engine = machine.instance("javax.crypto.Cipher", f"{cipher}/CTR/NoPadding")
    parameters = machine.java("javax.crypto.spec.IvParameterSpec")

    def apply(at: int, data: bytes) -> bytes:
        block, skip = divmod(at, 16)
        engine.init(1, key, parameters(nonce + (2 + block).to_bytes(4, "big")))
        return bytes(engine.doFinal(bytes(skip) + data))[skip:]

    return apply


def chacha(machine: Machine, key: Any, nonce: bytes) -> Callable[[int, bytes], bytes]:
    """Return what puts the key stream of RFC 8439 over octets from a place on (2.8: data starts at block 1)."""
    engine = machine.java("org.bouncycastle.crypto.engines.ChaCha7539Engine")()
    secret = machine.java("org.bouncycastle.crypto.params.KeyParameter")(key.getEncoded())
    engine.init(True, machine.java("org.bouncycastle.crypto.params.ParametersWithIV")(secret, nonce))

    def apply(at: int, data: bytes) -> bytes:
        out = machine.octets(len(data))
        engine.seekTo(64 + at)
        engine.processBytes(data, 0, len(data), out, 0)
        return bytes(out)

    return apply


class _InPieces:
    """What both directions share. ``_held`` is what the library has taken and not given out; its result is out already."""

    __slots__ = ("_aside", "_done", "_finished", "_held", "_machine", "_running")

    def __init__(
        self, machine: Machine, running: Running, aside: Callable[[int, bytes], bytes], finished: Callable[[], None]
    ) -> None:
        self._machine, self._running, self._aside, self._finished = machine, running, aside, finished
        self._held, self._done = b"", 0

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int:
        size = len(data)
        if len(out) < size:
            raise Refused("the output has too little room")
        if not size:
            return 0
        view, target, shown = memoryview(data), memoryview(out), len(self._held)
        given = self._push(view, target, shown)
        self._done += given
        held = shown + size - given
        self._held = bytes(view[size - held :]) if held <= size else (self._held + bytes(view))[-held:]
        if held:
            new = min(held, size)
            target[size - new : size] = self._aside(self._done, self._held)[-new:]
        return size

    def _push(self, view: memoryview, target: memoryview, skip: int) -> int:
        """Run octets through the library, write what is new to ``target`` and return how many it gave out; the first
        ``skip`` of them are out already."""
        source, result = self._machine.direct(), self._machine.direct()
        given = 0
        for at in range(0, len(view), STEP_BYTES):
            source.load(view[at : at + STEP_BYTES])
            result.rewind()
            count = self._running.update(source.buffer, result.buffer)
            old = min(count, max(0, skip - given))
            start = given + old - skip
            target[start : start + count - old] = result.view[old:count]
            given += count
        self._machine.release(source)
        self._machine.release(result)
        return given


class JavaSealer(_InPieces):
    """See ``primitives.Sealer``."""

    __slots__ = ()

    def finish(self) -> bytes:
        tag = bytes(self._running.final())[len(self._held) :]
        self._finished()
        return tag


class JavaOpener(_InPieces):
    """See ``primitives.Opener``."""

    __slots__ = ()

    def finish(self, tag: Buffer) -> None:
        if len(tag) != 16:
            raise Refused(_REFUSED)
        self._machine.refuse(_REFUSED, self._running.final, self._machine.array(tag))
        self._finished()
