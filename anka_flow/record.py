"""From the journal's events to one result per planned case. Pure data work: nothing is run, read or written here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from .plan import Case, Plan
from .results import CaseResult, Figure, Measurement
from .stats import Summary, summarise

Events = Mapping[tuple[str, int, str], Mapping[str, Any]]
CPU_MARGIN = 1.02
PROVE = "prove"


def assemble(
    plan: Plan, events: Events, clocks: Mapping[str, Sequence[float]], units: Mapping[str, str]
) -> Iterator[CaseResult]:
    """Yield the result of every planned case, in the plan's order."""
    by_case: dict[str, list[tuple[str, int, Mapping[str, Any]]]] = {}
    for (pass_, number, case_id), event in sorted(events.items(), key=lambda item: (item[0][0], abs(item[0][1]), item[0][1])):
        by_case.setdefault(case_id, []).append((pass_, number, event))
    for case in plan.cases:
        yield _result(plan, case, by_case.get(case.id, []), clocks, units)


def _result(
    plan: Plan,
    case: Case,
    events: Sequence[tuple[str, int, Mapping[str, Any]]],
    clocks: Mapping[str, Sequence[float]],
    units: Mapping[str, str],
) -> CaseResult:
    if case.outcome is not None:
        return CaseResult(case, case.outcome, case.reason)
    bad = next((e for _, _, e in events if e.get("outcome") != "ok"), None)
    proof: Mapping[str, Any] = next((e for p, _, e in events if p == PROVE), {})
    repeated = {-number for _, number, _ in events if number < 0}
    readings = [m for p, n, e in events for m in _measurements(p, n, e, n in repeated)]
    notes = sorted({flag for _, _, event in events for flag in _event_flags(event)})
    figures = [f for step in plan.measured() for f in _figures(step, case, readings, clocks, units)]
    if plan.spec.run.lanes > 1:
        notes.append(f"timed {plan.spec.run.lanes} at a time")
    fact_flags = {str(k) for facts in proof.get("facts", {}).values() for k, v in facts.items() if v is True}
    figure_flags = {flag for figure, flags in figures for flag in flags}
    warmups = [e["warmup_calls"] for _, _, e in events if "warmup_calls" in e]
    return CaseResult(
        case, bad["outcome"] if bad else "ok", bad.get("reason", "") if bad else "",
        tuple(sorted(fact_flags | figure_flags | set(notes))), proof.get("facts", {}), proof.get("proofs", {}),
        readings, [figure for figure, _ in figures], max(warmups, default=None),
        sum(e.get("verify_failures", 0) for _, _, e in events),
    )  # fmt: skip


def _event_flags(event: Mapping[str, Any]) -> Iterator[str]:
    if reason := event.get("unavailable"):
        yield f"memory_unavailable: {reason}"
    for step, taken in event.get("steps", {}).items():
        if isinstance(taken, dict):
            for name in taken.get("coarse", ()):
                yield f"{step}.{name}: clock steps too coarse for this operation"


def _measurements(pass_: str, number: int, event: Mapping[str, Any], tainted: bool) -> Iterator[Measurement]:
    if pass_ == PROVE:
        return
    for step, taken in event.get("steps", {}).items():
        loops = taken["loops"]
        for meter, values in taken["readings"].items():
            empty = taken["empty"].get(meter, 0.0)
            unresolved = meter in taken.get("coarse", ())
            paces = taken.get("paces") or repeat(None)
            for i, (reading, pace) in enumerate(zip(values, paces, strict=False)):
                value = (reading - empty) / loops if taken["empty"] else float(reading)
                kept = None if unresolved or (taken["empty"] and value * loops <= empty) else value
                yield Measurement(step, meter, abs(number), i, loops, reading, kept, tainted and number > 0, pace)


def _figures(
    step: str, case: Case, readings: Sequence[Measurement], clocks: Mapping[str, Sequence[float]], units: Mapping[str, str]
) -> Iterator[tuple[Figure, list[str]]]:
    """Yield the figure of each meter of a step with the flags that it earns."""
    medians: dict[str, float] = {}
    for meter, unit in units.items():
        mine = [m for m in readings if m.step == step and m.meter == meter and not m.tainted]
        rounds: dict[int, list[float]] = {}
        for m in mine:
            if m.value is not None:
                rounds.setdefault(m.round, []).append(m.value)
        loops = mine[0].inner_loops if mine else 1
        known = sum(map(len, rounds.values()))
        flags = []
        if known * 2 <= len(mine) and mine and unit == "ns":
            flags.append(f"{step}.{meter}: below_resolution")
            rounds = {}
        if not rounds:
            yield Figure(step, meter, unit, loops, {}), flags
            continue
        summary: Summary = summarise(list(rounds.values()))
        medians[meter] = summary.median
        flags += [f"{step}.{meter}: {flag}" for flag in summary.flags if flag != "one_round" and unit == "ns"]
        through = case.payload_bytes / summary.median * 1e9 if meter == "wall" and summary.median > 0 else None
        clock_step = (clocks.get("cpu") or [0.0])[0]
        if meter == "cpu" and summary.median > medians.get("wall", summary.median) * CPU_MARGIN + clock_step:
            flags.append(f"{step}: cpu_exceeds_wall")
        yield Figure(step, meter, unit, loops, summary.row(), through), flags
