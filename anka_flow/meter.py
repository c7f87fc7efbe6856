"""What a meter is, and what its clock can resolve. Meters themselves are operator files (``operators/wall.py``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


class Meter(ABC):
    """Reads one quantity before and after an operation.

    ``unit`` is ``ns`` or ``bytes``. ``intrusive`` meters get a pass of their own, in a fresh process per case. ``stop`` returns
    the difference in the unit. ``unavailable`` tells why the meter cannot read here; its values are then null with that reason.
    ``steps`` is how many clock steps a reading must span to be believed (0: it has no clock).
    """

    unit: str = "ns"
    intrusive: bool = False
    steps: int = 0
    start: Callable[[], int]

    @abstractmethod
    def stop(self, started: int) -> int: ...

    def unavailable(self) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Clock:
    """A meter's clock as measured: its smallest step and the cost of reading it, both in the meter's unit."""

    step: float
    cost: float


def measure_clock(meter: Meter, samples: int = 400) -> Clock:
    """Return the clock as it behaves here; what it reports of itself is not to be trusted (python/cpython#135304)."""
    start, stop = meter.start, meter.stop
    ticks = []
    for _ in range(samples):
        began = start()
        while (tick := stop(began)) <= 0:
            pass
        ticks.append(tick)
        if sum(ticks) > 50_000_000:  # a coarse clock: a few of its ticks tell enough
            break
    reads = [_cost(meter) for _ in range(9)]
    return Clock(float(min(ticks)), median(reads))


def _cost(meter: Meter, reads: int = 64) -> float:
    from time import perf_counter_ns

    start = meter.start
    began = perf_counter_ns()
    for _ in range(reads):
        start()
    return (perf_counter_ns() - began) / reads
