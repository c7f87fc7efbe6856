"""What has finished, on disk: one JSON line per event, written through before the next begins. Survives ``kill -9``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .errors import AnkaError


class Journal:
    """Appends events to ``path``; opening it cuts off a line that a crash left unfinished."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[dict[str, Any]] = []
        whole = self._read() if path.exists() else 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.ftruncate(self._fd, whole)
        os.lseek(self._fd, 0, os.SEEK_END)

    def _read(self) -> int:
        """Load the whole lines; return how many octets they take."""
        whole = 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            try:
                event = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                event = None
            if not isinstance(event, dict):
                break
            self.events.append(event)
            whole += len(line)
        return whole

    def append(self, event: dict[str, Any]) -> None:
        """Write and sync one event. Raises ``AnkaError`` when the disk does not take it; what is there stays whole."""
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        end = os.lseek(self._fd, 0, os.SEEK_CUR)
        try:
            if os.write(self._fd, line) != len(line):
                raise OSError(28, "No space left on device")
            os.fsync(self._fd)
        except OSError as error:
            os.ftruncate(self._fd, end)
            os.lseek(self._fd, end, os.SEEK_SET)
            raise AnkaError(
                f"{self.path}: cannot be written: {(error.strerror or str(error)).lower()}; what finished is kept: "
                f"make room and go on with --resume {self.path.parent}"
            ) from None
        self.events.append(event)

    def close(self) -> None:
        os.close(self._fd)
