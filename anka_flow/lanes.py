"""Workers side by side. Each is asked for one case at a time; whatever one dies of costs the case that it was on."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import Unfit
from .plan import Case
from .process import WorkerProcess, exit_words

GRACE_S = 0.2  # for a worker that has closed its end to exit by itself


@dataclass
class Lanes:
    """``count`` lanes, in each one worker after another. ``pick`` gives a lane its next case, or None if it has no more."""

    count: int
    start: Callable[[], WorkerProcess]
    pick: Callable[[int], Case | None]
    ask: Callable[[Case], Mapping[str, Any]]
    timeout_s: float
    _workers: dict[int, WorkerProcess] = field(default_factory=dict)
    _cases: dict[int, Case | None] = field(default_factory=dict)
    _ready: set[int] = field(default_factory=set)

    def events(self) -> Iterator[tuple[Case | None, dict[str, Any]]]:
        """Yield what each case came to, and without a case what a new worker says of itself, until all lanes are done.

        Raises ``Unfit`` if a worker does not come up. Workers never outlive the iteration.
        """
        try:
            for lane in range(self.count):
                self._open(lane)
            while self._workers:
                wait = min(worker.deadline for worker in self._workers.values()) - time.monotonic()
                heard, _, _ = select.select(list(self._workers.values()), [], [], max(0.0, wait))
                for lane, worker in list(self._workers.items()):
                    if worker in heard:
                        yield from self._hear(lane, worker)
                    elif worker.deadline <= time.monotonic():
                        yield from self._close(lane, "timeout", f"no result within {self.timeout_s:g} s")
        finally:
            for worker in self._workers.values():
                worker.end()

    def _open(self, lane: int) -> None:
        """Start a worker, if there is a case for it."""
        self._cases[lane] = self.pick(lane)
        if self._cases[lane]:
            self._workers[lane] = self.start()

    def _hear(self, lane: int, worker: WorkerProcess) -> Iterator[tuple[Case | None, dict[str, Any]]]:
        events = worker.read()
        if events is None:
            yield from self._close(lane, "failed", "")
            return
        for event in events:
            if lane not in self._ready:
                self._ready.add(lane)
                yield None, event
            else:
                if "signal" in event:
                    event |= {"reason": f"the process was {exit_words(event.pop('signal'))}"}
                yield self._cases[lane], event
                self._cases[lane] = self.pick(lane)
            case = self._cases[lane]
            if case:
                worker.ask(self.ask(case), self.timeout_s)
            else:
                worker.dismiss()

    def _close(self, lane: int, outcome: str, reason: str) -> Iterator[tuple[Case | None, dict[str, Any]]]:
        """End a worker. Where it owed a result, that is the result; then another takes its place."""
        ended = self._workers.pop(lane).end(GRACE_S if outcome == "failed" else 0.0)
        if lane not in self._ready:
            raise Unfit("workers do not start")
        self._ready.remove(lane)
        if case := self._cases[lane]:
            yield case, {"outcome": outcome, "reason": reason or f"the worker process {_was(ended)}"}
            self._open(lane)


def _was(ended: str) -> str:
    return ended if ended.startswith("exited") else f"was {ended}"
