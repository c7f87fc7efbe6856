"""Operators and the graph that a spec makes of them: bind, check, sort, hoist. Nothing here runs an operator."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar, overload

from .registry import suggest

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class OperatorInfo:
    """What the decorator notes on a function: how to restore a stored result in another process."""

    restore: Callable[..., Any] | None = None


@overload
def operator(function: F, /) -> F: ...
@overload
def operator(*, restore: Callable[..., Any]) -> Callable[[F], F]: ...
def operator(function: F | None = None, /, *, restore: Callable[..., Any] | None = None) -> F | Callable[[F], F]:
    """Mark a function as an operator: its name is its address, its signature its schema.

    ``restore(data, **inputs)`` rebuilds a result from the octets of its ``dump()``, so that a run makes a key once and hands
    it to its workers.
    """

    def mark(target: F) -> F:
        target.__anka_operator__ = OperatorInfo(restore)  # type: ignore[attr-defined]  # a note on a function
        return target

    return mark if function is None else mark(function)


@dataclass(frozen=True)
class Use:
    """A step as written: what the engine needs of it, whoever wrote it down."""

    id: str | None
    use: str
    inputs: Mapping[str, Any]
    measure: str | None = None
    each: bool = False
    once: bool = False


@dataclass(frozen=True)
class Wire:
    """Where an input comes from: a slot of the case's values, and an attribute of it if the spec says ``$wire.attr``."""

    slot: str
    attr: str | None = None


@dataclass(frozen=True)
class Node:
    """A step as compiled. ``slot`` is where its result goes; ``loop`` tells whether it runs in every iteration."""

    slot: str
    address: str
    function: Callable[..., Any]
    wires: Mapping[str, Wire]
    constants: Mapping[str, Any]
    measure: str | None
    loop: bool
    once: bool

    @property
    def restore(self) -> Callable[..., Any] | None:
        info: OperatorInfo = self.function.__anka_operator__  # type: ignore[attr-defined]  # noted by the decorator
        return info.restore


class StepError(ValueError):
    """A step that cannot be bound; ``at`` is the path of the fault below ``pipeline``."""

    def __init__(self, at: Sequence[str | int], message: str) -> None:
        super().__init__(message)
        self.at = tuple(at)


def compile_pipeline(
    steps: Sequence[Use], given: Mapping[str, Any], lookup: Callable[[str], Callable[..., Any]], looping: Sequence[str] = ()
) -> tuple[Node, ...]:
    """Return the nodes in the order they run.

    ``given`` maps the wires that exist before the first step to their types; those in ``looping`` change with every iteration.
    Raises ``StepError`` for an unknown operator or input, a missing input, a dangling or ill-typed wire, a cycle.
    """
    functions = [_lookup(i, step, lookup) for i, step in enumerate(steps)]
    slots = [step.id or f"#{i}" for i, step in enumerate(steps)]
    _unique(steps)
    producers = {slot: i for i, slot in enumerate(slots)}
    wires = [_bind(i, steps[i], functions[i], {**given, **producers}) for i in range(len(steps))]
    order = _sort(wires, producers, slots)
    outputs: dict[str, Any] = dict(given)
    loop: set[str] = set(looping)
    nodes = []
    for i in order:
        step, function = steps[i], functions[i]
        hints = _hints(function)
        for parameter, wire in wires[i].items():
            _check_type(i, parameter, wire, _attr_type(outputs[wire.slot], wire.attr), hints.get(parameter, Any))
        outputs[slots[i]] = hints.get("return", Any)
        in_loop = bool(step.measure or step.each or any(w.slot in loop for w in wires[i].values()))
        if in_loop:
            loop.add(slots[i])
        constants = {k: v for k, v in step.inputs.items() if k not in wires[i]}
        for parameter, value in constants.items():
            _check_constant(i, parameter, value, hints.get(parameter, Any))
        nodes.append(Node(slots[i], step.use, function, wires[i], constants, step.measure, in_loop, step.once))
    return tuple(nodes)


def _lookup(index: int, step: Use, lookup: Callable[[str], Callable[..., Any]]) -> Callable[..., Any]:
    try:
        return lookup(step.use)
    except KeyError as error:
        raise StepError((index, "use"), error.args[0]) from None


def _unique(steps: Sequence[Use]) -> None:
    seen: set[str] = set()
    for i, step in enumerate(steps):
        for key, value in (("id", step.id), ("measure", step.measure and f"measure {step.measure}")):
            if value in seen:
                raise StepError((i, key), f"'{value}' is used twice; give each step its own {key}")
            if value:
                seen.add(value)
        if step.measure and step.once:
            raise StepError((i, "once"), "a step that runs once cannot be measured")
    if not any(step.measure for step in steps):
        raise StepError((), "no step is measured; add 'measure: NAME' to at least one")


def _bind(index: int, step: Use, function: Callable[..., Any], known: Mapping[str, Any]) -> dict[str, Wire]:
    """Return the inputs of a step that are wires. The operator's signature is the schema."""
    parameters = inspect.signature(function).parameters
    wires = {}
    for name, value in step.inputs.items():
        if name not in parameters:
            raise StepError((index, "with", name), f"'{step.use}' has no input '{name}'{suggest(name, list(parameters))}")
        if isinstance(value, str) and value.startswith("$"):
            slot, _, attr = value[1:].partition(".")
            if slot not in known:
                near = suggest(slot, [k for k in known if not k.startswith("#")])
                raise StepError((index, "with", name), f"nothing makes the wire '${slot}'{near}")
            wires[name] = Wire(slot, attr or None)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in step.inputs:
            raise StepError((index, "use"), f"'{step.use}' needs the input '{name}'")
    return wires


def _sort(wires: Sequence[Mapping[str, Wire]], producers: Mapping[str, int], slots: Sequence[str]) -> list[int]:
    """Return the steps in an order that serves every wire, as near to the written one as can be."""
    needs = {i: sorted({producers[w.slot] for w in wires[i].values() if w.slot in producers}) for i in range(len(slots))}
    if all(j < i for i, sources in needs.items() for j in sources):
        return list(range(len(slots)))
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        ring = " -> ".join(f"${slots[i]}" for i in error.args[1])
        raise StepError((error.args[1][0],), f"the wires go in a circle: {ring}") from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(function)


def _attr_type(kind: Any, attr: str | None) -> Any:
    if attr is None:
        return kind
    try:
        return typing.get_type_hints(kind).get(attr, Any)
    except TypeError:
        return Any


def _members(kind: Any) -> list[Any]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(kind) for member in _members(part)]
    return [typing.get_origin(kind) or kind]


def fits(made: Any, wanted: Any) -> bool:
    """Tell whether every type that ``made`` can be is accepted by ``wanted``; what has no type fits everything."""
    return all(any(_one_fits(m, w) for w in _members(wanted)) for m in _members(made))


def _one_fits(made: Any, wanted: Any) -> bool:
    if made is Any or wanted is Any or made is wanted or not isinstance(made, type) or not isinstance(wanted, type):
        return True
    if getattr(wanted, "_is_protocol", False):
        asked = {
            n for base in wanted.__mro__ if getattr(base, "_is_protocol", False) for n, v in vars(base).items() if callable(v)
        }
        return all(hasattr(made, name) for name in asked if not name.startswith("_"))
    return issubclass(made, wanted) or (made is int and wanted is float)


def _shown(kind: Any) -> str:
    return " or ".join(getattr(m, "__name__", str(m)) for m in _members(kind))


def _check_type(index: int, parameter: str, wire: Wire, made: Any, wanted: Any) -> None:
    if not fits(made, wanted):
        message = f"'{parameter}' wants {_shown(wanted)}, but ${wire.slot} is {_shown(made)}"
        raise StepError((index, "with", parameter), message)


def _check_constant(index: int, parameter: str, value: Any, wanted: Any) -> None:
    if not fits(type(value), wanted):
        raise StepError((index, "with", parameter), f"'{parameter}' wants {_shown(wanted)}, not the constant {value!r}")
