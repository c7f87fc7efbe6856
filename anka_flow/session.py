"""One run from a spec to its files: plan, folder, journal, workers, sinks, exit code. The console is the caller's."""

from __future__ import annotations

import datetime
import importlib
import json
import pkgutil
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from . import __version__, environment
from .columns import compile_columns
from .discovery import Operators, bundled
from .errors import Interrupted, SpecError, Unfit
from .estimate import estimate_ns, known_costs, remember
from .journal import Journal
from .plan import Plan, make_plan, matcher
from .provider import availability, providers
from .record import assemble
from .results import CaseResult, ResultSink, RunInfo
from .runner import Runner, Visit
from .spec import load


@dataclass(frozen=True)
class Options:
    """What the command line says beside the spec. A resumed run takes them from its journal."""

    settings: tuple[str, ...] = ()
    select: str = ""
    prefer: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    strict: bool = False


class Watcher(Protocol):
    """Hears how a run goes on."""

    def begin(self, plan: Plan, runner: Runner) -> None: ...
    def visited(self, visit: Visit, event: Mapping[str, Any]) -> None: ...
    def end(self) -> None: ...


def find_spec(name: str) -> Path:
    """Return the spec's file: a path, or the name of a bundled spec. Raises ``SpecError``."""
    path = Path(name)
    if path.is_file():
        return path
    inside = bundled("specs") / f"{path.stem}.yaml"
    if inside.is_file() and path.name in (path.stem, f"{path.stem}.yaml"):
        return inside
    raise SpecError(f"{name}: no such file, and no bundled spec of that name; 'anka-flow list specs' shows them")


def find_specs(names: Iterable[str]) -> list[Path]:
    """Return the specs of files, names and folders; a folder stands for the specs in it."""
    found: list[Path] = []
    for name in names:
        folder = Path(name)
        found += sorted(folder.glob("*.yaml")) if folder.is_dir() else [find_spec(name)]
    if not found:
        raise SpecError(f"no spec in {', '.join(names)}")
    return found


def plan_spec(path: Path, options: Options) -> Plan:
    """Return the plan of a spec under the options, with only the cases that ``-k`` selects."""
    spec, document = load(path, options.settings)
    changed = any(s.split("=")[0].split(".")[0] not in ("run", "meters", "columns", "prove") for s in options.settings)
    folders = [Path(p) for p in options.operators]
    plan = make_plan(spec, document, operators=folders, prefer=options.prefer, changed=changed)
    if not options.select:
        return plan
    wanted = matcher(options.select)
    cases = tuple(case for case in plan.cases if wanted(case))
    if not cases:
        raise Unfit(f"-k {options.select}: none of the {len(plan.cases)} cases matches; 'anka-flow plan' shows their ids")
    return replace(plan, cases=cases)


def run_spec(
    path: Path, options: Options, out: Path, watcher: Watcher, say: Callable[[str], None], *, quiet: bool = False
) -> int:
    """Run a spec in a new folder under ``out``; return the exit code. ``quiet`` writes the files but no table."""
    plan = plan_spec(path, options)
    _columns(plan)
    stamp = datetime.datetime.now().astimezone().strftime("%Y%m%d_%H%M%S")
    folder = _new_folder(out / plan.spec.name, stamp)
    env = environment.collect(path.resolve().parent)
    header = {
        "schema": 1, "spec": str(path.resolve()), "options": asdict(options), "stamp": stamp,
        "plan_hash": plan.hash, "machine": environment.fingerprint(env),
    }  # fmt: skip
    journal = Journal(folder / "journal.jsonl")
    journal.append(header)
    return _carry_out(plan, journal, folder, stamp, options, env, watcher, say, quiet=quiet)


def resume(folder: Path, watcher: Watcher, say: Callable[[str], None]) -> int:
    """Go on with an interrupted run. Raises ``Unfit`` if spec, options or machine are not what they were."""
    if not (folder / "journal.jsonl").is_file():
        raise Unfit(f"{folder}: holds no journal, so there is no run to resume")
    journal = Journal(folder / "journal.jsonl")
    header = journal.events[0] if journal.events else {}
    if header.get("schema") != 1:
        raise Unfit(f"{folder}: the journal does not say which run it is of; start a new run")
    stored: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in header["options"].items()}
    options = Options(**stored)
    plan = plan_spec(Path(header["spec"]), options)
    env = environment.collect(Path(header["spec"]).parent)
    for was, now, what in (
        (header["plan_hash"], plan.hash, "the spec, its catalog or the providers have changed"),
        (header["machine"], environment.fingerprint(env), "this is another machine or another build"),
    ):
        if was != now:
            raise Unfit(f"{folder}: cannot be resumed: {what}; start a new run")
    return _carry_out(plan, journal, folder, header["stamp"], options, env, watcher, say)


def calibrate(path: Path, options: Options, watcher: Watcher) -> None:
    """Visit every case once in every pass, keep what it cost, and forget the figures."""
    once = ("run.rounds=1", "run.warmup=0", "run.iterations=1", "run.min_time=0")
    brief = replace(options, settings=(*options.settings, *once))
    with tempfile.TemporaryDirectory() as folder:
        run_spec(path, brief, Path(folder), watcher, lambda _: None, quiet=True)


def estimate(plan: Plan) -> tuple[float, int]:
    """Return how many nanoseconds the plan will take here, and how many cases that knows nothing of."""
    env = environment.collect()
    memory = "bytes" in _units(plan).values()
    return estimate_ns(plan, environment.fingerprint(env), memory=memory, cores=environment.cores(env))


def _new_folder(parent: Path, stamp: str) -> Path:
    """Return a fresh folder of this run. Raises ``Unfit`` where nothing can be written."""
    for suffix in ["", *(f"_{n}" for n in range(2, 100))]:
        folder = parent / (stamp + suffix)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise Unfit(f"{folder}: cannot be made: {(error.strerror or '').lower()}; name another folder with --out") from None
        return folder
    raise Unfit(f"{parent}: too many runs within one second")


def _columns(plan: Plan) -> None:
    compile_columns(plan, _units(plan))


def _units(plan: Plan) -> dict[str, str]:
    operators = Operators(plan.folders)
    return {name: operators.meter(name).unit for name in plan.spec.meters}


def _carry_out(
    plan: Plan, journal: Journal, folder: Path, stamp: str, options: Options, env: Mapping[str, Any],
    watcher: Watcher, say: Callable[[str], None], *, quiet: bool = False,
) -> int:  # fmt: skip
    costs = known_costs(plan, environment.fingerprint(env))
    runner = Runner(plan, journal, folder, watcher.visited, environment.taint_probe, environment.cores(env), costs)
    sinks = [sink() for name, sink in sink_types().items() if not (quiet and name == "table")]
    run = RunInfo(plan, folder, stamp, _units(plan), _versions(plan), env)
    try:
        for sink in sinks:
            sink.open(run)
        watcher.begin(plan, runner)
        try:
            runner.run()
        finally:
            watcher.end()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; what finished is kept: go on with 'anka-flow run --resume {folder}'") from None
    results = list(assemble(plan, runner.done, runner.clocks, run.units))
    code = exit_code(results, strict=options.strict)
    try:
        _write(run, runner, results, sinks, code, say)
    except OSError as error:
        raise Unfit(
            f"{folder}: results cannot be written: {(error.strerror or str(error)).lower()}; what finished is kept: "
            f"make room and go on with 'anka-flow run --resume {folder}'"
        ) from None
    remember(plan, environment.fingerprint(env), runner.done.values())
    journal.close()
    shutil.rmtree(folder / "keys", ignore_errors=True)
    return code


def _write(
    run: RunInfo,
    runner: Runner,
    results: Sequence[CaseResult],
    sinks: Sequence[ResultSink],
    code: int,
    say: Callable[[str], None],
) -> None:
    for result in results:
        for sink in sinks:
            sink.write(result)
    record = {
        "schema": 1, "spec": run.plan.spec.model_dump(mode="json", by_alias=True), "environment": run.environment,
        "versions": {**run.versions, "anka-flow": __version__}, "seed": run.plan.spec.run.seed, "plan_hash": run.plan.hash,
        "started": run.stamp, "clocks": runner.clocks, "tainted": runner.tainted, "exit_code": code,
        "outcomes": {r.case.id: r.outcome for r in results},
    }  # fmt: skip
    partial = run.folder / "run.partial"
    partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    partial.replace(run.folder / "run.json")
    for line in [sink.close() for sink in sinks]:
        if line:
            say(line)


def sink_types() -> dict[str, type[ResultSink]]:
    """Return every sink: the modules of ``anka_flow.sinks`` and entry points ``anka_flow.sinks``."""
    from importlib.metadata import entry_points

    package = importlib.import_module("anka_flow.sinks")
    found: dict[str, type[ResultSink]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        found[info.name] = importlib.import_module(f"anka_flow.sinks.{info.name}").SINK
    return found | {point.name: point.load() for point in entry_points(group="anka_flow.sinks")}


def _versions(plan: Plan) -> dict[str, str]:
    names = dict.fromkeys(name for case in plan.cases for name in case.providers.values())
    return {name: providers().get(name).version() for name in names if availability(name) is None}


def exit_code(results: Sequence[CaseResult], *, strict: bool = False) -> int:
    """Return 0 if all is well, 1 if a case failed, 3 if no case could run."""
    outcomes = {r.outcome for r in results}
    if outcomes & {"failed", "timeout"} or (strict and "unsupported" in outcomes):
        return 1
    return 0 if "ok" in outcomes else 3
