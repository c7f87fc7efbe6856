"""Times brought to one pace: what a row's readings owe to the processor's clock of their moment is taken out.

Beside each reading stands what a fixed computation took (``pace_ns``), a control variate: its mean is known from the whole
run, and a row follows it by a slope of its own, 1 for short work in registers, near 0 for work that outlasts many changes.
Nothing here reads files, clocks or the environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

FEWEST = 8  # looks at the pace: below, a slope is a guess


def at_pace(values: Sequence[float], paces: Sequence[float], pace: float) -> list[float]:
    """Return a row's times as they would be had the computation beside them taken ``pace``; all positive, in the run's order.

    The slope is Theil and Sen's on the logs, between 0 and 1, so that a stolen moment does not bend it.
    """
    import numpy as np

    logs, beside = np.log(values), np.log(paces)
    adjusted: list[float] = np.exp(logs - _slope(logs, beside) * (beside - np.log(pace))).tolist()
    return adjusted


def _slope(logs: Floats, beside: Floats) -> float:
    """Fit by the medians of readings that share a look at the pace: many readings of one moment are one point."""
    import numpy as np
    from scipy.stats import theilslopes

    cuts = np.flatnonzero(np.diff(beside)) + 1
    if cuts.size + 1 < FEWEST:
        return 0.0
    medians = [float(np.median(part)) for part in np.split(logs, cuts)]
    return float(np.clip(theilslopes(medians, beside[[0, *cuts]]).slope, 0.0, 1.0))
