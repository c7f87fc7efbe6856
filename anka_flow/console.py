"""What a person sees: progress on a terminal, plain lines elsewhere, tables of plans and lists."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import SpecError
from .plan import Plan
from .runner import Runner, Visit
from .units import format_ns, format_size


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # the console is this module's task


def watcher() -> _Bar | _Lines:
    """Return a live bar for a terminal, else lines."""
    return _Bar() if sys.stderr.isatty() else _Lines()


class _Count:
    """Counts visits and tells the time that is left, from what the visits so far took."""

    def begin(self, plan: Plan, runner: Runner) -> None:
        self.name, self.runner = plan.spec.name, runner
        self.total = sum(1 for _ in runner.visits())
        self.done = len(runner.done)
        self.began, self.at_start = time.monotonic(), self.done

    def add(self, visit: Visit) -> None:
        """Count a visit; those of a repeated round were not foreseen."""
        self.done += 1
        self.total += visit.round < 0

    def count(self) -> tuple[int, float | None]:
        """Return the visits done and the seconds left, if that can be told yet."""
        made = self.done - self.at_start
        spent = time.monotonic() - self.began
        return self.done, spent / made * max(0, self.total - self.done) if made >= 5 else None


class _Lines(_Count):
    """A line at every tenth of the work and at most every ten seconds."""

    def begin(self, plan: Plan, runner: Runner) -> None:
        super().begin(plan, runner)
        self.last = time.monotonic()
        _err(f"{self.name}: {len(plan.cases)} cases, {self.total} visits")

    def visited(self, visit: Visit, event: Mapping[str, Any]) -> None:
        self.add(visit)
        if event.get("outcome") != "ok":
            _err(f"{self.name}: {visit.case.id}: {event.get('outcome')}: {event.get('reason', '')}")
        if time.monotonic() - self.last >= 10:
            self.last = time.monotonic()
            done, left = self.count()
            _err(f"{self.name}: {done} of {self.total} visits" + (f", {left:.0f} s left" if left is not None else ""))

    def end(self) -> None:
        _err(f"{self.name}: {self.done} visits in {time.monotonic() - self.began:.1f} s")


class _Bar(_Count):
    """A bar with the time that is left."""

    def begin(self, plan: Plan, runner: Runner) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().begin(plan, runner)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task(self.name, total=self.total, completed=self.done)
        self.bar.start()

    def visited(self, visit: Visit, event: Mapping[str, Any]) -> None:
        self.add(visit)
        self.bar.update(
            self.task, completed=self.done, total=self.total, description=f"{self.name} {visit.pass_}: {visit.case.id}"
        )
        if event.get("outcome") != "ok":
            self.bar.console.print(f"{visit.case.id}: {event.get('outcome')}: {event.get('reason', '')}", markup=False)

    def end(self) -> None:
        self.bar.stop()


def _err(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201  # the console is this module's task


def show_plan(plan: Plan, estimate: tuple[float, int], *, cases: bool = False) -> None:
    """Print a plan's counts, its estimated time, and what each rule left out."""
    outcomes: dict[str, int] = {}
    for case in plan.cases:
        outcomes[case.outcome or "to run"] = outcomes.get(case.outcome or "to run", 0) + 1
    say(f"{plan.spec.name}: {len(plan.cases)} cases ({', '.join(f'{n} {name}' for name, n in outcomes.items())})")
    time_ns, unknown = estimate
    guess = "; 'plan --calibrate' tells more" if unknown else ""
    known = sum(case.outcome is None for case in plan.cases) - unknown
    if known:
        say(f"  estimated time: {format_ns(time_ns)}" + (f", {unknown} cases unknown{guess}" if unknown else ""))
    else:
        say("  estimated time: unknown before the first run; 'plan --calibrate' visits every case once")
    for rule in plan.spec.rules:
        say(f"  rule {rule.name} left out {len(plan.dropped[rule.name])}: {rule.why}")
    for reason, names in _unsupported(plan).items():
        say(f"  unsupported: {', '.join(names)}: {reason}")
    if cases:
        for case in plan.cases:
            say(f"  {case.id}  {case.provider}  {case.outcome or ''}".rstrip())


def _unsupported(plan: Plan) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for case in plan.cases:
        if case.outcome == "unsupported":
            found.setdefault(case.reason, {})[case.id.rpartition("/")[0]] = None
    return {reason: list(names) for reason, names in found.items()}


def explain(plan: Plan, wanted: str) -> None:
    """Print why a case is in or out of a plan."""
    found = False
    kept = [case for case in plan.cases if wanted in (case.id, case.id.rpartition("/")[0])]
    for case in kept[:1]:
        state = f"ends as {case.outcome}: {case.reason}" if case.outcome else f"runs on {case.provider}"
        sizes = ", ".join(format_size(c.payload_bytes) for c in kept)
        say(f"{plan.spec.name}: {wanted} is in, at {sizes}; it {state}")
        found = True
    for rule in plan.spec.rules:
        if any(wanted in (id_, id_.rpartition("/")[0]) for id_ in plan.dropped[rule.name]):
            say(f"{plan.spec.name}: {wanted} is left out by rule '{rule.name}' ({rule.keep}): {rule.why}")
            found = True
    if not found:
        say(f"{plan.spec.name}: {wanted} is not a combination of this spec's axes")


def show_list(what: str) -> None:
    """Print one of the lists. Raises ``SpecError`` for a list that there is not."""
    lists = {"algorithms": _algorithms, "operators": _operators, "providers": _providers, "specs": _specs}
    if what not in lists:
        raise SpecError(f"there is no list of '{what}'; there are {', '.join(lists)}")
    _print_table(*lists[what]())


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 200
    Console(highlight=False, markup=False, width=width).print(table)


def _algorithms() -> tuple[list[str], list[list[str]]]:
    from .catalog import bundled
    from .provider import offering

    catalog = bundled()
    rows = []
    for a in catalog.algorithms.values():
        names = " ".join(p.name for p in offering(a, catalog.default_order))
        rows.append([a.kind, a.name, a.family, str(a.level or "-"), a.status, a.jose, names])
    return ["kind", "algorithm", "family", "level", "status", "JOSE name", "providers, preferred first"], rows


def _operators() -> tuple[list[str], list[list[str]]]:
    import inspect

    from .discovery import Operators, bundled

    found = Operators([bundled("operators")]).addresses()
    rows = [[a, ", ".join(inspect.signature(f).parameters), (f.__doc__ or "").split("\n")[0]] for a, f in sorted(found.items())]
    return ["operator", "inputs", "what it does"], rows


def _providers() -> tuple[list[str], list[list[str]]]:
    from .provider import availability, providers

    rows = []
    for name, provider in sorted(providers().items()):
        reason = availability(name)
        rows.append([name, "ready" if reason is None else "missing", provider.version() if reason is None else reason])
    return ["provider", "state", "version, or what is missing"], rows


def show_providers() -> None:
    """Print every provider: its state, its version, what it adds, what is missing."""
    from .install import report

    _print_table(["provider", "state", "version", "adds", "missing, and how to get it"], [list(row) for row in report()])


def show_doctor(env: Mapping[str, Any], findings: Sequence[Any]) -> None:
    """Print the machine in a few lines and what to mend."""
    for name, value in env.items():
        shown = {k: v for k, v in value.items() if k != "flags"} if isinstance(value, dict) else value
        say(f"{name}: {shown}")
    for finding in findings:
        say(f"{finding.severity}: {finding.finding}; {finding.mend}")
    if not findings:
        say("nothing to mend")


def _specs() -> tuple[list[str], list[list[str]]]:
    from .discovery import bundled
    from .document import read

    documents = [read(path) for path in sorted(bundled("specs").glob("*.yaml"))]
    return ["spec", "title"], [[str(d.data.get("name")), str(d.data.get("title", ""))] for d in documents]
