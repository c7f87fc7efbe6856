"""The console: an aligned table sorted by its key columns, then totals. Numbers never carry a thousands mark."""

from __future__ import annotations

from collections import Counter
from typing import Any

from anka_flow.columns import Cell, compile_columns, decimal
from anka_flow.results import CaseResult, ResultSink, RunInfo
from anka_flow.units import format_ns


class TableSink(ResultSink):
    """Prints when the run is over; rows that did not run show their outcome, and why, below the table."""

    def open(self, run: RunInfo) -> None:
        self.run = run
        self.cells: dict[str, Cell] = compile_columns(run.plan, run.units)
        self.results: list[CaseResult] = []

    def write(self, result: CaseResult) -> None:
        self.results.append(result)

    def close(self) -> None:
        from rich.console import Console
        from rich.table import Table

        table = Table(title=self.run.plan.spec.title or self.run.plan.spec.name, title_justify="left")
        keys = len(self.run.plan.spec.axes) + 1
        for i, name in enumerate(self.cells):
            table.add_column(name, justify="left" if i < keys else "right", no_wrap=True)
        table.add_column("PROVIDER", no_wrap=True)
        table.add_column("OUTCOME", no_wrap=True)
        for result in sorted(self.results, key=lambda r: ([a.name for a in r.case.axes.values()], r.case.payload_bytes)):
            row = [_shown(cell(result)) for cell in self.cells.values()]
            table.add_row(*row, result.case.provider, result.outcome)
        needed = Console(width=1000).measure(table).maximum
        console = Console(highlight=False, width=max(needed, 80), soft_wrap=True)  # a cut number is a wrong number
        console.print(table)
        if self.run.plan.spec.providers:
            self._ratios()
        for line in self.totals():
            console.print(line, markup=False)

    def _ratios(self) -> None:
        """Print, per algorithm and payload, how much longer each provider takes than the quickest."""
        from rich.console import Console
        from rich.table import Table

        names = list(self.run.plan.spec.providers or ())
        for step in self.run.plan.measured():
            rows: dict[tuple[str, int], dict[str, float]] = {}
            for result in self.results:
                figure = result.figure(step, "wall")
                if figure and figure.stats:
                    key = ("+".join(a.name for a in result.case.axes.values()), result.case.payload_bytes)
                    rows.setdefault(key, {})[result.case.provider] = figure.stats["median"]
            table = Table(title=f"{step}: times the quickest library's", title_justify="left")
            for i, name in enumerate(["algorithm", "BYTES", *names]):
                table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
            for (label, size), found in rows.items():
                best = min(found.values())
                table.add_row(label, str(size), *(f"{found[n] / best:.2f}" if n in found else "" for n in names))
            Console(highlight=False, width=160).print(table)

    def totals(self) -> list[str]:
        """Return the lines below the table: counts, octets, time per operation, and what did not run and why."""
        counts = Counter(r.outcome for r in self.results)
        ran = [r for r in self.results if r.outcome == "ok"]
        readings = sum(len(r.measurements) for r in self.results)
        octets = sum(r.case.payload_bytes for r in ran)
        others = ", ".join(f"{n} {name}" for name, n in sorted(counts.items()) if name != "ok")
        lines = [f"{len(self.results)} cases: {counts['ok']} ok" + (f", {others}" if others else "")]
        lines.append(f"{readings} readings, {octets} payload octets in the cases that ran")
        for step in self.run.plan.measured():
            lines += self._step(step, ran)
        reasons = Counter((r.outcome, r.reason) for r in self.results if r.outcome != "ok")
        lines += [f"{outcome} ({n} rows): {reason}" for (outcome, reason), n in reasons.most_common()]
        return lines

    def _step(self, step: str, ran: list[CaseResult]) -> list[str]:
        from statistics import median

        values = [m.value for r in ran for m in r.measurements if (m.step, m.meter) == (step, "wall") and m.value]
        return [f"{step}: {format_ns(sum(values))} in all, {format_ns(median(values))} median"] if values else []


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return decimal(value) if isinstance(value, float) else str(value)


SINK = TableSink
