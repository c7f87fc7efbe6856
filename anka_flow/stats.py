"""What readings say: a summary with its interval.

Every figure comes from numpy or scipy; they load on the first call. Nothing here reads files, clocks or the environment.
Why each rule stands is told in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

CONFIDENCE = 0.95
P90_FROM, P99_FROM = 64, 662  # fewer samples do not hold the quantile: MEASURING, "Statistics"
_SEED = 0x5EED
_REPLICATES = 400  # enough for a standard error: 3.5 % off
_CELLS = 60_000  # replicates x readings held at once; bounds both time and memory
_MOST_PER_ROUND = 128  # a longer round enters the bootstrap as this many of its quantiles

ONE_ROUND = "one_round"
NO_INTERVAL = "no_interval"


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
    """Bounds of the median; through logarithms where all readings are positive, so that they stay positive.

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
    if logs:  # exp(x) is at least 1 + x, and far more at the width that two rounds have: the nearer bound of both scales
        low, high = float(np.exp(low)), float(np.exp(centre)) * (1 + half)
    return min(low, median), max(high, median)


def _half_width(medians: Floats, boot: Floats, first_size: int) -> float:
    from math import sqrt

    from scipy.special import ndtri, stdtrit

    upper = (1 + CONFIDENCE) / 2
    spread = float(boot.std())
    rounds = medians.size
    if rounds == 1:  # the readings stand in for rounds: Student's quantile and Bessel's correction for so few of them
        return float(stdtrit(first_size - 1, upper)) * spread * sqrt(first_size / (first_size - 1))
    student = float(stdtrit(rounds - 1, upper)) * float(medians.std(ddof=1)) / sqrt(rounds)
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
