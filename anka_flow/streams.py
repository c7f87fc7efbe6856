"""Where streamed octets come from and where they go. Nothing here knows what the octets mean.

A source can be read again from its start each time ``chunks`` is called, unless it says ``once``. A sink keeps what it is
given out of reach until ``commit``; ``abort`` forgets it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

from .errors import AnkaError, CheckFailed
from .primitives import Buffer

CHUNK_BYTES = 96 * 1024  # a multiple of 3 (base64url without a rest) and of 16 (cipher blocks); stays in the second-level cache


@runtime_checkable
class Source(Protocol):
    """Octets to read. Chunks are valid until the next one is asked for; all but the last have the size asked for."""

    once: bool

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]: ...


@runtime_checkable
class Sink(Protocol):
    """Octets to write. Nothing written counts before ``commit``."""

    def write(self, data: Buffer) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...


@runtime_checkable
class Store(Protocol):
    """A sink that is a source of what was committed, and can be used anew after ``rewind``, which returns it."""

    once: bool

    def rewind(self) -> Store: ...
    def write(self, data: Buffer) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]: ...
    def __len__(self) -> int: ...


class BytesSource:
    """A buffer in memory as a source; chunks are views, not copies."""

    once = False

    def __init__(self, data: Buffer) -> None:
        self.view = memoryview(data)

    def __len__(self) -> int:
        return len(self.view)

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        for start in range(0, len(self.view), size):
            yield self.view[start : start + size]


class FileSource:
    """An open binary file as a source: one reused buffer. A pipe can be read ``once``; a file again and again."""

    def __init__(self, file: BinaryIO, *, once: bool = False) -> None:
        self.file, self.once = file, once

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        if not self.once:
            self.file.seek(0)
        buffer = memoryview(bytearray(size))
        while filled := _fill(self.file, buffer):
            yield buffer[:filled]


def _fill(file: BinaryIO, buffer: memoryview) -> int:
    """Read until the buffer is full or the file ends; a pipe gives less than asked for."""
    filled = 0
    while filled < len(buffer):
        got = file.readinto(buffer[filled:])  # type: ignore[attr-defined]  # BinaryIO lacks readinto in typeshed
        if not got:
            break
        filled += got
    return filled


class Arena:
    """Memory set aside and touched beforehand: a sink that allocates nothing, and a source of what was committed."""

    once = False

    def __init__(self, capacity: int) -> None:
        self.memory = memoryview(mmap.mmap(-1, max(capacity, 1)))
        for start in range(0, capacity, mmap.PAGESIZE):
            self.memory[start] = 1  # touch every page, so that no write in a timed window faults
        self.filled = self.committed = 0

    def __len__(self) -> int:
        return self.committed

    @property
    def view(self) -> memoryview:
        """The committed octets, without a copy."""
        return self.memory[: self.committed]

    def rewind(self) -> Arena:
        """Forget the content and start anew; returns itself."""
        self.filled = self.committed = 0
        return self

    def write(self, data: Buffer) -> None:
        end = self.filled + len(data)
        if end > len(self.memory):
            raise AnkaError(f"arena of {len(self.memory)} octets is full; ask for a larger one")
        self.memory[self.filled : end] = data
        self.filled = end

    def commit(self) -> None:
        self.committed = self.filled

    def abort(self) -> None:
        self.rewind()

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        return BytesSource(self.view).chunks(size)


class FileStore(FileSource):
    """An open file, for reading and writing, as a store that owns it. Written in place: no other file is made for it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.committed = 0

    def __del__(self) -> None:
        self.file.close()

    def __len__(self) -> int:
        return self.committed

    def rewind(self) -> FileStore:
        """Forget the content and start anew; returns itself."""
        self.file.seek(0)
        self.file.truncate()
        self.committed = 0
        return self

    def write(self, data: Buffer) -> None:
        self.file.write(data)

    def commit(self) -> None:
        self.file.flush()
        self.committed = self.file.tell()

    def abort(self) -> None:
        self.rewind()


class NullSink:
    """Counts octets and drops them."""

    def __init__(self) -> None:
        self.filled = 0

    def write(self, data: Buffer) -> None:
        self.filled += len(data)

    def commit(self) -> None:
        """Nothing to make visible."""

    def abort(self) -> None:
        self.filled = 0


class Comparison:
    """A sink that compares what it gets with a source and keeps nothing. Raises ``CheckFailed`` where they differ."""

    def __init__(self, expected: Source) -> None:
        self._chunks = (memoryview(chunk) for chunk in expected.chunks())
        self._rest = memoryview(b"")

    def write(self, data: Buffer) -> None:
        view = memoryview(data)
        while view:
            if not self._rest:
                self._rest = next(self._chunks, self._rest)
            size = min(len(view), len(self._rest))
            if not size or bytes(view[:size]) != bytes(self._rest[:size]):
                raise CheckFailed("the opened payload differs from the one that was encrypted")
            view, self._rest = view[size:], self._rest[size:]

    def commit(self) -> None:
        if self._rest or next(self._chunks, None) is not None:
            raise CheckFailed("the opened payload is shorter than the one that was encrypted")

    def abort(self) -> None:
        """Nothing was kept."""


class FileSink:
    """A quarantined file: written under another name (0600), renamed to ``path`` by ``commit``, deleted by ``abort``."""

    def __init__(self, path: Path) -> None:
        self.path, self.partial = path, path.with_name(f".{path.name}.{os.getpid()}.partial")
        fd = os.open(self.partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        self.file = os.fdopen(fd, "wb")

    def write(self, data: Buffer) -> None:
        self.file.write(data)

    def commit(self) -> None:
        self.file.close()
        self.partial.replace(self.path)

    def abort(self) -> None:
        self.file.close()
        self.partial.unlink(missing_ok=True)
