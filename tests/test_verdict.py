"""Verdicts: what is found, what is never found, and how few rows or rounds degrade."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from scipy import stats as reference

from anka_flow.judge.verdict import Judgement, moderated, verdicts

RNG = np.random.default_rng
Table = list[list[float]]


def table(rng: np.random.Generator, rows: int = 40, rounds: int = 5, noise: float = 0.01, drift: float = 0.05) -> Table:
    """Return round medians of rows around 1000, 2000, ... with a drift that all rows of a round share."""
    logs = rng.normal(0, noise, (rows, rounds)) + np.linspace(0, drift, rounds)
    return (1000.0 * np.arange(1, rows + 1)[:, None] * np.exp(logs)).tolist()


def times(table: Table, factor: float, rows: slice = slice(None)) -> Table:
    return [[v * factor for v in row] if i in range(*rows.indices(len(table))) else row for i, row in enumerate(table)]


def words(found: Judgement) -> list[str]:
    return [row.verdict for row in found.rows]


def test_no_row_of_an_unchanged_program_is_called_different() -> None:
    """A/A under 5 % drift: at most 1 % of rows over 50 tables."""
    rng = RNG(1)
    called = [word for _ in range(50) for word in words(verdicts(table(rng), table(rng)))]
    assert sum(word in ("faster", "slower") for word in called) <= len(called) / 100


@pytest.mark.parametrize(("factor", "word"), [(1.05, "slower"), (1 / 1.05, "faster")])
def test_five_per_cent_on_one_row_is_found(factor: float, word: str) -> None:
    """A change of 5 % on one of 40 rows at 1 % noise is found in at least 45 of 50 tables."""
    rng = RNG(2)
    found = [words(verdicts(table(rng), times(table(rng), factor, slice(1))))[0] for _ in range(50)]
    assert found.count(word) >= 45


def test_half_a_per_cent_is_never_slower() -> None:
    """+0.5 % on one row at 1 % noise is called slower in none of 200 tables."""
    rng = RNG(3)
    assert all(words(verdicts(table(rng), times(table(rng), 1.005, slice(1))))[0] != "slower" for _ in range(200))


def test_what_moves_all_rows_is_one_finding() -> None:
    """Everything 20 % slower: the common shift says so, its interval excludes 1, and no row is called slower."""
    rng = RNG(4)
    found = verdicts(table(rng, drift=0), times(table(rng, drift=0), 1.2))
    assert found.shift is not None
    assert found.shift.low is not None
    assert found.shift.ratio == pytest.approx(1.2, abs=0.01)
    assert found.shift.low > 1.15
    assert "slower" not in words(found)
    assert found.rows[0].raw_ratio == pytest.approx(found.rows[0].ratio * found.shift.ratio, rel=1e-12)


def test_absolute_judges_rows_as_they_are() -> None:
    """With ``absolute`` a shift of 20 % makes every row slower."""
    rng = RNG(5)
    found = verdicts(table(rng, drift=0), times(table(rng, drift=0), 1.2), absolute=True)
    assert set(words(found)) == {"slower"}


def test_drift_is_not_mistaken_for_a_shift() -> None:
    """A run that drifts by 5 % and one that does not: the interval of the common shift holds 1."""
    rng = RNG(6)
    shift = verdicts(table(rng, drift=0), table(rng, drift=0.05)).shift
    assert shift is not None
    assert shift.low is not None
    assert shift.high is not None
    assert shift.low <= 1 <= shift.high


def test_same_means_within_the_threshold() -> None:
    """At 0.2 % noise unchanged rows are shown to be the same; at 5 % noise nobody can tell."""
    rng = RNG(7)
    assert set(words(verdicts(table(rng, noise=0.002), table(rng, noise=0.002)))) == {"same"}
    assert "same" not in words(verdicts(table(rng, noise=0.05), table(rng, noise=0.05)))


def test_a_change_below_the_threshold_is_same_however_sure() -> None:
    """+1 % measured to 0.01 % is within 3 %, and slower where the threshold is half a per cent."""
    rng = RNG(8)
    old, new = table(rng, noise=1e-4), times(table(rng, noise=1e-4), 1.01, slice(1))
    assert words(verdicts(old, new))[0] == "same"
    assert words(verdicts(old, new, threshold=0.005))[0] == "slower"


def test_intervals_of_rows_cover() -> None:
    """The 95 % intervals hold 1 for 93 to 97 % of unchanged rows."""
    rng = RNG(9)
    rows = [row for _ in range(50) for row in verdicts(table(rng), table(rng)).rows]
    covered = sum(row.low is not None and row.high is not None and row.low <= 1 <= row.high for row in rows)
    assert 0.93 <= covered / len(rows) <= 0.97


def test_restless_rows_neither_hide_nor_cry_wolf() -> None:
    """Four rows of 40 with ten times the noise: +5 % on a calm row is still found, and they are not called different."""
    rng = RNG(10)

    def restless() -> Table:
        return table(rng)[:36] + table(rng, noise=0.1)[36:]

    found = [words(verdicts(restless(), times(restless(), 1.05, slice(1)))) for _ in range(50)]
    assert sum(each[0] == "slower" for each in found) >= 45
    assert sum(word in ("faster", "slower") for each in found for word in each[36:]) <= 4


def unsettled(rng: np.random.Generator, spread: float) -> Table:
    """Return a table whose every row a change of the machine's state moved by its own amount."""
    return [times([row], float(np.exp(rng.normal(0, spread))))[0] for row in table(rng)]


def test_a_machine_that_changed_between_runs_cries_no_wolf() -> None:
    """Rows moved by 5 % each way, five times what their rounds explain: the table says so, and few are called different."""
    rng = RNG(17)
    found = [verdicts(table(rng), unsettled(rng, 0.02)) for _ in range(20)]
    assert min(each.scatter for each in found) > 0.01
    assert sum(word in ("faster", "slower") for each in found for word in words(each)) <= 20 * 40 * 0.02


def test_a_calm_machine_is_not_called_changed() -> None:
    """On unchanged tables the scatter is 0 in 47 of 50 at least; with one row in ten 20 % slower, all of those are found."""
    rng = RNG(18)
    assert sum(verdicts(table(rng), table(rng)).scatter == 0 for _ in range(50)) >= 47
    for _ in range(20):
        assert words(verdicts(table(rng), times(table(rng), 1.2, slice(4))))[:4] == ["slower"] * 4


def test_large_changes_of_most_rows_are_found() -> None:
    """A new build that makes 24 of 40 rows 20 to 60 % slower is told, for all that the rows scatter."""
    rng = RNG(19)
    new = table(rng, noise=0.005)
    for i in range(24):
        new[i] = [value * (1.2 + i / 60) for value in new[i]]
    found = words(verdicts(table(rng, noise=0.005), new))
    assert sum(word in ("faster", "slower") for word in found) >= 24


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_are_judged_as_they_are(rows: int) -> None:
    """Below eight rows no common shift can be told: none is taken out, and 20 % on all of them is slower."""
    rng = RNG(11)
    found = verdicts(table(rng, rows, drift=0), times(table(rng, rows, drift=0), 1.2))
    assert found.shift is None
    assert set(words(found)) == {"slower"}


def test_one_row_is_judged_by_students_t() -> None:
    """With one row the interval is that of scipy's pooled t on log round medians."""
    rng = RNG(12)
    old, new = table(rng, 1), table(rng, 1)
    expected = reference.ttest_ind(np.log(new[0]), np.log(old[0])).confidence_interval(0.95)
    row = verdicts(old, new).rows[0]
    assert (row.low, row.high) == (
        pytest.approx(np.exp(expected.low), rel=1e-9),
        pytest.approx(np.exp(expected.high), rel=1e-9),
    )


def test_one_round_a_side_is_unclear() -> None:
    """Too few rounds to tell is unclear, never same; the ratio is told without an interval."""
    found = verdicts([[100.0]] * 10, [[100.0]] * 9 + [[200.0]])
    assert set(words(found)) == {"unclear"}
    assert found.rows[-1].ratio == pytest.approx(2.0)
    assert (found.rows[-1].low, found.rows[-1].high, found.rows[-1].p) == (None, None, None)
    assert found.shift is not None
    assert found.shift.low is None


def test_a_run_against_itself_is_the_same() -> None:
    """Identical rows have ratio 1 exactly and are the same, also where nothing varies at all."""
    old = table(RNG(13), noise=0.002)
    assert {(row.verdict, row.ratio) for row in verdicts(old, old).rows} == {("same", 1.0)}
    still = [[5.0] * 5] * 3
    assert words(verdicts(still, still)) == ["same"] * 3


def test_missing_rounds_cost_certainty_only() -> None:
    """A row that lacks a round on one side is judged by those it has."""
    rng = RNG(14)
    old, new = table(rng), times(table(rng), 1.1, slice(1))
    new[0][2] = float("nan")
    new[1] = new[1][:4]
    found = verdicts(old, new)
    assert found.rows[0].verdict == "slower"
    assert found.rows[1].low is not None


@pytest.mark.parametrize(("old", "new"), [([[0.0, 1.0]], [[1.0, 1.0]]), ([[float("nan")]], [[1.0]]), ([[1.0]], [])])
def test_what_cannot_be_judged_is_refused(old: Table, new: Table) -> None:
    """A value that is not positive, a row without rounds, or sides of unequal length are errors."""
    with pytest.raises(ValueError, match="must"):
        verdicts(old, new)


def test_nothing_is_judged_of_nothing() -> None:
    """Two empty tables have no verdicts and no shift."""
    assert verdicts([], []) == Judgement((), None, 0.03)


def test_shrinking_finds_the_prior() -> None:
    """From 4000 variances drawn under a known prior (d0 = 10, s0^2 = 4) the shrunk ones lie where Smyth's formula puts them."""
    rng = RNG(15)
    true = 4.0 * 10 / rng.chisquare(10, 4000)
    freedom = np.full(4000, 8.0)
    variance = true * rng.chisquare(8, 4000) / 8
    shrunk, total = moderated(variance, freedom)
    assert shrunk == pytest.approx((10 * 4.0 + 8 * variance) / 18, rel=0.1)
    assert total[0] == pytest.approx(18, rel=0.1)
    assert special.polygamma(1, 4.0) > 0.28  # eight degrees alone would be this unsure of a log variance


def test_rows_of_one_spread_share_it() -> None:
    """Variances that differ by chance alone become nearly one: none stays a factor of 1.2 from the truth."""
    rng = RNG(16)
    variance = rng.chisquare(8, 400) / 8
    shrunk, _ = moderated(variance, np.full(400, 8.0))
    assert shrunk.max() / shrunk.min() < 1.2**2 < variance.max() / variance.min()
