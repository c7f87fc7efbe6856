"""One side of a comparison: a run's folder or a published table, as rows by what they measured. Nothing here judges.

Reads ``measurements.parquet``, ``summary.parquet`` and ``run.json`` of a run; published tables come from ``reference``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from anka_flow.errors import Unfit

from .pacing import at_pace

SUMMARY, MEASUREMENTS, RUN = "summary.parquet", "measurements.parquet", "run.json"


@dataclass(frozen=True, order=True)
class Key:
    """What must agree for two figures to be of one thing; ``provider`` is empty where a side does not tell."""

    axes: tuple[tuple[str, str], ...]
    payload_bytes: int
    step: str
    meter: str
    provider: str = ""

    def without_provider(self) -> Key:
        return Key(self.axes, self.payload_bytes, self.step, self.meter)


@dataclass(frozen=True)
class Entry:
    """A figure in the meter's unit. ``rounds`` maps round to its median, empty where there was but a summary; ``note`` warns.

    ``median`` is None where the figure cannot be used: ``note`` says why.
    """

    case: str
    unit: str
    median: float | None
    rounds: Mapping[int, float] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Side:
    """All figures of one side. ``ended`` tells of cases without figures; ``environment`` is empty for a published table.

    ``lanes`` is how many cases were timed at once.
    """

    name: str
    entries: Mapping[Key, Entry]
    ended: Mapping[tuple[tuple[tuple[str, str], ...], int], str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    lanes: int = 1
    published: bool = False
    warnings: tuple[str, ...] = ()


def load_run(folder: Path) -> Side:
    """Return a finished run. Raises ``Unfit`` naming the file that is missing or cannot be read."""
    run = _json(folder / RUN)
    summary = _rows(folder / SUMMARY)
    medians = _round_medians(folder / MEASUREMENTS)
    axes = sorted(run.get("spec", {}).get("axes", {}))
    entries: dict[Key, Entry] = {}
    ended = {}
    for row in summary:
        where = (tuple((name, str(row[name])) for name in axes), int(row["payload_bytes"]))
        if row["outcome"] != "ok" or row["step"] is None:
            ended[where] = f"{row['outcome']}: {row['reason']}" if row["reason"] else str(row["outcome"])
            continue
        key = Key(*where, str(row["step"]), str(row["meter"]), str(row["provider"] or ""))
        rounds = medians.get((row["case"], row["step"], row["meter"]), {})
        note = "" if row["median"] is not None else _why_none(row)
        entries[key] = Entry(str(row["case"]), str(row["unit"]), row["median"], rounds, note)
    lanes = run.get("spec", {}).get("run", {}).get("lanes", 1)
    return Side(str(folder), entries, ended, run.get("environment", {}), run.get("versions", {}), lanes)


def _why_none(row: Mapping[str, Any]) -> str:
    flags = [flag.split(": ", 1)[1] for flag in row["flags"] or () if flag.startswith(f"{row['step']}.{row['meter']}: ")]
    others = [flag for flag in row["flags"] or () if flag.startswith(f"{row['meter']}_unavailable")]
    return ", ".join(flags or others) or "the run holds no figure"


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(found, dict):
        raise Unfit(f"{path}: is not the record of a run")
    return found


def _rows(path: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        known = set(pq.read_schema(path).names)
        table = pq.read_table(path, columns=columns and [name for name in columns if name in known])
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None
    return rows


def _unreadable(path: Path, error: Exception) -> Unfit:
    if isinstance(error, FileNotFoundError):
        return Unfit(f"{path}: is missing; is the run finished? anka-flow run --resume {path.parent} goes on with it")
    return Unfit(f"{path}: cannot be read: {str(error).splitlines()[0]}")


def _round_medians(path: Path) -> dict[tuple[str, str, str], dict[int, float]]:
    """Return round medians by case, step and meter, times at the run's median pace.

    Runs from before there was ``pace_ns`` stay as they are. A disturbed round counts only where its repetition is missing.
    """
    from statistics import median

    rounds: dict[tuple[str, str, str], dict[int, dict[bool, list[tuple[float, int | None]]]]] = {}
    paces = []
    for row in _rows(path, ["case", "step", "meter", "round", "value", "tainted", "pace_ns"]):
        if row["value"] is not None and row["value"] > 0:
            numbers = rounds.setdefault((row["case"], row["step"], row["meter"]), {})
            pace = row.get("pace_ns")
            numbers.setdefault(abs(row["round"]), {}).setdefault(bool(row["tainted"]), []).append((row["value"], pace))
            if pace:
                paces.append(pace)
    pace = median(paces) if paces else None
    return {key: _medians({n: kept.get(False) or kept[True] for n, kept in sorted(numbers.items())}, pace)
            for key, numbers in rounds.items()}  # fmt: skip


def _medians(rounds: Mapping[int, list[tuple[float, int | None]]], pace: float | None) -> dict[int, float]:
    from statistics import median

    readings = [reading for readings in rounds.values() for reading in readings]
    values = [value for value, _ in readings]
    paces = [beside for _, beside in readings if beside]
    if pace and len(paces) == len(values):
        values = at_pace(values, paces, pace)
    left = iter(values)
    return {number: median(islice(left, len(readings))) for number, readings in rounds.items()}
