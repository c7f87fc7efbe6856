"""Verdicts on two tables of rows: what became faster or slower, what is the same, what nobody can tell.

The setting is that of gene-expression studies, hundreds of rows with five values a side, and so is the method (limma's).
Nothing here reads files, clocks or the environment. Why each rule stands is told in docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from anka_flow.stats import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

THRESHOLD = 0.03  # the smallest change worth a verdict: at 1 % noise it keeps +0.5 % from ever being called slower
FALSE_DISCOVERY_RATE = 0.05
MIN_ROWS_FOR_COMMON = 8  # below, a table's median row is too much of each row to be taken out of it
INDIFFERENCE = 1 / 12  # of the threshold: a change must be shown to exceed it; a quarter per cent is no finding
_MAD_TO_SD = 1.4826  # of a normal distribution
_MAD_ERROR = 1.16  # relative standard error of the MAD of one normal value, over the root of their number
MOST_SCATTER = 4.0  # times what rounds explain: as far as unchanged programs went under three times the load of the cores
_MEDIAN_ERROR = 1.2533  # standard error of a normal sample's median, against its mean's
_LEAST_EXCESS = 2e-4  # trigamma(5000): rows whose spreads differ by chance alone get one variance, 10,000 degrees strong

Word: TypeAlias = Literal["faster", "slower", "same", "unclear"]


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
    """Verdicts in the order of the rows; no ``shift`` where the rows are too few to tell one from their own changes.

    ``scatter`` is how far rows moved apart beyond what their rounds explain, on the log scale (0.01 is 1 %); above 0 it has
    widened every interval.
    """

    rows: tuple[Verdict, ...]
    shift: Shift | None
    threshold: float
    scatter: float = 0.0


def verdicts(
    old: Sequence[Sequence[float]],
    new: Sequence[Sequence[float]],
    *,
    threshold: float = THRESHOLD,
    absolute: bool = False,
) -> Judgement:
    """Judge every row: faster or slower, same within ``threshold`` (0.03 is 3 %), or unclear.

    ``old[i]`` and ``new[i]`` are the round medians of row i, positive, in the order of the rounds; a missing round is NaN.
    Rows of one call must be of one meter, so that their spreads compare. A row is slower (faster) if the change is at least
    the threshold and shown, at a false discovery rate of 5 %, to exceed a twelfth of it; same if its whole interval lies within
    the threshold; else unclear.
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
        own = _MEDIAN_ERROR * _MAD_TO_SD * float(np.median(np.abs(self.change - middle)))
        rows = own**2 / self.change.size
        total = va + vb + rows
        if not (da and db) or not total:
            return middle, total, 0.0
        # Welch and Satterthwaite; the rows' share counts as known with one degree a row
        return middle, total, total**2 / (va**2 / da + vb**2 / db + rows**2 / (self.change.size - 1))

    def judge(self, threshold: float, *, absolute: bool) -> Judgement:
        from math import log1p

        import numpy as np
        from scipy.special import stdtrit
        from scipy.stats import false_discovery_control

        common = self.shift()
        change, variance, freedom, scatter = self.change, self.variance, self.freedom, 0.0
        if common is not None and absolute:
            variance, freedom = _joined(variance, freedom, *common[1:])
        elif common is not None:
            change = change - common[0]
            scatter = _scatter(change, variance, freedom)
            variance, freedom = _joined(variance, freedom, scatter**2, change.size - 1.0)
        known = freedom > 0
        error = np.sqrt(variance)
        p, half = np.full(change.shape, np.nan), np.full(change.shape, np.nan)
        if known.any():
            p[known] = false_discovery_control(_beyond(change, error, freedom, log1p(INDIFFERENCE * threshold))[known])
        half[known] = stdtrit(freedom[known], (1 + CONFIDENCE) / 2) * error[known]
        rows = zip(change, half, self.change, p, strict=True)
        return Judgement(tuple(_verdict(*row, threshold) for row in rows), _shift(common), threshold, scatter)


def _beyond(change: Floats, error: Floats, freedom: Floats, margin: float) -> Floats:
    """Return p of "the change is no larger than ``margin``" (McCarthy and Smyth 2009, limma's treat)."""
    import numpy as np
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):  # rows without any spread: t is infinite, and 0/0 is no change
        near, far = (np.nan_to_num((np.abs(change) + side * margin) / error, nan=0.0) for side in (-1, 1))
    p: Floats = np.minimum(stdtr(freedom, -near) + stdtr(freedom, -far), 1.0)
    return p


def _scatter(change: Floats, variance: Floats, freedom: Floats) -> float:
    """Return the standard deviation between runs that makes the rows' changes fit their variances; 0 within chance.

    A machine that changes its state between two runs moves rows by unlike amounts, beyond what the rounds of either run
    show. Then the table itself gives the scale (Efron 2004: the empirical null), as a variance between runs that all rows
    share (the random effect of a meta-analysis). It is capped, so that large changes of most rows are still found.
    """
    import numpy as np
    from scipy.optimize import brentq

    known = (freedom > 0) & (variance > 0)
    if not known.any():
        return 0.0
    moved, explained = np.abs(change[known]), variance[known]

    def excess(between: float) -> float:
        return _MAD_TO_SD * float(np.median(moved / np.sqrt(explained + between))) - 1

    most = (MOST_SCATTER**2 - 1) * float(np.median(explained))
    if excess(0.0) <= 2.5 * _MAD_ERROR / float(np.sqrt(known.sum())):
        return 0.0
    return float(np.sqrt(most if excess(most) > 0 else brentq(excess, 0.0, most)))


def _joined(variance: Floats, freedom: Floats, other: float, other_freedom: float) -> tuple[Floats, Floats]:
    """A row's variance with one that all rows share, and the freedom of the sum (Welch and Satterthwaite)."""
    import numpy as np

    total = variance + other
    if not other:
        return total, freedom
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

    Smyth 2004 (limma), section 6.2: the rows' variances follow s0^2 F(d, d0), fitted through the logs. In the spirit of its
    robust form (Phipson et al. 2016) a row too spread for its table (random-cost operations) neither shapes the prior nor
    leans on it: it keeps its own variance. One row has no table to lean on.
    """
    import numpy as np

    if variance.size < 2 or not (variance > 0).any():
        return variance, freedom
    floored = np.maximum(variance, 1e-5 * np.median(variance[variance > 0]))  # log of an exact zero
    fitting = _plausible(floored, freedom)
    prior, target = _prior(floored[fitting], freedom[fitting], robust=False)
    priors = np.where(fitting, prior, 0.0)
    shrunk = (priors * target + freedom * variance) / (priors + freedom)
    return shrunk, np.minimum(priors + freedom, freedom.sum())


def _plausible(variance: Floats, freedom: Floats) -> NDArray[np.bool_]:
    """Tell which rows a prior fitted to the middle of the table explains."""
    import numpy as np
    from scipy.stats import f, false_discovery_control

    if variance.size < MIN_ROWS_FOR_COMMON:
        return np.ones(variance.shape, dtype=np.bool_)
    prior, target = _prior(variance, freedom, robust=True)
    tails = false_discovery_control(f.sf(variance / target, freedom, prior))
    plausible: NDArray[np.bool_] = tails >= FALSE_DISCOVERY_RATE
    return plausible


def _prior(variance: Floats, freedom: Floats, *, robust: bool) -> tuple[float, float]:
    """Return d0 and s0^2 from the centre and spread of the log variances through digamma and trigamma."""
    import numpy as np
    from scipy.special import polygamma, psi

    logs = np.log(variance) - psi(freedom / 2) + np.log(freedom / 2)
    centre = float(np.median(logs) if robust else logs.mean())
    spread = (_MAD_TO_SD * float(np.median(np.abs(logs - centre)))) ** 2 if robust else float(logs.var(ddof=1))
    prior = 2 * _inverse_trigamma(max(spread - float(polygamma(1, freedom / 2).mean()), _LEAST_EXCESS))
    return prior, float(np.exp(centre + psi(prior / 2) - np.log(prior / 2)))


def _inverse_trigamma(value: float) -> float:
    from math import exp, log

    from scipy.optimize import brentq
    from scipy.special import polygamma

    return exp(brentq(lambda x: log(polygamma(1, exp(x))) - log(value), -30, 30))
