"""The columns of a spec: ``alg.kty``, ``payload_bytes``, ``ENC.wall.median.ms``. Checked before a run, filled after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .plan import Plan
from .registry import suggest
from .results import CaseResult
from .stats import SUMMARY_COLUMNS

UNITS: Mapping[str, Mapping[str, float]] = {
    "ns": {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9},
    "bytes": {"bytes": 1, "kib": 1024, "mib": 1 << 20},
}
_ENDED = ("outcome", "reason")
_ROW = ("payload_bytes", "provider", "id", *_ENDED)
Cell = Callable[[CaseResult], Any]


def compile_columns(plan: Plan, units: Mapping[str, str]) -> dict[str, Cell]:
    """Return a function per column, in the spec's order. Raises ``SpecError`` with the column's place."""
    columns = plan.spec.columns or _usual(plan, units)
    cells = {}
    for name, path in columns.items():
        try:
            cells[name] = _cell(plan, path.split("."), units)
        except ValueError as error:
            raise plan.document.error(("columns", name), f"bad column '{path}': {error}") from None
    return cells


def _usual(plan: Plan, units: Mapping[str, str]) -> dict[str, str]:
    columns = {axis.upper(): axis for axis in plan.spec.axes} | {"BYTES": "payload_bytes"}
    for step in plan.measured():
        for meter, unit in units.items():
            shown = "ms" if unit == "ns" else "kib"
            columns[f"{step}_{meter.upper()}_{shown.upper()}"] = f"{step}.{meter}.median.{shown}"
    return columns


def _cell(plan: Plan, parts: list[str], units: Mapping[str, str]) -> Cell:
    first = parts[0]
    if first in _ROW and len(parts) == 1:
        return lambda result: getattr(result if first in _ENDED else result.case, first)
    if first in plan.spec.axes:
        field = parts[1] if len(parts) == 2 else "name"
        sample = next(iter(plan.cases)).axes[first]
        if len(parts) > 2 or not hasattr(sample, field):
            raise ValueError(f"an algorithm has no '{'.'.join(parts[1:])}'")
        return lambda result: getattr(result.case.axes[first], field)
    if first not in plan.measured():
        known = [*_ROW, *plan.spec.axes, *plan.measured()]
        raise ValueError(f"'{first}' is no axis and no measured step{suggest(first, known)}")
    return _figure(parts, units)


def _figure(parts: list[str], units: Mapping[str, str]) -> Cell:
    if len(parts) != 4:
        raise ValueError("write it STEP.meter.statistic.unit, as in ENC.wall.median.ms")
    step, meter, stat, unit = parts
    if meter not in units:
        raise ValueError(f"no meter '{meter}' in this spec{suggest(meter, list(units))}")
    if stat not in (*SUMMARY_COLUMNS, "throughput"):
        raise ValueError(f"no statistic '{stat}'{suggest(stat, [*SUMMARY_COLUMNS, 'throughput'])}")
    factors = {"mib_per_s": 1 << 20, "mb_per_s": 1e6} if stat == "throughput" else UNITS[units[meter]]
    if unit not in factors:
        raise ValueError(f"no unit '{unit}' for it{suggest(unit, list(factors))}; known are {', '.join(factors)}")
    factor = factors[unit]

    def cell(result: CaseResult) -> float | None:
        figure = result.figure(step, meter)
        value = None if figure is None else figure.throughput if stat == "throughput" else figure.stats.get(stat)
        return None if value is None else value / factor

    return cell


def decimal(value: float) -> str:
    """Return a number in plain decimals with four significant digits or more, never with an exponent or a locale's mark."""
    if value == int(value) or abs(value) >= 1000:
        return str(round(value))
    digits = 4
    probe = abs(value)
    while probe < 1 and digits < 12:
        probe, digits = probe * 10, digits + 1
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")
