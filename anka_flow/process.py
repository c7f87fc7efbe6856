"""One worker process as its parent sees it: started with a job, asked for one case at a time, read event by event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

START_S = 120.0


class WorkerProcess:
    """A fresh interpreter that runs ``anka_flow.worker``. What it prints goes to ``log``; its events come over a pipe.

    ``deadline`` (of the monotonic clock, in seconds) is when its silence has lasted too long: whoever asks sets it.
    """

    def __init__(self, job: Mapping[str, Any], log: Path) -> None:
        self._pipe, write_end = os.pipe()
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "anka_flow.worker", str(write_end)],
                stdin=subprocess.PIPE, stdout=output, stderr=output, pass_fds=[write_end], start_new_session=True,
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )  # fmt: skip
        os.close(write_end)
        self._rest = b""
        self.deadline = time.monotonic() + START_S
        self._send(job)

    def _send(self, data: Mapping[str, Any]) -> None:
        assert self.process.stdin
        with suppress(BrokenPipeError):  # it died; its end tells
            self.process.stdin.write(json.dumps(data).encode() + b"\n")
            self.process.stdin.flush()

    def ask(self, case: Mapping[str, Any], timeout_s: float) -> None:
        """Hand the worker its next case."""
        self.deadline = time.monotonic() + timeout_s
        self._send(case)

    def dismiss(self) -> None:
        """Tell the worker that no more cases come."""
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._pipe

    def read(self) -> list[dict[str, Any]] | None:
        """Return the events that have come; None once the worker has closed its end."""
        data = os.read(self._pipe, 1 << 20)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self, grace_s: float = 0.0) -> str:
        """Stop the worker with all it started, and return how it ended, in words."""
        self.dismiss()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=grace_s)
        with suppress(ProcessLookupError, PermissionError):  # all gone already
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        os.close(self._pipe)
        return exit_words(code)


def exit_words(code: int) -> str:
    """Return how a process ended: its signal by name, or its exit status."""
    if code >= 0:
        return f"exited with status {code}"
    name = signal.Signals(-code).name
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
