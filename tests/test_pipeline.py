"""Wires are checked before anything runs; set-up is hoisted out of the loop."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pytest

from anka_flow import operator
from anka_flow.pipeline import StepError, Use, compile_pipeline, fits


@operator
def make(size: int) -> bytes:
    return bytes(size)


@operator
def work(data: bytes, times: int = 1) -> bytes:
    return data * times


@operator
def check(data: bytes) -> None:
    assert data


LOOKUP = {"t.make": make, "t.work": work, "t.check": check}.__getitem__


def compiled(*steps: Use, looping: tuple[str, ...] = ()):
    return compile_pipeline(steps, {"size": int, "variant": int}, LOOKUP, looping)


def test_what_feeds_a_measured_step_is_set_up_and_what_follows_it_loops() -> None:
    """Nobody writes phases: generation is hoisted, the check follows the measured step into the loop."""
    nodes = compiled(
        Use("a", "t.make", {"size": "$size"}),
        Use("b", "t.work", {"data": "$a"}, measure="WORK"),
        Use(None, "t.check", {"data": "$b"}),
    )
    assert [node.loop for node in nodes] == [False, True, True]


def test_each_puts_a_step_into_the_loop_with_all_that_reads_it() -> None:
    """``each: true`` makes a step run in every iteration."""
    nodes = compiled(Use("a", "t.make", {"size": "$size"}, each=True), Use("b", "t.work", {"data": "$a"}, measure="WORK"))
    assert [node.loop for node in nodes] == [True, True]


def test_a_wire_that_changes_by_itself_puts_its_readers_into_the_loop() -> None:
    """Distinct messages reach every step that reads them."""
    nodes = compiled(
        Use("a", "t.make", {"size": "$variant"}), Use("b", "t.work", {"data": "$a"}, measure="W"), looping=("variant",)
    )
    assert nodes[0].loop


def test_steps_may_be_written_in_any_order() -> None:
    """The wires give the order, not the page."""
    nodes = compiled(Use("b", "t.work", {"data": "$a"}, measure="WORK"), Use("a", "t.make", {"size": "$size"}))
    assert [node.slot for node in nodes] == ["a", "b"]


def test_a_circle_of_wires_is_named() -> None:
    """The error shows the way around the circle."""
    with pytest.raises(StepError, match=r"go in a circle: \$a -> \$b -> \$a|\$b -> \$a -> \$b"):
        compiled(Use("a", "t.work", {"data": "$b"}, measure="W"), Use("b", "t.work", {"data": "$a"}))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([Use("a", "t.work", {"data": "$size"}, measure="W")], "'data' wants bytes, but \\$size is int"),
        ([Use("a", "t.make", {"size": "many"}, measure="W")], "'size' wants int, not the constant 'many'"),
        ([Use("a", "t.make", {}, measure="W")], "needs the input 'size'"),
        ([Use("a", "t.make", {"size": 1}, measure="W"), Use("a", "t.make", {"size": 1})], "'a' is used twice"),
        ([Use("a", "t.make", {"size": 1}, measure="W", once=True)], "cannot be measured"),
        ([Use("a", "t.make", {"size": 1})], "no step is measured"),
    ],
)
def test_faults_are_found_before_anything_runs(steps: list[Use], message: str) -> None:
    """Each fault of a step is one clear error."""
    with pytest.raises(StepError, match=message):
        compiled(*steps)


def test_unions_fit_only_where_every_member_does() -> None:
    """An axis of two kinds needs an operator that takes both."""
    assert fits(int | bytes, int | bytes | str)
    assert not fits(int | bytes, int)


def test_a_class_fits_a_protocol_by_its_methods() -> None:
    """Structural types work as wire types."""

    @runtime_checkable
    class Closable(Protocol):
        def close(self) -> None: ...

    class Door:
        def close(self) -> None: ...

    assert fits(Door, Closable)
    assert not fits(int, Closable)
