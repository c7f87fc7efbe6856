"""Sources and sinks: chunks of the size asked for, nothing visible before commit."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from anka_flow.errors import AnkaError
from anka_flow.streams import Arena, BytesSource, FileSink, FileSource, FileStore, NullSink, Sink, Source, Store

DATA = bytes(range(256)) * 40


@pytest.mark.parametrize("size", [1, 7, 4096, 10_240, 100_000])
def test_sources_give_chunks_of_the_size_asked_for(size: int) -> None:
    """All but the last chunk have the size; together they are the whole; a second reading gives the same."""
    for source in (BytesSource(DATA), FileSource(io.BytesIO(DATA))):
        for _ in range(2):
            chunks = [bytes(chunk) for chunk in source.chunks(size)]
            assert b"".join(chunks) == DATA
            assert {len(chunk) for chunk in chunks[:-1]} <= {size}


def test_an_empty_source_gives_no_chunk() -> None:
    """There is no empty chunk."""
    assert list(BytesSource(b"").chunks()) == list(FileSource(io.BytesIO()).chunks()) == []


def test_a_pipe_gives_full_chunks_once() -> None:
    """What arrives in small pieces is gathered; a source that says ``once`` does not seek."""
    reading, writing = os.pipe()
    for start in range(0, 3000, 100):
        os.write(writing, DATA[start : start + 100])
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as file:
        chunks = [bytes(chunk) for chunk in FileSource(file, once=True).chunks(1024)]
    assert (b"".join(chunks), [len(c) for c in chunks]) == (DATA[:3000], [1024, 1024, 952])


def test_an_arena_shows_only_what_was_committed() -> None:
    """Before commit it is empty, after rewind again; what does not fit is an error."""
    arena = Arena(8)
    arena.write(b"1234")
    assert (len(arena), list(arena.chunks())) == (0, [])
    arena.commit()
    assert bytes(arena.view) == b"1234"
    with pytest.raises(AnkaError, match="arena of 8 octets is full"):
        arena.write(b"56789")
    assert len(arena.rewind()) == 0
    arena.write(b"x")
    arena.abort()
    arena.commit()
    assert len(arena) == 0


def test_a_quarantined_file_appears_at_commit(tmp_path: Path) -> None:
    """Until then there is no file of its name; it is its owner's alone; no other file is left."""
    path = tmp_path / "plain"
    sink = FileSink(path)
    sink.write(b"secret")
    assert not path.exists()
    sink.commit()
    assert path.read_bytes() == b"secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_quarantined_file_vanishes_at_abort(tmp_path: Path) -> None:
    """Nothing of it is left, and a file that was there before stays as it was."""
    path = tmp_path / "plain"
    path.write_bytes(b"old")
    sink = FileSink(path)
    sink.write(b"unverified")
    sink.abort()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"old"]


def test_a_quarantined_file_does_not_follow_a_link(tmp_path: Path) -> None:
    """A link in the place of the partial file is not written through."""
    path, victim = tmp_path / "plain", tmp_path / "victim"
    victim.write_bytes(b"untouched")
    (tmp_path / f".plain.{os.getpid()}.partial").symlink_to(victim)
    with pytest.raises(FileExistsError):
        FileSink(path)
    assert victim.read_bytes() == b"untouched"


def test_a_null_sink_counts() -> None:
    """Octets are counted and dropped; abort forgets the count."""
    sink = NullSink()
    sink.write(b"12345")
    sink.commit()
    assert sink.filled == 5
    sink.abort()
    assert sink.filled == 0


def test_shapes_are_recognized(tmp_path: Path) -> None:
    """What an operator asks for by type is what these are."""
    with (tmp_path / "file").open("w+b", buffering=0) as file:
        assert isinstance(FileStore(file), Store)
    assert isinstance(Arena(1), Store)
    assert isinstance(BytesSource(b""), Source)
    assert isinstance(NullSink(), Sink)
    assert not isinstance(b"", Source)
