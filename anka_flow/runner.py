"""Carries a plan out: proving pass, memory pass, rounds of timing, each in fresh workers; every case ends as one result.

Proving and memory passes use every core they get, since load cannot change what they find; timing uses ``run.lanes``.

Files, consoles and clocks of the day are left to the caller; what has happened is kept in the journal.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .discovery import Operators
from .errors import Unfit
from .journal import Journal
from .lanes import Lanes
from .plan import WIRES, Case, Plan
from .process import WorkerProcess

PROVE, MEMORY, TIMING = "prove", "memory", "timing"
_ADDED = ("iterations", "warmup_calls", "verify_failures", "reading_ns", "spent_ns")


@dataclass(frozen=True)
class Visit:
    """One case to visit in one pass; ``round`` is 0 outside of timing, and negative when it repeats a tainted round."""

    pass_: str
    round: int
    case: Case


@dataclass
class Runner:
    """One run of one plan. ``progress`` hears of every visit that ended; ``taint`` makes a probe of the machine's calm.

    ``cores`` is how many workers may run at once where nothing is timed; ``costs`` is what proving took before, by case.
    """

    plan: Plan
    journal: Journal
    folder: Path
    progress: Callable[[Visit, Mapping[str, Any]], None]
    taint: Callable[[], Any]
    cores: int = 1
    costs: Mapping[str, float] = field(default_factory=dict)
    clocks: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        operators = Operators(self.plan.folders)
        meters = {name: operators.meter(name) for name in self.plan.spec.meters}
        self.timing = [n for n, m in meters.items() if not m.intrusive]
        self.intrusive = [n for n, m in meters.items() if m.intrusive]
        self.done = {(e["pass"], e["round"], e["case"]): e for e in self.journal.events if "pass" in e}
        for event in self.journal.events:
            self.clocks |= event.get("clocks", {})
        self.tainted = {e["round"]: e["tainted"] for e in self.journal.events if "tainted" in e}

    def run(self) -> None:
        """Visit whatever the journal does not hold yet."""
        planned = [case for case in self.plan.cases if case.outcome is None]
        self._pass(PROVE, 0, planned)
        if self.intrusive:
            self._pass(MEMORY, 0, planned)
        for number in range(1, self.plan.spec.run.rounds + 1):
            if self.timing:
                self._round(number, planned)

    def alive(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases that no visit has ended."""
        ended = {case for (_, _, case), event in self.done.items() if event.get("outcome") != "ok"}
        return [case for case in cases if case.id not in ended]

    def _round(self, number: int, planned: Sequence[Case]) -> None:
        """One visit to every case; a disturbed round is repeated once, and both are kept."""
        if number not in self.tainted:
            probe = self.taint()
            probe.start()
            self._pass(TIMING, number, planned)
            reasons = probe.stop()
            self.tainted[number] = reasons
            self.journal.append({"round": number, "tainted": reasons})
        if self.tainted[number]:
            self._pass(TIMING, -number, planned)

    def _pass(self, pass_: str, number: int, planned: Sequence[Case]) -> None:
        """Visit what is left of a pass, on as many cores as the pass may use."""
        left = self._ordered(pass_, number, planned)
        job, run = self.job(pass_, number, left), self.plan.spec.run
        laps = {case.id: self._laps(case) if pass_ == TIMING else 1 for case in left}
        seen: dict[str, list[dict[str, Any]]] = {case.id: [] for case in left}
        queue = Queue(self._in_laps(left, laps, number), apart=pass_ != PROVE)
        lanes = Lanes(
            count=run.lanes if pass_ == TIMING else self.cores,
            start=lambda: WorkerProcess(job, self.folder / "worker.log"),
            pick=queue.pick,
            ask=lambda case: self._case(case, number) | {"laps": laps[case.id], "variant": len(seen[case.id]) << 32},
            timeout_s=run.timeout / 1e9,
        )
        try:
            for case, event in lanes.events():
                if case is not None:
                    if (pass_, number, case.id) in self.done:
                        continue  # another lane was on it when it failed
                    seen[case.id].append(event)
                    failed = event.get("outcome") != "ok"
                    if failed:
                        queue.drop(case)
                    if failed or len(seen[case.id]) == laps[case.id]:
                        self._note(Visit(pass_, number, case), joined(seen[case.id]))
                elif not event["clocks"].keys() <= self.clocks.keys():
                    self.journal.append({"clocks": event["clocks"]})
                    self.clocks |= event["clocks"]
        except Unfit as error:
            raise Unfit(f"{error}; see {self.folder / 'worker.log'}") from None

    def _ordered(self, pass_: str, number: int, planned: Sequence[Case]) -> list[Case]:
        """Return what a pass has yet to visit: shuffled to be timed, else the costliest first, so that lanes end together."""
        left = [case for case in self.alive(planned) if (pass_, number, case.id) not in self.done]
        random.Random(f"{self.plan.spec.run.seed}/{pass_}/{number}").shuffle(left)
        if pass_ == PROVE:
            groups: Counter[str] = Counter()
            for case in left:
                groups[_keys_of(case)] += round(self.costs.get(case.id, 0))
            left.sort(key=lambda case: (-groups[_keys_of(case)], _keys_of(case)))
        elif pass_ == MEMORY:
            left.sort(key=lambda case: -self.done[PROVE, 0, case.id].get("spent_ns", 0))
        return left

    def _laps(self, case: Case) -> int:
        """Return in how many visits a round reads a case: one if its key counts its uses."""
        if any(algorithm.stateful for algorithm in case.axes.values()):
            return 1
        return self.plan.spec.run.laps(self.done[PROVE, 0, case.id].get("iteration_ns", 0))

    def _in_laps(self, cases: Sequence[Case], laps: Mapping[str, int], number: int) -> Iterator[Case]:
        """Yield the cases as ordered; then, shuffled anew each time, those that have visits left."""
        yield from cases
        for lap in range(1, max(laps.values(), default=1)):
            again = [case for case in cases if laps[case.id] > lap]
            random.Random(f"{self.plan.spec.run.seed}/{number}/{lap}").shuffle(again)
            yield from again

    def _note(self, visit: Visit, event: dict[str, Any]) -> None:
        record = {"pass": visit.pass_, "round": visit.round, **event}
        self.journal.append(record)
        self.done[visit.pass_, visit.round, visit.case.id] = record
        self.progress(visit, record)

    def job(self, pass_: str, number: int, cases: Sequence[Case]) -> dict[str, Any]:
        """Return all that a worker needs to know, as JSON data."""
        spec, run = self.plan.spec, self.plan.spec.run
        algorithms = {a.id: asdict(a) for case in cases for a in case.axes.values()}
        shared = {n: self.plan.catalog.get(s.kind, s.name) for n, s in spec.shared.items()}
        algorithms |= {a.id: asdict(a) for a in shared.values()}
        rounds = run.rounds
        return {
            "pass": pass_, "folders": [str(p) for p in self.plan.folders], "keys": str(self.folder / "keys"),
            "meters": self.intrusive if pass_ == MEMORY else self.timing or self.intrusive,
            "algorithms": algorithms, "shared": {n: a.id for n, a in shared.items()},
            "given": [*WIRES, *spec.axes, *spec.shared], "steps": [asdict(u) for u in self.plan.uses],
            "varies": self.plan.varies, "prove": spec.prove,
            "warmup": None if run.warmup is None else spread(run.warmup, rounds, abs(number)),
            "iterations": spread(run.iterations, rounds, abs(number)) if number else 1,
            "min_time": run.min_time // rounds,
        }  # fmt: skip

    def _case(self, case: Case, number: int) -> dict[str, Any]:
        proof = self.done.get((PROVE, 0, case.id), {})
        return {
            "id": case.id, "axes": {n: a.id for n, a in case.axes.items()}, "providers": dict(case.providers),
            "payload_bytes": case.payload_bytes, "seed": (self.plan.spec.run.seed + abs(number)) % (1 << 64),
            "loops": proof.get("loops", {}),
        }  # fmt: skip

    def visits(self) -> Iterator[Visit]:
        """Yield every visit of a run in which nothing fails: what progress counts towards."""
        planned = [case for case in self.plan.cases if case.outcome is None]
        passes = [(PROVE, 0)] + ([(MEMORY, 0)] if self.intrusive else [])
        passes += [(TIMING, n) for n in range(1, self.plan.spec.run.rounds + 1)] if self.timing else []
        for pass_, number in passes:
            for case in planned:
                yield Visit(pass_, number, case)


class Queue:
    """Cases in order, for lanes that take the next one each.

    Cases of one set of algorithms go to one lane where their keys are made, so that no key is made twice; ``apart`` drops
    that for keys that the run's store holds already, which are all but the stateful ones.
    """

    def __init__(self, cases: Iterable[Case], *, apart: bool) -> None:
        self._left = list(cases)
        self._apart = apart
        self._owner: dict[str, int] = {}

    def pick(self, lane: int) -> Case | None:
        """Take the first case that is this lane's or nobody's."""
        for i, case in enumerate(self._left):
            free = self._apart and not any(a.stateful for a in case.axes.values())
            if free or self._owner.setdefault(_keys_of(case), lane) == lane:
                return self._left.pop(i)
        return None

    def drop(self, case: Case) -> None:
        """Take out what is left of a case."""
        self._left = [other for other in self._left if other is not case]


def joined(visits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one event of the visits to a case in one round: readings one after the other, counts and times added."""
    whole = dict(visits[0])
    for event in visits[1:]:
        for step, taken in event.get("steps", {}).items():
            held = whole["steps"][step]
            held["coarse"] = sorted({*held["coarse"], *taken["coarse"]})
            for meter, values in taken["readings"].items():
                held["readings"][meter] += values
            held["paces"] += taken["paces"]
        whole |= {name: event[name] for name in ("outcome", "reason") if name in event}
        whole |= {name: whole.get(name, 0) + event[name] for name in _ADDED if name in event}
        whole["laps"] = len(visits)
    return whole


def _keys_of(case: Case) -> str:
    """Return what names the keys that a case uses: its algorithms and who serves them."""
    return "+".join(f"{a.id}@{case.providers.get(n)}" for n, a in case.axes.items())


def spread(total: int, rounds: int, number: int) -> int:
    """Return a round's share of a total: the shares differ by at most one, and none is below one if the total is not 0."""
    share = total // rounds + (1 if 0 < number <= total % rounds else 0)
    return max(share, 1) if total else 0
