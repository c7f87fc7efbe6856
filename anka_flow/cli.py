"""The command line. Reads as: load, plan, run, record, exit code. Heavy modules load inside the commands that use them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .errors import AnkaError, Regression

app = typer.Typer(
    no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Declarative benchmarks of cryptography: what an algorithm costs, from which library, on your machine.",
)  # fmt: skip
provider_app = typer.Typer(invoke_without_command=True, help="Show, install and remove crypto libraries.")
app.add_typer(provider_app, name="providers")

Specs = Annotated[list[str], typer.Argument(help="Spec files, folders of specs, or names of bundled specs.")]
Select = Annotated[str, typer.Option("-k", metavar="EXPR", help="Only cases whose id holds EXPR, or for which it is true.")]
Settings = Annotated[
    list[str],
    typer.Option(
        "--set", default_factory=list, show_default=False, metavar="KEY=VALUE", help="Change a value of the spec: run.rounds=1"
    ),
]
Prefer = Annotated[str, typer.Option("--provider", metavar="NAMES", help="Only these providers, in this order, by commas.")]
Folders = Annotated[
    list[Path],
    typer.Option("--operators", default_factory=list, show_default=False, metavar="DIR", help="Look for operators here first."),
]


@app.command()
def run(
    specs: Annotated[list[str] | None, typer.Argument(help="Spec files, folders of specs, or bundled names.")] = None,
    *,
    select: Select = "",
    warmup: Annotated[int | None, typer.Option(min=0, help="Warm-up calls, over all rounds.")] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Readings, over all rounds.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Fresh processes that visit every case.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One round: figures without certainty.")] = False,
    settings: Settings,
    provider: Prefer = "",
    operators: Folders,
    out: Annotated[Path, typer.Option(help="Where results go.")] = Path("out"),
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="Go on with an interrupted run.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail when an algorithm is unsupported here.")] = False,
) -> None:
    """Run specs and write table, CSV and Parquet under OUT/<spec>/<stamp>/."""
    from . import console, session

    if resume is not None:
        raise typer.Exit(session.resume(resume, console.watcher(), console.say))
    budget = {"warmup": warmup, "iterations": iterations, "rounds": 1 if quick else rounds}
    changes = [*settings, *(f"run.{k}={v}" for k, v in budget.items() if v is not None)]
    options = session.Options(
        tuple(changes), select, _names(provider), tuple(str(p.resolve()) for p in operators), strict=strict
    )
    paths = session.find_specs(specs or [])
    codes = [session.run_spec(path, options, out, console.watcher(), console.say) for path in paths]
    raise typer.Exit(max(codes, key=lambda code: (code == 1, code)))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@app.command()
def plan(
    specs: Specs,
    *,
    select: Select = "",
    settings: Settings,
    provider: Prefer = "",
    operators: Folders,
    explain: Annotated[str, typer.Option(metavar="CASE", help="Say why a case is in or out.")] = "",
    cases: Annotated[bool, typer.Option("--cases", help="List every case.")] = False,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Visit every case once, to tell the time.")] = False,
) -> None:
    """Show the cases of specs and what each rule dropped; run nothing."""
    from . import console, session

    options = session.Options(tuple(settings), select, _names(provider), tuple(str(p.resolve()) for p in operators))
    for path in session.find_specs(specs):
        if calibrate:
            session.calibrate(path, options, console.watcher())
        planned = session.plan_spec(path, options)
        if explain:
            console.explain(planned, explain)
        else:
            console.show_plan(planned, session.estimate(planned), cases=cases)


@app.command()
def validate(specs: Specs, operators: Folders) -> None:
    """Check specs; say nothing of good ones but their names and counts."""
    from . import console, session

    options = session.Options(operators=tuple(str(p.resolve()) for p in operators))
    for path in session.find_specs(specs):
        console.say(f"{path}: {len(session.plan_spec(path, options).cases)} cases")


@app.command("list")
def list_(what: Annotated[str, typer.Argument(help="algorithms, operators, providers or specs")]) -> None:
    """List what there is: algorithms, operators, providers, specs."""
    from . import console

    console.show_list(what)


@app.command()
def schema() -> None:
    """Print the JSON schema of a spec, for editors."""
    import json

    from .spec import Spec

    print(json.dumps(Spec.model_json_schema(by_alias=True), indent=1))  # noqa: T201  # the command's output


@app.command()
def compare(
    a: Annotated[str, typer.Argument(help="A run's folder, a CSV of the published columns, or reference:NAME.")],
    b: Annotated[str, typer.Argument(help="What is held against A.")],
    fail_on: Annotated[
        list[str],
        typer.Option(
            "--fail-on", default_factory=list, show_default=False, metavar="LIMIT", help='As in "wall:+5%"; ends with code 4.'
        ),
    ],
    threshold: Annotated[float | None, typer.Option(min=0, help="The smallest share of change worth a verdict.")] = None,
    absolute: Annotated[bool, typer.Option("--absolute", help="Judge rows as they are, the common shift left in.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Compare runs of different machines or builds.")] = False,
    format_: Annotated[str, typer.Option("--format", help="table, md, json or junit")] = "table",
) -> None:
    """Hold two runs, or a run and a published table, against each other."""
    from . import console
    from .judge import compare as judge
    from .judge import rendering, verdict

    smallest = verdict.THRESHOLD if threshold is None else threshold
    found = judge.compare(a, b, fail_on=fail_on, absolute=absolute, threshold=smallest, force=force)
    console.say(rendering.render(found, format_))
    if found.violations:
        raise Regression("; ".join(map(str, found.violations)))


@app.command()
def doctor() -> None:
    """Say what disturbs measuring on this machine and what to mend; change nothing."""
    from . import console, environment

    env = environment.collect()
    findings = environment.doctor(env)
    console.show_doctor(env, findings)
    raise typer.Exit(3 if any(f.severity == "unfit" for f in findings) else 0)


@app.command()
def selftest() -> None:
    """Check on this machine that verdicts are right: no false alarm, no missed change. Takes under two minutes."""
    from . import console
    from .judge import selftest as module

    report = module.selftest(console.say)
    raise typer.Exit(0 if report.passed else 1)


@provider_app.callback(invoke_without_command=True)
def providers(context: typer.Context) -> None:
    """Show which libraries are here, what each adds, and how to get those that are missing."""
    from . import console

    if context.invoked_subcommand is None:
        console.show_providers()


@provider_app.command()
def install(
    names: Annotated[list[str] | None, typer.Argument(help="Providers to build or fetch.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every provider that can be installed.")] = False,
    jar: Annotated[Path | None, typer.Option(help="BouncyCastle's jar, where Maven cannot fetch it.")] = None,
) -> None:
    """Build or fetch providers into the user's data folder. Nothing is built or fetched without this command."""
    from . import console
    from . import install as module

    module.install(list(module.NAMES) if all_ else names or [], jar=jar, progress=console.say)


@provider_app.command()
def uninstall(names: Annotated[list[str], typer.Argument(help="Providers to remove.")]) -> None:
    """Remove what ``install`` brought."""
    from . import console
    from . import install as module

    for name in module.uninstall(names, progress=console.say):
        console.say(f"{name}: removed")


def main() -> None:
    """Run the command line; errors that a user can meet are one line, not a traceback."""
    try:
        app()
    except AnkaError as error:
        print(f"anka-flow: {error}", file=sys.stderr)  # noqa: T201  # the one place that reports
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("anka-flow: interrupted", file=sys.stderr)  # noqa: T201  # the one place that reports
        sys.exit(130)
