"""A comparison as a table for people, Markdown, JSON or JUnit XML. Nothing here judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict

from anka_flow.errors import SpecError
from anka_flow.registry import suggest
from anka_flow.units import format_ns

from .compare import Comparison, Row, percent
from .verdict import Shift

_LOUDEST_FIRST = ("slower", "larger", "faster", "smaller", "unclear", "same")
_MOST_MISSING = 20
_HEADINGS = ("case", "step", "meter", "A", "B", "B / A", "95 % interval", "verdict", "note")


def render(comparison: Comparison, format: str = "table") -> str:  # noqa: A002  # the option's own name
    """Return the comparison as ``table``, ``md``, ``json`` or ``junit``. Raises ``SpecError`` for another word."""
    try:
        write = _FORMATS[format]
    except KeyError:
        raise SpecError(f"unknown format '{format}'{suggest(format, list(_FORMATS))} (table, md, json, junit)") from None
    return write(comparison)


def _table(comparison: Comparison) -> str:
    import io
    import shutil

    from rich.console import Console
    from rich.table import Table

    table = Table(*_HEADINGS, title=f"A = {comparison.a}   B = {comparison.b}", title_justify="left")
    for column in table.columns[3:7]:
        column.justify, column.no_wrap = "right", True
    for row in sorted(comparison.rows, key=lambda row: _LOUDEST_FIRST.index(row.verdict)):
        table.add_row(*_cells(row))
    console = Console(file=io.StringIO(), width=max(120, shutil.get_terminal_size().columns), markup=False, highlight=False)
    console.print(table)
    for line in _words(comparison):
        console.print(line, soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _markdown(comparison: Comparison) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    rules = "|---|---|---|--:|--:|--:|--:|---|---|"
    rows = [line(_cells(row)) for row in comparison.rows]
    words = [f"* {each}" for each in _words(comparison)]
    return "\n".join([f"A = `{comparison.a}`, B = `{comparison.b}`", "", line(_HEADINGS), rules, *rows, "", *words, ""])


def _json(comparison: Comparison) -> str:
    """A list of rows; what concerns all rows alike (the common shift of the row's meter) stands in each."""
    import json

    shifts = {meter: asdict(shift) for meter, shift in comparison.shifts.items()}
    rows = [asdict(row) | {"shift": shifts.get(row.meter)} for row in comparison.rows]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def _junit(comparison: Comparison) -> str:
    """One test case per row; it fails if the gate forbids it. What concerns no single row fails a case of its own."""
    import xml.etree.ElementTree as ET

    suite = ET.Element("testsuite", name=f"compare {comparison.a} {comparison.b}")
    for row in comparison.rows:
        case = ET.SubElement(suite, "testcase", classname=f"{row.step}.{row.meter}", name=row.case)
        for violation in comparison.violations:
            if violation.row == row:
                ET.SubElement(case, "failure", message=violation.message)
        ET.SubElement(case, "system-out").text = "  ".join(_cells(row))
    for violation in comparison.violations:
        if violation.row is None:
            case = ET.SubElement(suite, "testcase", classname="all", name=violation.message)
            ET.SubElement(case, "failure", message=violation.message)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}" if row.order is not None else f"{row.ratio:.4f}"
    bounds = "" if row.low is None or row.high is None else f"{row.low:.4f} .. {row.high:.4f}"
    verdict = row.verdict if row.order is None else _order(row.order)
    return (row.case, row.step, row.meter, _figure(row.a, row.unit), _figure(row.b, row.unit), ratio, bounds, verdict, row.note)


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return format_ns(value) if unit == "ns" else f"{value / 1024:.1f} KiB"


def _order(order: int) -> str:
    return "same order" if order == 0 else f"10^{order:+d}"


def _words(comparison: Comparison) -> list[str]:
    """Return what concerns all rows: counts, the common shift, warnings, what is missing, what the gate forbids."""
    counts = ", ".join(f"{number} {word}" for word, number in comparison.counts().items())
    words = [f"{len(comparison.rows)} rows: {counts}"]
    if not any(row.order is not None for row in comparison.rows):
        words[0] += f" (same: within {comparison.threshold:.3g} of the ratio 1; above 1, B is slower or larger)"
    words += [_shift(meter, shift, absolute=comparison.absolute) for meter, shift in comparison.shifts.items()]
    words += [f"note: {each}" for each in comparison.warnings]
    words += [f"missing: {each}" for each in comparison.missing[:_MOST_MISSING]]
    if (more := len(comparison.missing) - _MOST_MISSING) > 0:
        words.append(f"missing: and {more} more")
    return words + [f"forbidden: {each}" for each in comparison.violations]


def _shift(meter: str, shift: Shift, *, absolute: bool) -> str:
    bounds = "one round a side gives it no interval"
    if shift.low is not None and shift.high is not None:
        bounds = f"{percent(shift.low)} to {percent(shift.high)}"
    judged = "rows are judged as they are" if absolute else "rows are judged against it"
    return f"common shift of {meter}: {percent(shift.ratio)} ({bounds}); {judged}"


_FORMATS: Mapping[str, Callable[[Comparison], str]] = {"table": _table, "md": _markdown, "json": _json, "junit": _junit}
