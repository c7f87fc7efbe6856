"""One worker process as its parent sees it: started with a job, read event by event, given up when it stays silent."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

START_S = 120.0


class WorkerProcess:
    """A fresh interpreter that runs ``anka_flow.worker``. What it prints goes to ``log``; its events come over a pipe."""

    def __init__(self, job: Mapping[str, Any], log: Path) -> None:
        read_end, write_end = os.pipe()
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "anka_flow.worker", str(write_end)],
                stdin=subprocess.PIPE, stdout=output, stderr=output, pass_fds=[write_end], start_new_session=True,
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )  # fmt: skip
        os.close(write_end)
        self._pipe = read_end
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(job).encode())
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it died at once; its exit status tells

    def events(self, timeout_s: float) -> Iterator[dict[str, Any]]:
        """Yield events until the worker ends. Raises ``TimeoutError`` when it says nothing for that long."""
        rest, allowed = b"", START_S
        deadline = time.monotonic() + allowed
        while True:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            data = os.read(self._pipe, 1 << 20)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield json.loads(line)
            if lines:
                deadline = time.monotonic() + timeout_s

    def end(self) -> str:
        """Stop the worker with all it started, and return how it ended, in words."""
        if self.process.poll() is None:
            try:
                self.process.wait(timeout=0.2 if self._closed() else 0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        os.close(self._pipe)
        return exit_words(code)

    def _closed(self) -> bool:
        """Tell whether the worker has closed its end: it is about to exit by itself."""
        ready, _, _ = select.select([self._pipe], [], [], 0)
        return bool(ready) and not os.read(self._pipe, 1)


def exit_words(code: int) -> str:
    """Return how a process ended: its signal by name, or its exit status."""
    if code >= 0:
        return f"exited with status {code}"
    name = signal.Signals(-code).name
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
