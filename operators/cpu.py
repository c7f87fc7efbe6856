"""CPU time of the calling thread, in nanoseconds. Work that a library hands to other threads does not count."""

from time import thread_time_ns

from anka_flow import Meter


class Cpu(Meter):
    """User and system time of the thread (``thread_time_ns``)."""

    steps = 100
    start = staticmethod(thread_time_ns)

    def stop(self, started: int) -> int:
        return thread_time_ns() - started


METER = Cpu()
