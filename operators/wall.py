"""Wall-clock time of an operation, in nanoseconds."""

from time import perf_counter_ns

from anka_flow import Meter


class Wall(Meter):
    """The monotonic clock with the finest step (``perf_counter_ns``)."""

    steps = 1000
    start = staticmethod(perf_counter_ns)

    def stop(self, started: int) -> int:
        return perf_counter_ns() - started


METER = Wall()
