"""Do the statistics hold on this machine? One operation under forty names, with and without injected effects.

The noise is real: readings of a short operation in fresh processes, dealt anew into runs of five rounds. The same checks on
simulated noise tell a fault of the method (never expected) from a machine too restless to measure on.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from anka_flow.stats import summarise

from .verdict import verdicts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

NAMES, ROUNDS, READINGS = 40, 5, 5
_PROCESSES = 30
_REAL_READINGS = 25
_TABLES = 200
_READING_NS = 300_000
_SEED = 0xA55E
_BETWEEN, _WITHIN, _DRIFT = 0.01, 0.02, 0.05
_NOISE = 0.01  # at which an injected change must be found


@dataclass(frozen=True)
class Check:
    """One figure (a share from 0 to 1) against its bound."""

    name: str
    figure: float
    bound: float
    at_least: bool = False

    @property
    def ok(self) -> bool:
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    def __str__(self) -> str:
        limit = f"{'at least' if self.at_least else 'at most'} {self.bound:.0%}" if self.bound else "never"
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.name}: {self.figure:.2%} ({limit})"


@dataclass(frozen=True)
class Report:
    """All checks, the machine's own noise (a row's spread between processes without what all rows share), the time taken."""

    checks: tuple[Check, ...]
    noise: float
    seconds: float

    @property
    def passed(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def exit_code(self) -> int:
        return 0 if self.passed else 1

    def __str__(self) -> str:
        told = f"noise of this machine: {self.noise:.2%} between rounds (drift out); {self.seconds:.0f} s"
        if self.noise > _NOISE:
            told += "; more than 1 %: take more rounds, or see 'anka-flow doctor'"
        return "\n".join([*map(str, self.checks), told])


def selftest(progress: Callable[[str], None] = lambda _: None) -> Report:
    """Measure, simulate, check. ``progress`` hears what begins. Takes under two minutes, mostly well under one."""
    import numpy as np

    began = time.monotonic()
    progress(f"one operation under {NAMES} names in {_PROCESSES} fresh processes")
    deal = Dealer(np.array([measure_round(number) for number in range(_PROCESSES)]).T, np.random.default_rng(_SEED))
    simulated = Simulator(np.random.default_rng(_SEED))
    checks: list[Check] = []
    for progress_of, found in (("this machine's noise", _on_machine(deal)), ("simulated noise", _on_simulation(simulated))):
        progress(progress_of)
        checks += found
    return Report(tuple(checks), deal.noise, time.monotonic() - began)


def _on_machine(deal: Dealer) -> Iterator[Check]:
    calm = deal.calmed(_NOISE)
    what = "real noise" if calm is deal else "real noise, scaled to 1 %"
    yield Check("A/A, real noise: rows called different", _false_calls(deal.pair), 0.05)
    yield Check("A/A, real noise with 5 % drift and 1 % spread injected", _false_calls(deal.disturbed), 0.05)
    yield Check(f"+5 % on one of 40 rows, {what}: found", _called_slower(calm.pair, 1.05), 0.90, at_least=True)
    yield Check(f"+0.5 % on one of 40 rows, {what}: called slower", _called_slower(calm.pair, 1.005), 0.0)


def _on_simulation(simulated: Simulator) -> Iterator[Check]:
    where = "simulated (1 % between, 2 % within, 5 % drift)"
    yield Check(f"A/A, {where}", _false_calls(simulated.pair), 0.05)
    yield Check(f"+5 %, {where}: found", _called_slower(simulated.pair, 1.05), 0.90, at_least=True)
    quiet = Simulator(simulated.rng, within=0.0)
    yield Check("+0.5 %, simulated (1 % noise, 5 % drift): called slower", _called_slower(quiet.pair, 1.005), 0.0)
    yield Check("95 % interval of the median covers the truth", _coverage(simulated), 0.93, at_least=True)


Pair: TypeAlias = "Callable[[], tuple[Floats, Floats]]"


class Dealer:
    """Deals processes into two runs. Every name is the same operation, so each process's names are shuffled besides."""

    def __init__(self, readings: Floats, rng: np.random.Generator) -> None:
        import numpy as np

        self.readings, self.rng = readings, rng
        self.shared = np.median(readings, axis=0)
        self.noise = float(np.std(np.log(readings / self.shared)))

    def calmed(self, noise: float) -> Dealer:
        """Return these readings with their noise scaled down to ``noise``, its shape and the drift kept."""
        if self.noise <= noise:
            return self
        return Dealer(self.shared * (self.readings / self.shared) ** (noise / self.noise), self.rng)

    def pair(self) -> tuple[Floats, Floats]:
        chosen = self.rng.choice(self.readings.shape[1], 2 * ROUNDS, replace=False)
        dealt = self.rng.permuted(self.readings[:, chosen], axis=0)
        return dealt[:, :ROUNDS], dealt[:, ROUNDS:]

    def disturbed(self) -> tuple[Floats, Floats]:
        old, new = self.pair()
        return old * self._disturbance(), new * self._disturbance()

    def _disturbance(self) -> Floats:
        import numpy as np

        disturbance: Floats = np.exp(self.rng.normal(0, _BETWEEN, (NAMES, ROUNDS)) + np.linspace(0, _DRIFT, ROUNDS))
        return disturbance


class Simulator:
    """Round medians of rows whose truth is known."""

    def __init__(self, rng: np.random.Generator, within: float = _WITHIN) -> None:
        self.rng, self.within = rng, within

    def readings(self, rows: int) -> Floats:
        """Return rows x rounds x readings around 1, without drift."""
        import numpy as np

        between = self.rng.normal(0, _BETWEEN, (rows, ROUNDS, 1))
        readings: Floats = np.exp(between + self.rng.normal(0, self.within, (rows, ROUNDS, READINGS)))
        return readings

    def pair(self) -> tuple[Floats, Floats]:
        import numpy as np

        drift = np.exp(np.linspace(0, _DRIFT, ROUNDS))
        return np.median(self.readings(NAMES), axis=2) * drift, np.median(self.readings(NAMES), axis=2) * drift


def _false_calls(pair: Pair) -> float:
    """Return the share of rows called different where none is."""
    words = [row.verdict for _ in range(_TABLES) for row in verdicts(*(side.tolist() for side in pair())).rows]
    return sum(word in ("faster", "slower") for word in words) / len(words)


def _called_slower(pair: Pair, factor: float) -> float:
    """Return the share of tables whose first row, slowed by ``factor``, is called slower."""
    found = 0
    for _ in range(_TABLES):
        old, new = pair()
        slowed = new.copy()
        slowed[0] *= factor
        found += verdicts(old.tolist(), slowed.tolist()).rows[0].verdict == "slower"
    return found / _TABLES


def _coverage(simulated: Simulator) -> float:
    covered = 0
    for run in simulated.readings(_TABLES):
        summary = summarise(run.tolist())
        assert summary.low is not None
        assert summary.high is not None
        covered += summary.low <= 1 <= summary.high
    return covered / _TABLES


# -- the real operation -----------------------------------------------------------------------------------------------------


def measure_round(number: int) -> list[float]:
    """Return each name's median time of the operation in a fresh process, in nanoseconds."""
    command = [sys.executable, "-m", "anka_flow.judge.selftest", str(number)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    medians: list[float] = json.loads(done.stdout)
    return medians


def _visit_all(number: int) -> list[float]:
    """Time one operation under every name, the names in a shuffled order, as a round of a run does."""
    from statistics import median

    loops = _calibrated()
    readings: list[float] = [0.0] * NAMES
    for name in random.Random(number).sample(range(NAMES), NAMES):
        _reading(loops)
        readings[name] = median(_reading(loops) for _ in range(_REAL_READINGS)) / loops
    return readings


def _calibrated() -> int:
    loops = 1
    while _reading(loops) < _READING_NS:
        loops *= 2
    return loops


def _reading(loops: int) -> int:
    from hashlib import sha256

    payload = bytes(4096)
    began = time.perf_counter_ns()
    for _ in range(loops):
        sha256(payload).digest()
    return time.perf_counter_ns() - began


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_visit_all(int(sys.argv[1]))))
