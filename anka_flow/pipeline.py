"""Operators and the graph that a spec makes of them. (Being written: only the decorator is here.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

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
