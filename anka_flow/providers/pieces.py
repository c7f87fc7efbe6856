"""What providers share for messages that arrive in pieces: an operation in progress, and a MAC key that starts one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anka_flow.primitives import Buffer


class Pieces:
    """An operation in progress: the library's own calls under the names of ``primitives.Signing`` and ``Verifying``."""

    __slots__ = ("finish", "update")

    def __init__(self, update: Callable[[Buffer], Any], finish: Callable[..., Any]) -> None:
        self.update, self.finish = update, finish


class MacKey:
    """A key: ``start`` returns a fresh keyed context."""

    __slots__ = ("raw", "start")

    def __init__(self, raw: bytes, start: Callable[[], Any]) -> None:
        self.raw, self.start = raw, start

    def __repr__(self) -> str:
        return "MacKey(...)"
