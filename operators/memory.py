"""Peak resident memory that an operation adds, in bytes: the high-water mark of the process, reset right before it."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

from anka_flow import Meter

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")


def _kib(field: bytes) -> int:
    text = _STATUS.read_bytes()
    at = text.index(field) + len(field)
    return int(text[at : text.index(b"kB", at)])


class Memory(Meter):
    """VmHWM after ``clear_refs`` less VmRSS before (proc(5)); freed heap is handed back first, so that its reuse shows."""

    unit = "bytes"
    intrusive = True

    def unavailable(self) -> str | None:
        try:
            _CLEAR_REFS.write_bytes(b"5")
            _kib(b"VmHWM:")
        except (OSError, ValueError) as error:
            return f"the kernel offers no resettable high-water mark here ({type(error).__name__})"
        return None

    def start(self) -> int:
        gc.collect()
        if hasattr(_LIBC, "malloc_trim"):
            _LIBC.malloc_trim(0)
        _CLEAR_REFS.write_bytes(b"5")
        return _kib(b"VmRSS:")

    def stop(self, started: int) -> int:
        return max(0, _kib(b"VmHWM:") - started) * 1024


_LIBC = ctypes.CDLL(None)
METER = Memory()
