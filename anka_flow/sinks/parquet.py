"""``measurements.parquet`` (one reading a row) and ``summary.parquet`` (one row per case, step and meter).

Both carry the types even where every row failed. Columns and units: docs/results.md.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anka_flow.results import CaseResult, Figure, ResultSink, RunInfo

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = "1"
_COUNTS = ("count", "rounds", "outliers_low_severe", "outliers_low_mild", "outliers_high_mild", "outliers_high_severe")
_STATS = ("median", "mean", "mad", "min", "p90", "p99", "low", "high")


class ParquetSink(ResultSink):
    """Columns are gathered in memory (some hundred octets a reading) and written by atomic rename at the end."""

    def open(self, run: RunInfo) -> None:
        self.run = run
        self.axes = list(run.plan.spec.axes)
        self.readings: dict[str, list[Any]] = {name: [] for name, _ in self._reading_fields()}
        self.summary: dict[str, list[Any]] = {name: [] for name, _ in self._summary_fields()}

    def write(self, result: CaseResult) -> None:
        case = self._case(result)
        for m in result.measurements:
            unit = self.run.units.get(m.meter, "")
            self._add(self.readings, case | {
                "spec": self.run.plan.spec.name, "step": m.step, "meter": m.meter, "unit": unit,
                "pass": "memory" if unit == "bytes" else "timing", "round": m.round, "iteration": m.iteration,
                "inner_loops": m.inner_loops, "reading": m.reading, "value": m.value, "tainted": m.tainted,
                "pace_ns": m.pace_ns,
            })  # fmt: skip
        whole = case | {
            "outcome": result.outcome, "reason": result.reason, "flags": list(result.flags),
            "provider_version": self._versions(result), "facts": json.dumps(result.facts, sort_keys=True),
            "known_answer": "; ".join(f"{k}: {v}" for k, v in sorted(result.proofs.items())),
            "warmup_calls": result.warmup_calls, "verify_failures": result.verify_failures,
        }  # fmt: skip
        figures: list[Figure | None] = [*result.figures] or [None]
        for figure in figures:
            self._add(self.summary, whole | (_figure(figure) if figure else {}))

    def close(self) -> None:
        self._store("measurements.parquet", self.readings, self._reading_fields())
        self._store("summary.parquet", self.summary, self._summary_fields())

    def _case(self, result: CaseResult) -> dict[str, Any]:
        case = result.case
        names = {axis: case.axes[axis].name for axis in self.axes}
        return {"case": case.id, "provider": case.provider, "payload_bytes": case.payload_bytes, **names}

    def _versions(self, result: CaseResult) -> str:
        names = dict.fromkeys(result.case.providers.values())
        return "; ".join(self.run.versions[n] for n in names if n in self.run.versions)

    @staticmethod
    def _add(columns: dict[str, list[Any]], row: dict[str, Any]) -> None:
        for name, values in columns.items():
            values.append(row.get(name))

    def _reading_fields(self) -> list[tuple[str, str]]:
        axes = [(axis, "string") for axis in self.axes]
        return [
            ("spec", "string"), ("case", "string"), *axes, ("provider", "string"), ("payload_bytes", "int64"),
            ("step", "string"), ("meter", "string"), ("unit", "string"), ("pass", "string"), ("round", "int32"),
            ("iteration", "int32"), ("inner_loops", "int32"), ("reading", "int64"), ("value", "float64"), ("tainted", "bool"),
            ("pace_ns", "int64"),
        ]  # fmt: skip

    def _summary_fields(self) -> list[tuple[str, str]]:
        axes = [(axis, "string") for axis in self.axes]
        return [
            ("case", "string"), ("outcome", "string"), ("reason", "string"), ("flags", "strings"), ("provider", "string"),
            ("provider_version", "string"), ("payload_bytes", "int64"), *axes, ("step", "string"), ("meter", "string"),
            ("unit", "string"), ("inner_loops", "int32"), *((n, "int32") for n in _COUNTS), *((n, "float64") for n in _STATS),
            ("throughput", "float64"), ("warmup_calls", "int32"), ("verify_failures", "int32"),
            ("known_answer", "string"), ("facts", "string"),
        ]  # fmt: skip

    def _store(self, name: str, columns: dict[str, list[Any]], fields: list[tuple[str, str]]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        metadata = {"anka_flow_schema": SCHEMA_VERSION, "anka_flow_spec": self.run.plan.spec.name}
        schema = pa.schema([(field, _type(pa, kind)) for field, kind in fields], metadata)
        path: Path = self.run.folder / name
        partial = path.with_suffix(".partial")
        pq.write_table(pa.table(columns, schema=schema), partial)
        partial.replace(path)


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "step": figure.step, "meter": figure.meter, "unit": figure.unit, "inner_loops": figure.inner_loops,
        "throughput": figure.throughput, **figure.stats,
    }  # fmt: skip


def _type(pa: Any, kind: str) -> pa.DataType:
    return pa.list_(pa.string()) if kind == "strings" else getattr(pa, {"bool": "bool_"}.get(kind, kind))()


SINK = ParquetSink
