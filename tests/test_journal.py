"""The journal loses nothing that was written, whatever happens to the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anka_flow.errors import AnkaError
from anka_flow.journal import Journal


def test_events_come_back(tmp_path: Path) -> None:
    """What was appended is read on opening."""
    journal = Journal(tmp_path / "j")
    journal.append({"a": 1})
    journal.append({"b": "é\n"})
    journal.close()
    assert Journal(tmp_path / "j").events == [{"a": 1}, {"b": "é\n"}]


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_torn_last_line_is_cut_off(cut: int, tmp_path: Path) -> None:
    """After a crash in the middle of a write, whole lines stay and the next event starts a line of its own."""
    path = tmp_path / "j"
    journal = Journal(path)
    journal.append({"a": 1})
    journal.append({"b": 2})
    journal.close()
    path.write_bytes(path.read_bytes()[:-cut])
    journal = Journal(path)
    journal.append({"c": 3})
    assert Journal(path).events in ([{"a": 1}, {"c": 3}], [{"a": 1}, {"b": 2}, {"c": 3}])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_and_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says that the disk is full and how to go on; nothing half written stays."""
    journal = Journal(tmp_path / "j")
    journal.append({"a": 1})
    full = os.open("/dev/full", os.O_WRONLY)
    real = os.write
    monkeypatch.setattr(os, "write", lambda _fd, data: real(full, data))
    with pytest.raises(AnkaError, match=r"no space left on device.*--resume"):
        journal.append({"b": 2})
    monkeypatch.undo()
    assert Journal(tmp_path / "j").events == [{"a": 1}]
