"""What the innermost loop reads, with clocks that are known."""

from __future__ import annotations

import itertools

from anka_flow import Meter, operator
from anka_flow.loop import MAX_LOOPS, Gauge, Loop
from anka_flow.meter import measure_clock
from anka_flow.pipeline import Use, compile_pipeline


class FakeClock(Meter):
    """A clock that moves only when it is read, and when an operation tells it to."""

    steps = 10

    def __init__(self, step: int = 1) -> None:
        self.now, self.step, self.reads = 0, step, itertools.count(1)

    def start(self) -> int:
        self.now += 1
        return self.now // self.step * self.step

    def stop(self, started: int) -> int:
        return self.start() - started


def test_the_clock_is_measured_not_believed() -> None:
    """The step is the smallest difference that was seen."""
    assert measure_clock(FakeClock(step=64)).step == 64.0


def test_readings_hold_nothing_but_the_operation() -> None:
    """Between the two reads of a clock only the operation moves it."""
    clock = FakeClock()
    gauge = Gauge({"fake": clock})
    gauge.watch("X")

    def spend() -> str:
        clock.now += 500
        return "done"

    assert gauge.take("X", spend) == "done"
    assert gauge.taken("X") == {"fake": [501]}


def test_the_finest_clock_is_innermost() -> None:
    """The readings of a cheap clock do not contain those of a costly one."""

    class Slow(FakeClock):
        def start(self) -> int:
            for _ in range(3000):
                pass
            return super().start()

    gauge = Gauge({"slow": Slow(), "quick": FakeClock()})
    assert gauge.names == ["quick", "slow"]


def test_a_short_operation_repeats_until_the_clock_can_tell() -> None:
    """A reading spans the meter's number of clock steps; a long operation runs once."""
    gauge = Gauge({"fake": FakeClock(step=100)})
    assert (gauge.loops_for(50.0), gauge.loops_for(5000.0), gauge.loops_for(0.0)) == (20, 1, min(1000, MAX_LOOPS))


def test_an_inner_loop_calls_as_often_as_it_says() -> None:
    """One reading stands for ``loops`` calls."""
    gauge = Gauge({"fake": FakeClock()})
    gauge.watch("X", 7)
    calls: list[int] = []
    gauge.take("X", lambda: calls.append(1))
    assert (len(calls), len(gauge.taken("X")["fake"])) == (7, 1)


def test_a_clock_too_coarse_for_an_operation_is_told() -> None:
    """A clock of 15.625 ms says nothing of a reading of 100 ms when it should span a hundred steps."""
    gauge = Gauge({"fake": FakeClock()})
    gauge.clocks["fake"] = type(gauge.clocks["fake"])(15_625_000.0, 10.0)
    assert gauge.too_coarse("fake", 100_000_000.0)
    assert not gauge.too_coarse("fake", 200_000_000.0)


def test_what_the_loop_makes_is_bound_anew_and_the_rest_once() -> None:
    """Every iteration sees its own message; set-up values stay."""

    @operator
    def label(variant: int, name: str) -> str:
        return f"{name}{variant}"

    @operator
    def note(text: str) -> None:
        seen.append(text)

    seen: list[str] = []
    steps = [Use("t", "x.label", {"variant": "$variant", "name": "m"}, measure="T"), Use(None, "x.note", {"text": "$t"})]
    nodes = compile_pipeline(steps, {"variant": int}, {"x.label": label, "x.note": note}.__getitem__, ("variant",))
    loop = Loop(nodes, {})
    for _ in range(3):
        loop.iterate(lambda _, call: call())
    assert seen == ["m1", "m2", "m3"]
