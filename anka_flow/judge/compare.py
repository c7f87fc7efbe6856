"""Two sides held against each other: ratio, interval and verdict of every row both have, the common shift, the gate.

Ratios are always B over A: above 1, B is slower or larger. Reading the sides is left to ``side`` and ``reference``, the
statistics to ``verdict``, showing to ``rendering``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from anka_flow.environment import build_differences, machine_differences
from anka_flow.errors import SpecError, Unfit
from anka_flow.units import format_size

from .reference import PREFIX, load_csv, load_reference
from .side import Entry, Key, Side, load_run
from .verdict import FALSE_DISCOVERY_RATE, THRESHOLD, Shift, verdicts

PEAK_METERS = {"memory", "peak_bytes"}
PEAK_GRAIN_BYTES = 512 << 10  # the kernel counts a process's pages in per-CPU batches and tells them this coarsely
_SCATTER = (
    "rows of {meter} moved {scatter:.1%} further apart than their rounds explain: the machine changed between the runs, or "
    "most rows did; intervals are widened by that, --absolute judges without"
)
_ALIASES = {"peak_bytes": "memory"}
_GATE = re.compile(r"(?:(?P<step>[\w-]+)\.)?(?P<meter>\w+)\s*:\s*\+?(?P<limit>\d+(?:\.\d+)?)\s*(?P<percent>%?)")

Pair: TypeAlias = tuple[Key, Entry, Entry]


@dataclass(frozen=True)
class Row:
    """One figure of both sides. ``ratio`` is B / A as judged: the common shift out, unless ``absolute``.

    ``verdict``: faster, slower, same or unclear for times; smaller, larger or same for sizes; always unclear against a
    published table, where ``order`` is the power of ten. ``ratio``, ``low`` and ``high`` are None where there is none:
    ``note`` says why.
    """

    case: str
    step: str
    meter: str
    unit: str
    a: float | None
    b: float | None
    verdict: str = "unclear"
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    raw_ratio: float | None = None
    p: float | None = None
    order: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Gate:
    """What ``--fail-on`` forbids: growth above ``limit`` (0.05 is 5 %) of a meter, of one step or of all."""

    text: str
    meter: str
    limit: float
    step: str = ""

    def covers(self, step: str, meter: str) -> bool:
        return meter == self.meter and self.step in ("", step)


@dataclass(frozen=True)
class Violation:
    """One thing that ``--fail-on`` forbids, in words; ``row`` is None where it concerns no single row."""

    message: str
    row: Row | None = None

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Comparison:
    """What ``compare`` found. The caller ends with ``Regression`` if there are ``violations``."""

    a: str
    b: str
    rows: tuple[Row, ...]
    shifts: Mapping[str, Shift]
    threshold: float
    absolute: bool
    warnings: tuple[str, ...]
    missing: tuple[str, ...]
    violations: tuple[Violation, ...]

    def counts(self) -> dict[str, int]:
        """Return how many rows each verdict has, the commonest word first."""
        words = [row.verdict for row in self.rows]
        return {word: words.count(word) for word in sorted(set(words), key=lambda w: (-words.count(w), w))}


def compare(
    a: str,
    b: str,
    *,
    fail_on: Sequence[str] = (),
    absolute: bool = False,
    threshold: float = THRESHOLD,
    force: bool = False,
) -> Comparison:
    """Hold run, reference (``reference:resign``) or CSV ``b`` against ``a``.

    Raises ``Unfit`` where a side cannot be read, nothing matches, or machine or build differ and ``force`` is not given;
    ``SpecError`` for a ``fail_on`` that cannot be read.
    """
    gates = [parse_gate(text) for entry in fail_on for text in entry.split(",")]
    sides = load(a), load(b)
    warnings = [warning for side in sides for warning in side.warnings] + _check_machines(*sides, gates, force=force)
    pairs, missing, notes = _match(*sides)
    if not pairs:
        raise Unfit(f"{a} and {b} have no row in common")
    warnings += notes
    if any(side.published for side in sides):
        rows, shifts = [_by_order(pair) for pair in pairs], dict[str, Shift]()
    else:
        rows, shifts, scattered = _judge(pairs, threshold, absolute=absolute)
        warnings += scattered
    violations = _violations(gates, rows, shifts, _ended(*sides), absolute=absolute)
    warnings += _undecided(gates, rows)
    return Comparison(a, b, tuple(rows), shifts, threshold, absolute, tuple(warnings), tuple(missing), tuple(violations))


def load(name: str) -> Side:
    """Return the side that ``name`` means: a reference, a run's folder or a CSV file."""
    if name.startswith(PREFIX):
        return load_reference(name.removeprefix(PREFIX))
    path = Path(name)
    if path.is_dir():
        return load_run(path)
    if path.is_file():
        return load_csv(path)
    raise Unfit(f"{name}: is neither a run's folder, a CSV file nor reference:NAME")


def parse_gate(text: str) -> Gate:
    """Read ``wall:+5%``, ``RESIGN.cpu:+10%``, ``peak_bytes:+0``. Raises ``SpecError``."""
    match = _GATE.fullmatch(text.strip())
    if match is None or not (match["percent"] or float(match["limit"]) == 0):
        raise SpecError(f"--fail-on '{text}': write a meter and a percentage, as in wall:+5%, RESIGN.cpu:+10%, peak_bytes:+0")
    meter = _ALIASES.get(match["meter"], match["meter"])
    return Gate(text.strip(), meter, float(match["limit"]) / 100, match["step"] or "")


def _check_machines(a: Side, b: Side, gates: Sequence[Gate], *, force: bool) -> list[str]:
    """Return what differs between the sides, or refuse it."""
    timed = [gate for gate in gates if gate.meter not in PEAK_METERS]
    if a.published or b.published:
        if gates:
            raise Unfit("a published table cannot be gated: its figures are orders of magnitude")
        return []
    machines = machine_differences(a.environment, b.environment)
    builds = build_differences(a.environment, b.environment) + _version_differences(a.versions, b.versions)
    if machines and timed:
        raise Unfit(f"time is gated only between runs of one machine; {'; '.join(machines)}")
    loads = [f"run.lanes {a.lanes} and {b.lanes}"] if a.lanes != b.lanes else []
    found = {"machines": machines, "builds": builds, "loads": loads}
    if (machines or builds or loads) and not force:
        what = next(what for what, each in found.items() if each)
        told = "; ".join(machines + builds + loads)
        raise Unfit(f"the runs are of different {what}: {told}; --force compares them all the same")
    return [f"different {what}: {each}" for what, differences in found.items() for each in differences]


def _version_differences(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    return [f"{name} {a[name]} and {b[name]}" for name in sorted(a.keys() & b.keys()) if a[name] != b[name]]


# -- matching ---------------------------------------------------------------------------------------------------------------


def _match(a: Side, b: Side) -> tuple[list[Pair], list[str], list[str]]:
    """Return the pairs in A's order, sentences on rows that only one side has, and notes on how they were matched."""
    left, right = _projected(a, b), _projected(b, a)
    matched = _published(left, right) if a.published or b.published else {key: key for key in left if key in right}
    rest = _unique(right.keys() - set(matched.values()))
    changed = {key: rest[bare] for bare, key in _unique(left.keys() - matched.keys()).items() if bare in rest}
    matched |= changed
    pairs = [(ka, left[ka], _noted(right[matched[ka]], ka, matched[ka])) for ka in left if ka in matched]
    if a.published:  # several providers of a run may stand against one published row
        pairs = [(kb, left[kb.without_provider()], right[kb]) for kb in right if kb.without_provider() in left]
    swapped = sorted({f"{ka.provider} and {kb.provider}" for ka, kb in changed.items() if ka.provider and kb.provider})
    notes = [f"matched across providers: {each}" for each in swapped]
    return pairs, _missing((a, left), (b, right), {key.without_provider() for key, _, _ in pairs}), notes


def _published(left: Mapping[Key, Entry], right: Mapping[Key, Entry]) -> dict[Key, Key]:
    return {key: key.without_provider() for key in left if key.without_provider() in right}


def _missing(a: tuple[Side, Mapping[Key, Entry]], b: tuple[Side, Mapping[Key, Entry]], seen: set[Key]) -> list[str]:
    lost = [
        f"only in {side.name}: {case}"
        for side, entries in (a, b)
        for case in dict.fromkeys(entry.case for key, entry in entries.items() if key.without_provider() not in seen)
    ]
    return lost + [f"{_label(*where)}: {side.name} ended {how}" for side, _ in (a, b) for where, how in side.ended.items()]


def _label(axes: tuple[tuple[str, str], ...], payload_bytes: int) -> str:
    return "+".join(value for _, value in axes) + "/" + format_size(payload_bytes).replace(" ", "")


def _projected(side: Side, other: Side) -> dict[Key, Entry]:
    """Return the entries with only the axes that the other side has too: a CSV may hold more columns than axes."""
    if not (side.published or other.published):
        return dict(side.entries)
    known = {name for key in other.entries for name, _ in key.axes}
    return {replace(key, axes=tuple(x for x in key.axes if x[0] in known)): entry for key, entry in side.entries.items()}


def _unique(keys: Iterable[Key]) -> dict[Key, Key]:
    """Return keys by themselves without provider, where that leaves them unique."""
    found: dict[Key, list[Key]] = {}
    for key in keys:
        found.setdefault(key.without_provider(), []).append(key)
    return {bare: each[0] for bare, each in found.items() if len(each) == 1}


def _noted(entry: Entry, ours: Key, theirs: Key) -> Entry:
    if not (ours.provider and theirs.provider) or ours.provider == theirs.provider:
        return entry
    return replace(entry, note="; ".join(filter(None, (entry.note, f"{ours.provider} against {theirs.provider}"))))


def _ended(a: Side, b: Side) -> list[str]:
    """Return sentences on the cases that A measured and B tried without success."""
    measured = {(key.axes, key.payload_bytes) for key in a.entries}
    lost = {where: how for where, how in b.ended.items() if where in measured and how.startswith(("failed", "timeout"))}
    return [f"{_label(*where)}: has no figures any more: {how}" for where, how in lost.items()]


# -- judging ----------------------------------------------------------------------------------------------------------------


def _row(pair: Pair) -> Row:
    key, a, b = pair
    case = a.case if "/" in a.case else b.case
    notes = "; ".join(dict.fromkeys(filter(None, (a.note, b.note))))
    return Row(case, key.step, key.meter, a.unit, a.median, b.median, note=notes)


def _by_order(pair: Pair) -> Row:
    from math import log10

    row = _row(pair)
    if not row.a or not row.b:
        return row
    ratio = row.b / row.a
    return replace(row, ratio=ratio, raw_ratio=ratio, order=round(log10(ratio)))


def _judge(pairs: Sequence[Pair], threshold: float, *, absolute: bool) -> tuple[list[Row], dict[str, Shift], list[str]]:
    """Judge meter by meter: spreads of one meter compare, and what moves its rows alike is its common shift."""
    warnings: list[str] = []
    judged: dict[Key, Row] = {}
    shifts: dict[str, Shift] = {}
    for meter in dict.fromkeys(key.meter for key, _, _ in pairs):
        group = [pair for pair in pairs if pair[0].meter == meter]
        if group[0][1].unit != "ns":
            judged |= {pair[0]: _sized(pair, threshold) for pair in group}
            continue
        timed = [pair for pair in group if pair[1].rounds and pair[2].rounds]
        judged |= {pair[0]: _row(pair) for pair in group}
        found = verdicts(
            [_in_order(a) for _, a, _ in timed], [_in_order(b) for _, _, b in timed], threshold=threshold, absolute=absolute
        )
        for pair, v in zip(timed, found.rows, strict=True):
            judged[pair[0]] = replace(
                _row(pair), verdict=v.verdict, ratio=v.ratio, low=v.low, high=v.high, raw_ratio=v.raw_ratio, p=v.p
            )
        if found.shift is not None:
            shifts[meter] = found.shift
        if found.scatter > 0:
            warnings.append(_SCATTER.format(meter=meter, scatter=found.scatter))
    return [judged[key] for key, _, _ in pairs], shifts, warnings


def _in_order(entry: Entry) -> list[float]:
    """Return round medians by round number, NaN for a round that is missing."""
    return [entry.rounds.get(number, float("nan")) for number in range(1, max(entry.rounds) + 1)]


def _sized(pair: Pair, threshold: float) -> Row:
    """Sizes are compared exactly; a peak of memory is same within the threshold or the grain that the kernel tells it in."""
    row = _row(pair)
    if row.a is None or row.b is None:
        return row
    equal = row.a == row.b
    if row.meter in PEAK_METERS:
        equal = abs(row.b - row.a) <= max(PEAK_GRAIN_BYTES, threshold * row.a)
    ratio = row.b / row.a if row.a else None
    return replace(row, verdict="same" if equal else "larger" if row.b > row.a else "smaller", ratio=ratio, raw_ratio=ratio)


# -- the gate ---------------------------------------------------------------------------------------------------------------


def _violations(
    gates: Sequence[Gate], rows: Sequence[Row], shifts: Mapping[str, Shift], ended: Sequence[str], *, absolute: bool
) -> list[Violation]:
    found = [
        Violation(f"{gate.text}: {row.case} {row.step} {row.meter} {_growth(row)}", row)
        for gate in gates
        for row in rows
        if _breaks(row, gate)
    ]
    for gate in gates:
        shift = shifts.get(gate.meter)
        if shift and not absolute and shift.low is not None and shift.low > 1 and shift.ratio > 1 + gate.limit:
            found.append(Violation(f"{gate.text}: all rows of {gate.meter} together {percent(shift.ratio)}"))
    return found + [Violation(text) for text in ended if gates]


def _breaks(row: Row, gate: Gate) -> bool:
    if not gate.covers(row.step, row.meter) or row.a is None or row.b is None:
        return False
    if row.unit != "ns":
        return row.b > row.a * (1 + gate.limit)
    shown = row.p is not None and row.p < FALSE_DISCOVERY_RATE
    return shown and row.ratio is not None and row.ratio > 1 + gate.limit


def _growth(row: Row) -> str:
    if row.ratio is None:
        return f"from {row.a:g} to {row.b:g} {row.unit}"
    return percent(row.ratio) + (f" ({percent(row.low)} to {percent(row.high)})" if row.low and row.high else "")


def percent(ratio: float) -> str:
    """Return a ratio as the change that it is: 1.05 is ``+5.0 %``."""
    return f"{(ratio - 1) * 100:+.1f} %"


def _undecided(gates: Sequence[Gate], rows: Sequence[Row]) -> list[str]:
    """Name what the gate could not judge: silence must not pass for health. Raises ``SpecError`` for a gate on nothing."""
    for gate in gates:
        if not any(gate.covers(row.step, row.meter) for row in rows):
            known = ", ".join(sorted({f"{row.step}.{row.meter}" for row in rows}))
            raise SpecError(f"--fail-on {gate.text}: no row has that meter (there are: {known})")
    blind = [row for row in rows if row.unit == "ns" and row.p is None and any(g.covers(row.step, row.meter) for g in gates)]
    if not blind:
        return []
    return [f"{len(blind)} gated rows cannot be judged: two rounds on one side at least are needed, five are better"]
