"""Summaries: figures against numpy and scipy, intervals against a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from anka_flow.stats import NO_INTERVAL, ONE_ROUND, SUMMARY_COLUMNS, summarise

RNG = np.random.default_rng


def simulated(
    rng: np.random.Generator, rounds: int, readings: int, between: float = 0.01, within: float = 0.02
) -> list[list[float]]:
    """Return rounds of readings around 100."""
    logs = rng.normal(0, between, (rounds, 1)) + rng.normal(0, within, (rounds, readings))
    return (100 * np.exp(logs)).tolist()


def test_figures_are_those_of_numpy_and_scipy() -> None:
    """Median, mean, MAD, minimum and quantiles agree with the libraries' own on the pooled readings."""
    rounds = simulated(RNG(1), 7, 100)
    pooled = np.concatenate(rounds)
    found = summarise(rounds)
    assert (found.count, found.rounds) == (700, 7)
    assert found.median == np.median(pooled)
    assert found.mean == pytest.approx(pooled.mean(), rel=1e-12)
    assert found.mad == pytest.approx(reference.median_abs_deviation(pooled), rel=1e-12)
    assert found.min == pooled.min()
    assert found.p90 == pytest.approx(np.percentile(pooled, 90), rel=1e-12)
    assert found.p99 == pytest.approx(np.percentile(pooled, 99), rel=1e-12)


@pytest.mark.parametrize(
    ("count", "p90", "p99"), [(63, False, False), (64, True, False), (661, True, False), (662, True, True)]
)
def test_quantiles_need_samples(count: int, p90: bool, p99: bool) -> None:
    """p90 is told from 64 samples, p99 from 662."""
    found = summarise([list(range(1, count + 1))])
    assert (found.p90 is not None, found.p99 is not None) == (p90, p99)


def test_outliers_are_classed_and_kept() -> None:
    """Tukey's classes are counted; the readings stay in every figure."""
    calm = [100.0, 101.0, 102.0, 103.0] * 5  # quartiles 100.75 and 102.25: fences at 1.5 x 1.5 and 3 x 1.5
    found = summarise([[*calm, 98.0, 105.0, 90.0, 120.0, 130.0]])
    classes = (found.outliers_low_severe, found.outliers_low_mild, found.outliers_high_mild, found.outliers_high_severe)
    assert classes == (1, 0, 0, 2)
    assert found.count == 25
    assert found.min == 90.0


def test_mild_outliers_are_told_from_severe_ones() -> None:
    """A reading between 1.5 and 3 interquartile ranges out is mild."""
    found = summarise(
        [[10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 24.0]]
    )  # quartiles 12 and 16: mild from 22, severe from 28
    assert (found.outliers_high_mild, found.outliers_high_severe) == (1, 0)


@pytest.mark.parametrize("readings", [2, 5])
@pytest.mark.parametrize("within", [0.001, 0.02])
def test_intervals_cover_the_truth(readings: int, within: float) -> None:
    """In at least 93 % of 200 simulated runs of the default shape the interval holds the true median."""
    rng = RNG(3)
    found = [summarise(simulated(rng, 5, readings, within=within)) for _ in range(200)]
    assert sum(s.low is not None and s.high is not None and s.low <= 100 <= s.high for s in found) >= 186


def test_intervals_are_no_wider_than_they_must() -> None:
    """The mean width stays within a quarter of what Student's t on normal round means would need."""
    rng = RNG(4)
    widths = [s.high - s.low for s in (summarise(simulated(rng, 5, 5)) for _ in range(200)) if s.low and s.high]
    ideal = 2 * reference.t.ppf(0.975, 4) * 100 * np.sqrt((0.01**2 + 0.02**2 * 1.44 / 5) / 5)  # 1.44: a median of five
    assert len(widths) == 200
    assert np.mean(widths) < 1.25 * ideal


def test_an_interval_holds_its_median() -> None:
    """low <= median <= high, also for lopsided rounds and rounds of unequal length."""
    rng = RNG(5)
    for _ in range(100):
        found = summarise([rng.lognormal(3, 1, n).tolist() for n in (1, 7, 3)])
        assert found.low is not None
        assert found.high is not None
        assert 0 < found.low <= found.median <= found.high < np.inf


def test_the_same_readings_give_the_same_summary() -> None:
    """The bootstrap is seeded: nothing of a summary is random."""
    rounds = simulated(RNG(6), 5, 10)
    assert summarise(rounds) == summarise(rounds)


def test_one_round_says_so() -> None:
    """With one round there is an interval of its readings, flagged: it knows nothing of other processes."""
    found = summarise(simulated(RNG(7), 1, 10))
    assert found.flags == (ONE_ROUND,)
    assert found.low is not None


def test_one_reading_has_no_interval() -> None:
    """With one reading the bounds are None, never the reading itself."""
    found = summarise([[42.0]])
    assert (found.low, found.high) == (None, None)
    assert found.flags == (ONE_ROUND, NO_INTERVAL)


def test_readings_that_never_vary_have_a_closed_interval() -> None:
    """Identical readings give low = median = high; zeros are allowed (sizes, peaks)."""
    for value in (0.0, 4096.0):
        found = summarise([[value, value], [value, value]])
        assert found.low == pytest.approx(value, rel=1e-12)
        assert found.high == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("rounds", [[], [[]], [[1.0], [float("nan")]], [[float("inf")]]])
def test_what_cannot_be_summarised_is_refused(rounds: list[list[float]]) -> None:
    """No readings, or one that is not finite, is an error and not a figure."""
    with pytest.raises(ValueError, match="reading"):
        summarise(rounds)


def test_long_rounds_give_the_interval_of_their_medians() -> None:
    """With 20,000 readings a round only the spread between rounds is left: the interval is Student's t of the round medians."""
    rounds = simulated(RNG(8), 5, 20_000)
    found = summarise(rounds)
    medians = np.log([np.median(each) for each in rounds])
    half = reference.t.ppf(0.975, 4) * medians.std(ddof=1) / np.sqrt(5)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / found.median == pytest.approx(2 * half, rel=0.05)


def test_columns_are_the_row() -> None:
    """``SUMMARY_COLUMNS`` names what ``row()`` gives, in that order."""
    assert tuple(summarise([[1.0, 2.0]]).row()) == SUMMARY_COLUMNS
