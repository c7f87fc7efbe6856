"""What readings say: a summary with its interval, and verdicts on two tables of rows.

Every figure comes from numpy or scipy; they load on the first call. Nothing here reads files, clocks or the environment.
Why each rule stands is told in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

CONFIDENCE = 0.95
P90_FROM, P99_FROM = 64, 662  # fewer samples do not hold the quantile: MEASURING, "Statistics"
MIN_ROWS_FOR_COMMON = 8  # below, a table's median row is too much of each row to be taken out of it
THRESHOLD = 0.02  # the smallest change worth a verdict
FALSE_DISCOVERY_RATE = 0.05
_SEED = 0x5EED
_REPLICATES = 400  # enough for a standard error: 3.5 % off
_CELLS = 100_000  # replicates x readings held at once; bounds both time and memory
_MOST_PER_ROUND = 400  # a longer round enters the bootstrap as this many of its quantiles

ONE_ROUND = "one_round"
NO_INTERVAL = "no_interval"
Word: TypeAlias = Literal["faster", "slower", "same", "unclear"]


@dataclass(frozen=True)
class Summary:
    """One row of ``summary.parquet`` for one case, step and meter; figures in the unit of the readings."""

    count: int
    rounds: int
    median: float
    mean: float
    mad: float
    min: float
    p90: float | None
    p99: float | None
    low: float | None
    high: float | None
    outliers_low_severe: int
    outliers_low_mild: int
    outliers_high_mild: int
    outliers_high_severe: int
    flags: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """Return the figures by column name, without the flags, which belong to the case."""
        return {name: value for name, value in asdict(self).items() if name != "flags"}


SUMMARY_COLUMNS = tuple(field.name for field in fields(Summary) if field.name != "flags")


def summarise(rounds: Sequence[Sequence[float]]) -> Summary:
    """Return the summary of readings grouped by round (fresh process); empty rounds count as absent.

    ``low`` and ``high`` bound the median with 95 % confidence. With one round they know nothing of the spread between
    processes (flag ``one_round``); with one reading there are none (flag ``no_interval``). Raises ``ValueError`` without
    readings or for one that is not finite.
    """
    import numpy as np

    groups = [np.asarray(each, dtype=np.float64) for each in rounds if len(each)]
    if not groups:
        raise ValueError("no readings to summarise")
    pooled = np.concatenate(groups)
    if not np.isfinite(pooled).all():
        raise ValueError("a reading is not a finite number")
    median = float(np.median(pooled))
    bounds = _interval(groups, median)
    flags = ((ONE_ROUND,) if len(groups) == 1 else ()) + ((NO_INTERVAL,) if bounds is None else ())
    p90, p99 = (float(q) for q in np.quantile(pooled, (0.90, 0.99)))
    return Summary(
        count=pooled.size,
        rounds=len(groups),
        median=median,
        mean=float(pooled.mean()),
        mad=float(np.median(np.abs(pooled - median))),
        min=float(pooled.min()),
        p90=p90 if pooled.size >= P90_FROM else None,
        p99=p99 if pooled.size >= P99_FROM else None,
        low=None if bounds is None else bounds[0],
        high=None if bounds is None else bounds[1],
        **_outliers(pooled),
        flags=flags,
    )


def _outliers(pooled: Floats) -> dict[str, int]:
    """Tukey's classes: beyond 1.5 (mild) and 3 (severe) interquartile ranges from the quartiles."""
    import numpy as np

    first, third = np.quantile(pooled, (0.25, 0.75))
    spread = third - first
    low, high = first - pooled, pooled - third
    severe_low, severe_high = int((low > 3 * spread).sum()), int((high > 3 * spread).sum())
    return {
        "outliers_low_severe": severe_low,
        "outliers_low_mild": int((low > 1.5 * spread).sum()) - severe_low,
        "outliers_high_mild": int((high > 1.5 * spread).sum()) - severe_high,
        "outliers_high_severe": severe_high,
    }


def _interval(groups: list[Floats], median: float) -> tuple[float, float] | None:
    """Bounds of the median; on the log scale where all readings are positive, so that they stay positive.

    A percentile bootstrap over five rounds covers the truth in 87-95 % of runs: it reads the spread between rounds too small by
    (R-1)/R and knows no t. So the hierarchical bootstrap gives the centre and a first width, and the t interval of the
    round medians widens it where it is the wider: 94-99 % (docs/statistics.md).
    """
    import numpy as np

    if sum(each.size for each in groups) == 1:
        return None
    logs = all(each.min() > 0 for each in groups)
    scaled = [np.log(each) for each in groups] if logs else groups
    medians = np.array([np.median(each) for each in scaled])
    boot = _bootstrap_medians(scaled)
    centre, half = float(boot.mean()), _half_width(medians, boot, scaled[0].size)
    low, high = centre - half, centre + half
    if logs:
        low, high = float(np.exp(low)), float(np.exp(high))
    return min(low, median), max(high, median)


def _half_width(medians: Floats, boot: Floats, first_size: int) -> float:
    from scipy.special import ndtri, stdtrit

    upper = (1 + CONFIDENCE) / 2
    spread = float(boot.std())
    rounds = medians.size
    if rounds == 1:  # the readings stand in for rounds: Student's quantile and Bessel's correction for so few of them
        return float(stdtrit(first_size - 1, upper)) * spread * (first_size / (first_size - 1)) ** 0.5
    student = float(stdtrit(rounds - 1, upper)) * float(medians.std(ddof=1)) / rounds**0.5
    return max(student, float(ndtri(upper)) * spread)


def _bootstrap_medians(groups: list[Floats]) -> Floats:
    """Medians of resampled runs: rounds drawn with replacement, then as many readings from each (the mean number)."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    groups = [_thinned(each) for each in groups]
    sizes = np.array([each.size for each in groups])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    pooled = np.concatenate(groups)
    draws = max(1, round(float(sizes.mean())))
    replicates = max(100, min(_REPLICATES, _CELLS // (draws * len(groups))))
    chosen = rng.integers(0, len(groups), (replicates, len(groups), 1))
    offsets = (rng.random((replicates, len(groups), draws)) * sizes[chosen]).astype(np.int64)
    medians: Floats = np.median(pooled[starts[chosen] + offsets].reshape(replicates, -1), axis=1)
    return medians


def _thinned(group: Floats) -> Floats:
    import numpy as np

    if group.size <= _MOST_PER_ROUND:
        return group
    thinned: Floats = np.quantile(group, (np.arange(_MOST_PER_ROUND) + 0.5) / _MOST_PER_ROUND)
    return thinned


@dataclass(frozen=True)
class Verdict:
    """One row judged. ``ratio`` is new over old as it was judged: with the common shift out, unless judged as it is.

    ``low`` and ``high`` bound it with 95 % confidence, None where neither side has two rounds; ``raw_ratio`` keeps the shift;
    ``p`` is adjusted for the number of rows (Benjamini-Hochberg).
    """

    verdict: Word
    ratio: float
    low: float | None
    high: float | None
    raw_ratio: float
    p: float | None


@dataclass(frozen=True)
class Shift:
    """What moved all rows alike, as a ratio new over old with its 95 % interval (None with one round a side)."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Judgement:
    """Verdicts in the order of the rows; no ``shift`` where the rows are too few to tell one from their own changes."""

    rows: tuple[Verdict, ...]
    shift: Shift | None
    threshold: float


def verdicts(
    old: Sequence[Sequence[float]],
    new: Sequence[Sequence[float]],
    *,
    threshold: float = THRESHOLD,
    absolute: bool = False,
) -> Judgement:
    """Judge every row: faster or slower, same within ``threshold`` (0.02 is 2 %), or unclear.

    ``old[i]`` and ``new[i]`` are the round medians of row i, positive, in the order of the rounds; a missing round is NaN.
    Rows of one call must be of one meter, so that their spreads compare. A row is slower (faster) if the change is significant at a
    false discovery rate of 5 % and at least the threshold; same if its whole interval lies within the threshold; else unclear.
    ``absolute`` judges the rows as they are: the common shift stays in and its uncertainty joins each row's.
    Raises ``ValueError`` for a value that is not positive or a row without any round on either side.
    """
    sides = (_Side.of(old), _Side.of(new))
    if not old:
        return Judgement((), None, threshold)
    if len(old) != len(new):
        raise ValueError("both sides must have the same rows")
    table = _Table.of(*sides)
    return table.judge(threshold, absolute=absolute)


@dataclass(frozen=True)
class _Side:
    """One run's log round medians: rows x rounds, with each round's common effect taken out."""

    logs: Floats
    effects: Floats  # one per round, centred; empty where the rows are too few

    @staticmethod
    def of(rows: Sequence[Sequence[float]]) -> _Side:
        import numpy as np

        raw = np.full((len(rows), max((len(row) for row in rows), default=0)), np.nan)
        for i, row in enumerate(rows):
            raw[i, : len(row)] = row
        if (raw <= 0).any() or np.isinf(raw).any() or np.isnan(raw).all(axis=1).any():
            raise ValueError("a round median must be a positive number, and every row must have one")
        logs = np.log(raw)
        counts = (~np.isnan(logs)).sum(axis=0)
        if len(rows) < MIN_ROWS_FOR_COMMON or (counts < MIN_ROWS_FOR_COMMON).any():
            return _Side(logs, np.zeros(0))
        deviations = logs - np.nanmean(logs, axis=1, keepdims=True)
        effects = np.nanmedian(deviations, axis=0)
        effects -= effects.mean()
        return _Side(logs - effects, effects)

    @property
    def counts(self) -> Floats:
        import numpy as np

        counts: Floats = (~np.isnan(self.logs)).sum(axis=1).astype(np.float64)
        return counts

    @property
    def means(self) -> Floats:
        import numpy as np

        means: Floats = np.nanmean(self.logs, axis=1)
        return means

    @property
    def squares(self) -> Floats:
        """Sums of squares within rows. The effect's own estimate took a row's share of the spread out: it is put back."""
        import numpy as np

        rows = len(self.logs)
        within: Floats = np.nansum((self.logs - self.means[:, None]) ** 2, axis=1)
        return within * (rows / (rows - 1) if self.effects.size else 1.0)

    @property
    def drift_variance(self) -> tuple[float, int]:
        """Variance of the mean of the round effects, and its degrees of freedom."""
        n = self.effects.size
        return (float(self.effects.var(ddof=1)) / n, n - 1) if n > 1 else (0.0, 0)


@dataclass(frozen=True)
class _Table:
    """Changes of all rows on the log scale, with their moderated variances."""

    change: Floats
    variance: Floats  # of each row's change
    freedom: Floats  # 0 where nothing is known of the spread
    drift: tuple[_Side, _Side]

    @staticmethod
    def of(old: _Side, new: _Side) -> _Table:
        import numpy as np

        freedom = old.counts - 1 + new.counts - 1
        squares = old.squares + new.squares
        known = freedom > 0
        variance = np.full(freedom.shape, np.nan)
        variance[known], freedom[known] = moderated(squares[known] / freedom[known], freedom[known])
        return _Table(new.means - old.means, variance * (1 / old.counts + 1 / new.counts), freedom, (old, new))

    def shift(self) -> tuple[float, float, float] | None:
        """Median change over the rows, its variance (drift between rounds, and the rows' own spread), its freedom."""
        import numpy as np

        if not all(side.effects.size for side in self.drift):
            return None
        (va, da), (vb, db) = (side.drift_variance for side in self.drift)
        middle = float(np.median(self.change))
        own = np.median(np.abs(self.change - middle)) * 1.4826 * 1.2533  # normal: sd from MAD, the median's error from sd
        rows = float(own**2) / self.change.size
        total = va + vb + rows
        if not (da and db) or not total:
            return middle, total, 0.0
        # Welch and Satterthwaite; the rows' share counts as known with one degree a row
        return middle, total, total**2 / (va**2 / da + vb**2 / db + rows**2 / (self.change.size - 1))

    def judge(self, threshold: float, *, absolute: bool) -> Judgement:
        import numpy as np
        from scipy.special import stdtr, stdtrit
        from scipy.stats import false_discovery_control

        common = self.shift()
        change, variance, freedom = self.change, self.variance, self.freedom
        if common is not None and absolute:
            variance, freedom = _joined(variance, freedom, common)
        elif common is not None:
            change = change - common[0]
        known = freedom > 0
        error = np.sqrt(variance)
        p, half = np.full(change.shape, np.nan), np.full(change.shape, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):  # rows without any spread: t is infinite, or 0/0 = no change
            t = np.where(change == 0, 0.0, np.abs(change) / error)
        p[known] = false_discovery_control(2 * stdtr(freedom[known], -t[known])) if known.any() else []
        half[known] = stdtrit(freedom[known], (1 + CONFIDENCE) / 2) * error[known]
        rows = zip(change, half, self.change, p, strict=True)
        return Judgement(tuple(_verdict(*row, threshold) for row in rows), _shift(common), threshold)


def _joined(variance: Floats, freedom: Floats, common: tuple[float, float, float]) -> tuple[Floats, Floats]:
    """A row's variance with the common shift's, and the freedom of the sum (Welch and Satterthwaite)."""
    import numpy as np

    _, other, other_freedom = common
    total = variance + other
    if not other_freedom:
        return total, np.zeros_like(freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        joined = total**2 / (variance**2 / freedom + other**2 / other_freedom)
    return total, np.where(freedom > 0, np.nan_to_num(joined, nan=1.0), 0.0)


def _shift(common: tuple[float, float, float] | None) -> Shift | None:
    import numpy as np
    from scipy.special import stdtrit

    if common is None:
        return None
    middle, variance, freedom = common
    if not freedom:
        return Shift(float(np.exp(middle)), None, None)
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * variance**0.5
    return Shift(float(np.exp(middle)), float(np.exp(middle - half)), float(np.exp(middle + half)))


def _verdict(change: float, half: float, raw: float, p: float, threshold: float) -> Verdict:
    from math import exp, isnan, log1p

    ratio, raw_ratio = exp(change), exp(raw)
    if isnan(p):
        return Verdict("unclear", ratio, None, None, raw_ratio, None)
    limit = log1p(threshold)
    word: Word = "unclear"
    if p < FALSE_DISCOVERY_RATE and abs(change) >= limit:
        word = "slower" if change > 0 else "faster"
    elif change - half >= -limit and change + half <= limit:
        word = "same"
    return Verdict(word, ratio, exp(change - half), exp(change + half), raw_ratio, float(p))


def moderated(variance: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Return variances shrunk towards the table's, and their degrees of freedom.

    Smyth 2004 (limma), section 6.2: the rows' variances follow s0^2 F(d, d0); d0 and s0^2 come from the mean and variance of their logs
    through digamma and trigamma. One row has no table to lean on and stays as it is.
    """
    import numpy as np
    from scipy.special import polygamma, psi

    if variance.size < 2 or not (variance > 0).any():
        return variance, freedom
    floored = np.maximum(variance, 1e-5 * np.median(variance[variance > 0]))  # log of an exact zero
    logs = np.log(floored) - psi(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    if excess <= 0:  # no more spread than chance gives: one variance for all
        pooled = float((variance * freedom).sum() / freedom.sum())
        return np.full_like(variance, pooled), np.full_like(freedom, freedom.sum())
    prior = 2 * _inverse_trigamma(excess)
    target = float(np.exp(logs.mean() + psi(prior / 2) - np.log(prior / 2)))
    shrunk = (prior * target + freedom * variance) / (prior + freedom)
    return shrunk, np.minimum(prior + freedom, freedom.sum())


def _inverse_trigamma(value: float) -> float:
    from math import exp, log

    from scipy.optimize import brentq
    from scipy.special import polygamma

    return exp(brentq(lambda x: log(polygamma(1, exp(x))) - log(value), -30, 30))
