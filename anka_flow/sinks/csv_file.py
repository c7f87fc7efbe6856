"""The spec's columns as CSV: first those that the spec names, then PROVIDER, OUTCOME, REASON, FLAGS."""

from __future__ import annotations

import csv
from typing import Any, TextIO

from anka_flow.columns import Cell, compile_columns, decimal
from anka_flow.results import CaseResult, ResultSink, RunInfo


class CsvSink(ResultSink):
    """``benchmark_<slug>_YYYYMMDD_HHMMSS.csv``; numbers have a point and no thousands mark under any locale."""

    def open(self, run: RunInfo) -> None:
        spec = run.plan.spec
        self.path = run.folder / f"benchmark_{spec.slug or spec.name}_{run.stamp}.csv"
        self.partial = self.path.with_suffix(".partial")
        self.cells: dict[str, Cell] = compile_columns(run.plan, run.units)
        self.file: TextIO = self.partial.open("w", newline="", encoding="utf-8")
        self.writer = csv.writer(self.file, lineterminator="\n")
        self.writer.writerow([*self.cells, *(n for n in ("PROVIDER", "OUTCOME", "REASON", "FLAGS") if n not in self.cells)])

    def write(self, result: CaseResult) -> None:
        row = [_text(cell(result)) for cell in self.cells.values()]
        extra = {"PROVIDER": result.case.provider, "OUTCOME": result.outcome, "REASON": result.reason}
        extra["FLAGS"] = "; ".join(result.flags)
        self.writer.writerow([*row, *(v for n, v in extra.items() if n not in self.cells)])

    def close(self) -> str:
        self.file.close()
        self.partial.replace(self.path)
        return str(self.path)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return decimal(value) if isinstance(value, float) else str(value)


SINK = CsvSink
