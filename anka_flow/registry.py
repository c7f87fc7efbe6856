"""A named collection that says what it has when asked for what it has not."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def suggest(name: str, known: list[str]) -> str:
    """Return ``; did you mean 'x'?`` for the nearest known name, or nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


class Registry(Generic[T]):
    """Names to things of one kind; a second thing of the same name is an error."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> None:
        """Raises ``KeyError`` if the name is taken by another item."""
        if name in self._items and self._items[name] is not item:
            raise KeyError(f"{self.kind} '{name}' is defined twice")
        self._items[name] = item

    def get(self, name: str) -> T:
        """Raises ``KeyError`` with the nearest known name."""
        try:
            return self._items[name]
        except KeyError:
            raise KeyError(f"unknown {self.kind} '{name}'{suggest(name, list(self._items))}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def items(self) -> list[tuple[str, T]]:
        return list(self._items.items())
