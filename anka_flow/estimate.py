"""How long a plan will run here: from what its cases took in the last run or calibration on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from .plan import Plan

WORKER_START_NS = 500_000_000  # a fresh interpreter with its operators and providers


def store() -> Path:
    """Return the file that remembers calibrations; ``ANKA_FLOW_CACHE`` names another folder."""
    from platformdirs import user_cache_path

    folder = os.environ.get("ANKA_FLOW_CACHE")
    return (Path(folder) if folder else user_cache_path("anka-flow")) / "calibration.json"


def _read() -> dict[str, Any]:
    try:
        found = json.loads(store().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(plan: Plan, machine: str, events: Iterable[Mapping[str, Any]]) -> None:
    """Note what each case took, for later estimates; a cache that cannot be written is no loss."""
    events = list(events)
    costs: dict[str, dict[str, list[float]]] = {}
    iteration, step = _iterations(events), _steps(events)
    for event in events:
        if event.get("outcome") == "ok" and "spent_ns" in event:
            visits, calls, once = event.get("laps", 1), event.get("warmup_calls", 0), iteration.get(event["case"], 0)
            asked = min(calls, (plan.spec.run.warmup or 0) + visits - 1)
            passes = costs.setdefault(event["case"], {})
            if event["pass"] == "timing":
                passes.setdefault("compiling", []).append((calls - asked) * once)
            spent = (event["spent_ns"] - event.get("reading_ns", 0) - calls * once) / visits
            passes.setdefault(event["pass"], []).append(max(0, spent))
    known = _read()
    mine = known.setdefault(machine, {}).setdefault(plan.spec.name, {})
    for case, passes in costs.items():
        fixed = {name: median(values) for name, values in passes.items()}
        mine[case] = {**mine.get(case, {}), **fixed, "iteration": iteration.get(case, 0), "step": step.get(case, 0)}
    path = store()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(known), encoding="utf-8")
        partial.replace(path)
    except OSError:
        return


def known_costs(plan: Plan, machine: str) -> dict[str, float]:
    """Return what proving each case took here before, in nanoseconds, keys made included; nothing of cases never seen."""
    mine = _read().get(machine, {}).get(plan.spec.name, {})
    return {case: cost.get("prove", 0.0) for case, cost in mine.items()}


def _iterations(events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return what one iteration of each case takes: the least that proving or timing found, since first calls take longer."""
    found: dict[str, float] = {}
    for event in events:
        took = event.get("iteration_ns") or event.get("reading_ns", 0) / max(1, event.get("iterations", 1))
        if took:
            found[event["case"]] = min(took, found.get(event["case"], took))
    return found


def _steps(events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return what a reading of each case's costliest step takes."""
    found: dict[str, float] = {}
    for event in events:
        if event.get("pass") == "timing" and event.get("steps"):
            readings = [next(iter(step["readings"].values())) for step in event["steps"].values()]
            found[event["case"]] = max((median(values) for values in readings if values), default=0.0)
    return found


def estimate_ns(plan: Plan, machine: str, *, memory: bool, cores: int = 1) -> tuple[float, int]:
    """Return how long the plan will take, and how many of its cases the figure knows nothing of.

    Proving and memory passes share ``cores``, timing shares ``run.lanes``; the shares are taken as even.
    """
    known = _read().get(machine, {}).get(plan.spec.name, {})
    run = plan.spec.run
    cases = [case for case in plan.cases if case.outcome is None]
    costs = [known[case.id] for case in cases if case.id in known]
    warmup = 8 * run.rounds if run.warmup is None else run.warmup
    total = 0.0
    for cost in costs:
        visits = run.rounds * run.laps(cost["iteration"])
        counted = max(run.iterations, visits, run.min_time / cost["step"] if cost.get("step") else 0)
        calls = warmup + visits - run.rounds + counted
        total += (
            visits * cost.get("timing", 0) + run.rounds * cost.get("compiling", 0) + calls * cost["iteration"]
        ) / run.lanes
        total += (cost.get("prove", 0) + (cost.get("memory", 0) if memory else 0)) / cores
    unknown = len(cases) - len(costs)
    if costs:
        total *= len(cases) / len(costs)
    return total + (run.rounds + 1 + memory) * WORKER_START_NS, unknown
