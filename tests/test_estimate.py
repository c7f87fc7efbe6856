"""What a plan will take: known costs add up, a compiler's warm-up counts in every round, lanes and cores share the work."""

from __future__ import annotations

import pytest

from anka_flow.estimate import WORKER_START_NS, estimate_ns, remember
from anka_flow.session import Options, plan_spec

from .conftest import SPEC

MS = 1_000_000
SPEC_RUN = ("run.rounds=5", "run.warmup=5", "run.iterations=10")


@pytest.fixture
def plan(workspace, monkeypatch):
    """Return the toy spec's plan of six cases, with a cache of its own."""
    monkeypatch.setenv("ANKA_FLOW_CACHE", str(workspace.root / "cache"))

    def call(*settings: str):
        options = Options((*SPEC_RUN, *settings), operators=(str(workspace.root / "operators"),))
        return plan_spec(workspace.spec(SPEC), options)

    return call


def calibration(plan, *, jit_calls: int = 0):
    """Yield one visit to every case: proving 20 ms, memory 40 ms, timing 30 ms of set-up and 10 ms an iteration."""
    for case in plan.cases:
        yield {"pass": "prove", "case": case.id, "outcome": "ok", "iteration_ns": 11 * MS, "spent_ns": 20 * MS}
        spent = 30 * MS + (jit_calls + 1) * 10 * MS
        yield {
            "pass": "timing", "case": case.id, "outcome": "ok", "iterations": 1, "warmup_calls": jit_calls,
            "reading_ns": 10 * MS, "spent_ns": spent, "steps": {"X": {"readings": {"wall": [5 * MS], "cpu": [5 * MS]}}},
        }  # fmt: skip
        yield {"pass": "memory", "case": case.id, "outcome": "ok", "spent_ns": 40 * MS}


@pytest.mark.parametrize(
    ("settings", "cores", "jit_calls", "expected_ms"),
    [
        ((), 1, 0, 6 * (20 + 40 + 5 * 30 + 15 * 10)),
        ((), 2, 0, 6 * ((20 + 40) / 2 + 5 * 30 + 15 * 10)),
        (("run.lanes=2",), 2, 0, 6 * (20 + 40 + 5 * 30 + 15 * 10) / 2),
        (("run.min_time=1 s",), 1, 0, 6 * (20 + 40 + 5 * 8 * 30 + (5 + 5 * 7 + 1000 / 5) * 10)),
        ((), 1, 100, 6 * (20 + 40 + 5 * (30 + 1000) + 15 * 10)),
    ],
)
def test_costs_add_up(settings, cores: int, jit_calls: int, expected_ms: float, plan) -> None:
    """Fixed costs come once a round, iterations as often as the budget says."""
    remember(plan("run.warmup=0", "run.iterations=1", "run.rounds=1"), "here", calibration(plan(), jit_calls=jit_calls))
    told, unknown = estimate_ns(plan(*settings), "here", memory=True, cores=cores)
    assert unknown == 0
    assert told - 7 * WORKER_START_NS == pytest.approx(expected_ms * MS, rel=0.01)


def test_what_was_never_seen_is_said(plan) -> None:
    """Another machine's figures are none; cases without one are counted and taken as the others."""
    remember(plan(), "there", calibration(plan()))
    assert estimate_ns(plan(), "here", memory=False)[1] == 6
    half = [event for event in calibration(plan()) if event["case"].endswith("1KiB")]
    remember(plan(), "here", half)
    told, unknown = estimate_ns(plan(), "here", memory=False)
    assert unknown == 3
    assert told - 6 * WORKER_START_NS == pytest.approx(6 * (20 + 5 * 30 + 15 * 10) * MS, rel=0.01)
