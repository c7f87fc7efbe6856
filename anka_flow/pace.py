"""How fast the processor runs just now, read beside the operation and never within its window.

A processor changes its clock by several per cent many times a second, and a virtual machine's follows what its neighbours do.
A fixed computation in registers, timed next to a reading, tells in which state that reading was taken.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable

from .loop import Gauge

EVERY_NS = 1_000_000  # readings this close together share a state, as a rule
_RUNS = 6  # the least of them: whatever disturbs a run only adds to it
_ROUNDS = 16  # of HMAC-SHA-512, about 20 microseconds a run


def pace_ns() -> int:
    """Return what the fixed computation takes now, in nanoseconds."""
    times = []
    for _ in range(_RUNS):
        began = time.perf_counter_ns()
        hashlib.pbkdf2_hmac("sha512", b"anka-flow", b"pace", _ROUNDS)
        times.append(time.perf_counter_ns() - began)
    return min(times)


class Track:
    """The pace beside every reading of some steps: the mean of what was seen before it and after it.

    ``paces`` holds it by step, in the order of the readings, once ``mark`` was called after the last one.
    """

    def __init__(self, gauge: Gauge, steps: Iterable[str]) -> None:
        self.paces: dict[str, list[int]] = {step: [] for step in steps}
        self._gauge = gauge
        self._last = pace_ns()
        self._due = time.perf_counter_ns() + EVERY_NS

    def follow(self) -> None:
        """Look at the pace again if the last look is a while ago."""
        if time.perf_counter_ns() >= self._due:
            self.mark()

    def mark(self) -> None:
        """Look at the pace, and give the readings since the last look theirs."""
        now = pace_ns()
        for step, paces in self.paces.items():
            paces.extend([(self._last + now) // 2] * (self._gauge.count(step) - len(paces)))
        self._last = now
        self._due = time.perf_counter_ns() + EVERY_NS
