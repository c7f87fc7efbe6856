"""The self-test passes here with simulated noise, and fails where it should."""

from __future__ import annotations

import numpy as np
import pytest

from anka_flow.judge import selftest
from anka_flow.judge.selftest import NAMES, Check, Dealer, Report, Simulator


def noisy(noise: float, processes: int = 30) -> Dealer:
    """Return a dealer whose every process has its own speed, and every reading this noise besides."""
    rng = np.random.default_rng(1)
    logs = rng.normal(0, 0.02, processes) + rng.standard_t(4, (NAMES, processes)) / 2**0.5 * noise
    return Dealer(1000 * np.exp(logs), rng)


def test_a_real_round_reads_every_name() -> None:
    """A fresh process returns forty positive medians."""
    medians = selftest.measure_round(0)
    assert len(medians) == NAMES
    assert min(medians) > 0


@pytest.mark.parametrize("noise", [0.003, 0.05])
def test_checks_pass_on_calm_and_on_restless_machines(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy-tailed noise of 0.3 % and of 5 % (scaled to 1 % where power is asked for) passes all checks."""
    monkeypatch.setattr(selftest, "_TABLES", 60)
    checks = list(selftest._on_machine(noisy(noise)))
    assert [str(check) for check in checks if not check.ok] == []
    assert any("scaled" in check.name for check in checks) == (noise > 0.01)


def test_simulated_checks_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method itself passes on noise whose truth is known."""
    monkeypatch.setattr(selftest, "_TABLES", 100)
    checks = list(selftest._on_simulation(Simulator(np.random.default_rng(7))))
    assert [str(check) for check in checks if not check.ok] == []


def test_calming_scales_the_noise_and_keeps_the_drift() -> None:
    """A dealer calmed to 1 % has that noise, and its processes keep their own speeds."""
    dealer = noisy(0.05)
    calm = dealer.calmed(0.01)
    assert calm.noise == pytest.approx(0.01, rel=0.02)
    assert calm.shared == pytest.approx(dealer.shared, rel=1e-4)  # the median of forty names lies between two of them


def test_a_verdict_that_cries_wolf_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """If verdicts called every row slower, A/A and the half per cent would fail, and the exit code would be 1."""
    real = selftest.verdicts

    def wolf(old: object, new: object) -> object:
        found = real(old, new)  # type: ignore[arg-type]  # as the self-test calls it
        return type(found)(tuple(type(r)("slower", r.ratio, r.low, r.high, r.raw_ratio, r.p) for r in found.rows), None, 0.03)

    monkeypatch.setattr(selftest, "verdicts", wolf)
    monkeypatch.setattr(selftest, "_TABLES", 3)
    report = Report(tuple(selftest._on_machine(noisy(0.003))), 0.003, 1.0)
    assert [check.ok for check in report.checks] == [False, False, True, False]
    assert report.exit_code == 1


def test_a_report_tells_figures_and_bounds() -> None:
    """Every line shows the figure, its bound and whether it holds; a restless machine is told what to do."""
    text = str(Report((Check("found", 0.95, 0.9, at_least=True), Check("called slower", 0.01, 0.0)), 0.04, 12.0))
    assert "ok    found: 95.00% (at least 90%)" in text
    assert "FAIL  called slower: 1.00% (never)" in text
    assert "take more rounds" in text
