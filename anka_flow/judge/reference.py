"""The published result tables of a Java product, as data, and what each of their figures is worth.

They are facts of 2026-01-18 from an unknown host: orders of magnitude to compare with, never a ranking or a gate.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from anka_flow.errors import Unfit
from anka_flow.registry import suggest
from anka_flow.units import format_size

from .side import Entry, Key, Side

PREFIX = "reference:"
_FOLDER = Path(__file__).with_name("published")
_TICK_MS = 15.625  # the step of the CPU clock that they were read with
_PUBLISHED_HEADERS = {"REENC": "REENC_MS", "CPU-R": "CPU_REENC_MS", "MEM-R": "REENC_MEM_KIB"}
_FIGURE = re.compile(r"(?P<cpu>CPU_)?(?P<step>[A-Z0-9]+)_(?P<unit>MS|MEM_KIB)")
_NOT_AXES = {"KTY", "BYTES", "STATUS", "REASON"}
_HQC_FALLBACK = ("HQC-192", "HQC-256")
HQC_RAN = "ran HQC-128"

UNKNOWN = "a table without rounds: its ratios are orders of magnitude, without an interval"
HOST = "published 2026-01-18 from an unknown host: read ratios as orders of magnitude"
CPU = "CPU columns step by 15.625 ms: below 16 ms they say nothing, and 26 % of them exceed the wall time"
MEMORY = (
    "MEM is KiB with a dot as thousands mark (561.194 is 548 MiB) and a heap difference, not a peak: "
    "constant memory is not what they show"
)
HQC = "rows of HQC-192 and HQC-256 ran HQC-128"
CONSTRUCTION = "composite rows were recorded on an earlier construction: a random key wrapped twice, or two plain signatures"
NOISE = "equal work at 50 MiB spreads from 417 to 802 ms: the table cannot rank algorithms"


def names() -> list[str]:
    """Return the tables that ship, as ``compare`` takes them after ``reference:``."""
    return sorted(path.stem for path in _FOLDER.glob("*.csv"))


def load_reference(name: str) -> Side:
    """Return a shipped table. Raises ``Unfit`` with the nearest name for an unknown one."""
    if name not in names():
        raise Unfit(f"no reference '{name}'{suggest(name, names())} (there are: {', '.join(names())})")
    return _side(f"{PREFIX}{name}", _FOLDER / f"{name}.csv", published=name)


def load_csv(path: Path) -> Side:
    """Return any table with the published columns: axes, BYTES, OP_MS, CPU_OP_MS, OP_MEM_KIB.

    A copy of a published table is known by its figures and gets that table's warnings.
    """
    figures = [list(row.values()) for row in _rows(path)]
    same = [name for name in names() if [list(row.values()) for row in _rows(_FOLDER / f"{name}.csv")] == figures]
    return _side(str(path), path, published=same[0] if same else "")


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Unfit(f"{path}: cannot be read: {error}") from None
    if any(None in row or None in row.values() for row in rows):
        raise Unfit(f"{path}: a row has not as many fields as the header")
    return rows


def _side(name: str, path: Path, *, published: str) -> Side:
    rows = _rows(path)
    columns = set(rows[0]) if rows else set()
    if "BYTES" not in columns or not any(_figure(column) for column in columns):
        raise Unfit(f"{path}: has no BYTES and OP_MS columns; is it a results table?")
    entries: dict[Key, Entry] = {}
    ended = {}
    for number, row in enumerate(rows, 2):
        try:
            where = _where(row)
            if row.get("STATUS", "OK").upper() != "OK":
                ended[where] = f"failed: {row.get('REASON') or 'no reason was given'}"
            else:
                entries |= _figures(where, row, published=bool(published))
        except ValueError as error:
            raise Unfit(f"{path}:{number}: {error}") from None
    warnings = _warnings(entries, published) if published else [UNKNOWN]
    return Side(name, entries, ended, published=True, warnings=tuple(warnings))


def _where(row: Mapping[str, str]) -> tuple[tuple[tuple[str, str], ...], int]:
    axes = {name.lower(): value for name, value in row.items() if not _figure(name) and name not in _NOT_AXES}
    return tuple(sorted(axes.items())), int(row["BYTES"])


def _figure(column: str) -> re.Match[str] | None:
    return _FIGURE.fullmatch(_PUBLISHED_HEADERS.get(column, column))


def _figures(where: tuple[tuple[tuple[str, str], ...], int], row: Mapping[str, str], *, published: bool) -> dict[Key, Entry]:
    """Return a row's figures in nanoseconds and bytes; those that say nothing are None with the reason."""
    case = "+".join(value for _, value in where[0]) + "/" + format_size(where[1]).replace(" ", "")
    fallback = HQC_RAN if published and any(value in _HQC_FALLBACK for _, value in where[0]) else ""
    found = {}
    for column, text in row.items():
        match = _figure(column)
        if match is None or not text:
            continue
        value = float(text)
        meter = "memory" if match["unit"] == "MEM_KIB" else "cpu" if match["cpu"] else "wall"
        unit, factor = ("bytes", 1024.0) if meter == "memory" else ("ns", 1e6)
        mute = "given as 0" if value == 0 else ""
        if published and meter == "cpu" and value < _TICK_MS:
            mute = "below its clock's step"
        found[Key(*where, match["step"], meter)] = Entry(case, unit, None if mute else value * factor, note=mute or fallback)
    return found


def _warnings(entries: Mapping[Key, Entry], published: str) -> Iterator[str]:
    yield HOST
    yield CPU
    yield MEMORY
    if any(entry.note == HQC_RAN for entry in entries.values()):
        yield HQC
    if any(len(key.axes) > 1 for key in entries):
        yield CONSTRUCTION
    if published == "composite_stream_encrypt":
        yield NOISE
