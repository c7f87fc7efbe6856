"""What a run found: readings, rows with their outcome, and the shape of a sink. Nothing here writes a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plan import Case, Plan

OUTCOMES = ("ok", "skipped", "unsupported", "failed", "timeout")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One reading: ``reading`` is the raw difference, ``value`` what one operation took, null where it cannot be told.

    ``pace_ns`` is what a fixed computation took beside a timed reading.
    """

    step: str
    meter: str
    round: int
    iteration: int
    inner_loops: int
    reading: int
    value: float | None
    tainted: bool = False
    pace_ns: int | None = None


@dataclass(frozen=True)
class Figure:
    """The summary of one step and meter of a case; ``stats`` is empty where nothing could be measured."""

    step: str
    meter: str
    unit: str
    inner_loops: int
    stats: Mapping[str, Any]
    throughput: float | None = None


@dataclass(frozen=True)
class CaseResult:
    """One planned case as it ended: exactly one of these per case."""

    case: Case
    outcome: str
    reason: str = ""
    flags: tuple[str, ...] = ()
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    proofs: Mapping[str, str] = field(default_factory=dict)
    measurements: Sequence[Measurement] = ()
    figures: Sequence[Figure] = ()
    warmup_calls: int | None = None
    verify_failures: int = 0

    def figure(self, step: str, meter: str) -> Figure | None:
        return next((f for f in self.figures if (f.step, f.meter) == (step, meter)), None)


@dataclass(frozen=True)
class RunInfo:
    """What sinks may want to know of a run before its first row."""

    plan: Plan
    folder: Path
    stamp: str
    units: Mapping[str, str]
    versions: Mapping[str, str]
    environment: Mapping[str, Any]


class ResultSink(ABC):
    """Writes results somewhere. ``open`` creates its output now, so that a full or read-only disk shows before the run."""

    @abstractmethod
    def open(self, run: RunInfo) -> None: ...

    @abstractmethod
    def write(self, result: CaseResult) -> None: ...

    @abstractmethod
    def close(self) -> str | None:
        """Finish, and return a line for the person at the console, if there is one to say."""
