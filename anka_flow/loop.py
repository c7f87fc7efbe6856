"""The innermost part: reads meters around an operation, and walks a case's nodes. Nothing else may slow these lines."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from .meter import Clock, Meter, measure_clock
from .pipeline import Node

MAX_LOOPS = 4096
MAX_READING_NS = 100_000_000  # no inner loop is stretched beyond this to please a coarse clock
_GARBAGE = 20_000  # young objects after which garbage is collected between two iterations

_EMPTY: Sequence[Callable[..., None]] = (
    lambda: None,
    lambda a: None,
    lambda a, b: None,
    lambda a, b, c: None,
    lambda a, b, c, d: None,
)


class Gauge:
    """The meters of one pass around one operation. The costliest to read is outermost, so the finest sees the least.

    ``take(label, call)`` runs an operation and notes raw differences; ``loops`` holds how often each label's operation repeats.
    """

    def __init__(self, meters: Mapping[str, Meter]) -> None:
        self.clocks = {n: measure_clock(m) if m.steps else Clock(0.0, 0.0) for n, m in meters.items()}
        self.names = sorted(meters, key=lambda name: self.clocks[name].cost)  # innermost first
        self.meters = [meters[name] for name in self.names]
        self._start, self._stop = self.meters[0].start, self.meters[0].stop
        self._outer_starts = [m.start for m in reversed(self.meters[1:])]
        self._outer_stops = [m.stop for m in self.meters[1:]]
        self.loops: dict[str, int] = {}
        self._readings: dict[str, list[list[int]]] = {}
        self._empty: dict[tuple[int, int], dict[str, float]] = {}
        self.take: Callable[[str, Callable[[], Any]], Any] = self._take_nested if self.meters[1:] else self._take_one

    def watch(self, label: str, loops: int = 1) -> None:
        """Make ready for readings of a label; forget what was read of it."""
        self.loops[label] = loops
        self._readings[label] = [[] for _ in self.meters]

    def _take_one(self, label: str, call: Callable[[], Any]) -> Any:
        loops = self.loops[label]
        if loops == 1:
            began = self._start()
            result = call()
            taken = self._stop(began)
        else:
            began = self._start()
            for _ in repeat(None, loops):
                result = call()
            taken = self._stop(began)
        self._readings[label][0].append(taken)
        return result

    def _take_nested(self, label: str, call: Callable[[], Any]) -> Any:
        starts = [start() for start in self._outer_starts]
        result = self._take_one(label, call)
        for stop, store in zip(self._outer_stops, self._readings[label][1:], strict=True):
            store.append(stop(starts.pop()))
        return result

    def last(self, label: str) -> int:
        """Return a label's last raw reading of the innermost meter."""
        return self._readings[label][0][-1]

    def count(self, label: str) -> int:
        """Return how many readings a label has."""
        return len(self._readings[label][0])

    def taken(self, label: str) -> dict[str, list[int]]:
        """Return the raw readings of a label by meter."""
        return dict(zip(self.names, self._readings[label], strict=True))

    def empty(self, loops: int, arity: int) -> dict[str, float]:
        """Return what a reading of an operation that does nothing costs, by meter: the least of 51.

        What disturbs a reading only adds to it, and what is subtracted from every figure must not hold a slow moment.
        """
        key = (loops, min(arity, len(_EMPTY) - 1))
        if key not in self._empty:
            call = partial(_EMPTY[key[1]], *range(key[1]))
            self.watch("#empty", loops)
            for _ in range(51):
                self.take("#empty", call)
            self._empty[key] = {name: min(values) for name, values in self.taken("#empty").items()}
        return self._empty[key]

    def loops_for(self, estimate_ns: float) -> int:
        """Return how often an operation repeats so that a reading spans enough steps of every clock."""
        target = min(max(map(self._span, self.names)), MAX_READING_NS)
        if estimate_ns >= target:
            return 1
        return int(min(MAX_LOOPS, -(-target // max(estimate_ns, 1.0))))

    def _span(self, name: str) -> float:
        return self.meters[self.names.index(name)].steps * self.clocks[name].step

    def too_coarse(self, name: str, reading: float) -> bool:
        """Tell whether a reading spans so few steps of its clock that it says nothing, and no loop could mend it."""
        return self._span(name) > MAX_READING_NS and reading < self._span(name)


class Bound:
    """A node whose constants and set-up values are bound once; only what the loop makes is bound anew."""

    __slots__ = ("_args", "_call", "_kwargs", "_moving", "function", "measure", "slot")

    def __init__(self, node: Node, values: Mapping[str, Any], moving: set[str]) -> None:
        self.function, self.slot, self.measure = node.function, node.slot, node.measure
        self._kwargs = dict(node.constants)
        self._moving = []
        for name, wire in node.wires.items():
            if wire.slot in moving:
                self._moving.append((name, wire.slot, wire.attr))
            self._kwargs[name] = None if wire.slot in moving else _follow(values, wire.slot, wire.attr)
        self._args = _leading(node.function, self._kwargs)
        self._call = None if self._moving else self._partial()

    @property
    def arity(self) -> int:
        return len(self._kwargs)

    def _partial(self) -> Callable[[], Any]:
        """Bind by position as far as can be: a call with names costs several times as much."""
        kwargs = self._kwargs
        args = [kwargs[name] for name in self._args]
        if len(args) == len(kwargs):
            return partial(self.function, *args)
        return partial(self.function, *args, **{k: v for k, v in kwargs.items() if k not in self._args})

    def ready(self, values: Mapping[str, Any]) -> Callable[[], Any]:
        """Return the operation with every input in place."""
        if self._call is not None:
            return self._call
        for name, slot, attr in self._moving:
            self._kwargs[name] = _follow(values, slot, attr)
        return self._partial()


def _follow(values: Mapping[str, Any], slot: str, attr: str | None) -> Any:
    return values[slot] if attr is None else getattr(values[slot], attr)


def _leading(function: Callable[..., Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters, from the first on, that are given and may be passed by position."""
    names = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            break
        names.append(name)
    return tuple(names)


class Loop:
    """The nodes that run in every iteration of one case."""

    def __init__(self, nodes: Sequence[Node], values: dict[str, Any]) -> None:
        moving = {"variant"} | {n.slot for n in nodes}
        self.values = values
        self.bound = [Bound(node, values, moving) for node in nodes]
        last = max((i for i, bound in enumerate(self.bound) if bound.measure), default=len(nodes) - 1)
        self._unchecked = self.bound[: last + 1]
        self._variant = values.get("variant", 0)

    def iterate(self, take: Callable[[str, Callable[[], Any]], Any]) -> None:
        """Run every node once; measured ones through ``take(label, call)``."""
        self._walk(self.bound, take)

    def iterate_unchecked(self, take: Callable[[str, Callable[[], Any]], Any]) -> None:
        """Run the nodes up to the last measured one, and leave out what only checks its result: to warm up, or for memory."""
        self._walk(self._unchecked, take)

    def _walk(self, nodes: Sequence[Bound], take: Callable[[str, Callable[[], Any]], Any]) -> None:
        values = self.values
        values["variant"] = self._variant = self._variant + 1
        for bound in nodes:
            call = bound.ready(values)
            values[bound.slot] = call() if bound.measure is None else take(bound.measure, call)
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()
