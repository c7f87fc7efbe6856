"""Spec and catalog to cases: one case a row, with a stable id. Nothing here runs an operator or imports a crypto library."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from . import primitives
from .catalog import Catalog, bundled, load
from .discovery import Operators, operator_folders
from .document import Document
from .errors import SpecError, Unsupported
from .expression import Expression
from .pipeline import Node, StepError, Use, compile_pipeline
from .primitives import Algorithm, Primitive
from .provider import availability, choose, offering, providers
from .registry import suggest
from .spec import Rule, Spec, Step
from .units import format_size

WIRES: Mapping[str, Any] = {"payload_bytes": int, "seed": int, "variant": int}
_TYPES = {
    "kem": primitives.Kem,
    "signature": primitives.Signer,
    "mac": primitives.Mac,
    "aead": primitives.Aead,
    "wrap": primitives.KeyWrap,
}


@dataclass(frozen=True)
class Case:
    """One row. ``id`` names axes and payload (and provider, where that is an axis): stable across runs and machines."""

    id: str
    axes: Mapping[str, Algorithm]
    payload_bytes: int
    providers: Mapping[str, str] = field(default_factory=dict)
    outcome: str | None = None
    reason: str = ""
    offered: int = 1  # how many of the spec's providers are here and offer every algorithm of the case

    @property
    def provider(self) -> str:
        """The providers that serve the case, each once, joined by ``+``."""
        return "+".join(dict.fromkeys(self.providers.values()))

    def names(self) -> dict[str, Any]:
        """Return what rules and ``-k`` may speak of."""
        own = {"payload_bytes": self.payload_bytes, "provider": self.provider, "id": self.id, "offered": self.offered}
        return {**self.axes, **own}


@dataclass(frozen=True)
class Plan:
    """The cases of one spec, the compiled pipeline, and what each rule dropped (rule name to case ids)."""

    spec: Spec
    document: Document
    catalog: Catalog
    folders: tuple[Path, ...]
    uses: tuple[Use, ...]
    nodes: tuple[Node, ...]
    varies: bool
    cases: tuple[Case, ...]
    dropped: Mapping[str, tuple[str, ...]]

    @property
    def hash(self) -> str:
        """Return a digest of all that decides what is measured; a run resumes only under the same one."""
        parts: list[Any] = [self.spec.model_dump(mode="json", by_alias=True), [(c.id, dict(c.providers)) for c in self.cases]]
        parts.append([asdict(a) for c in self.cases[:: max(1, len(self.spec.payloads))] for a in c.axes.values()])
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=list).encode()).hexdigest()[:16]

    def measured(self) -> list[str]:
        return [node.measure for node in self.nodes if node.measure]


def make_plan(
    spec: Spec, document: Document, *, operators: Sequence[Path] = (), prefer: Sequence[str] = (), changed: bool = False
) -> Plan:
    """Return the plan. Raises ``SpecError``; ``changed`` (by ``--set``) waives the spec's ``expect``."""
    path = Path(document.name)
    catalog = _catalog(spec, document, path)
    folders = operator_folders(path, operators)
    axes = {name: _select(spec, document, catalog, name) for name in spec.axes}
    found = Operators(folders)
    uses = _uses(spec, found)
    nodes = compile_spec(spec, document, found, uses)
    order = tuple(prefer or spec.prefer or ())
    for name in [*order, *(spec.providers or ())]:
        if name not in providers():
            raise SpecError(f"unknown provider '{name}'{suggest(name, list(providers()))}")
    rules = [(rule, _expression(document, ("rules", i, "keep"), rule.keep)) for i, rule in enumerate(spec.rules)]
    dropped: dict[str, list[str]] = {rule.name: [] for rule in spec.rules}
    cases = []
    for case in _candidates(spec, catalog, axes, order):
        judged = _judge(case, rules, dropped, document)
        if judged:
            cases.append(judged)
    varies = "variant" in inspect.signature(found.get(spec.payload.use)).parameters
    ids = {k: tuple(v) for k, v in dropped.items()}
    plan = Plan(spec, document, catalog, folders, uses, nodes, varies, tuple(cases), ids)
    if spec.expect and not changed and len(cases) != spec.expect.cases:
        counts = ", ".join(f"{name} dropped {len(ids)}" for name, ids in plan.dropped.items())
        raise document.error(
            ("expect", "cases"), f"expected {spec.expect.cases} cases, found {len(cases)} ({counts or 'no rules'})"
        )
    if not cases:
        raise document.error(("axes",), "no case is left: the axes and rules together select nothing")
    return plan


def _catalog(spec: Spec, document: Document, path: Path) -> Catalog:
    catalog = bundled()
    for i, name in enumerate(spec.catalogs):
        found = path.parent / name
        if not found.is_file():
            raise document.error(("catalogs", i), f"no catalog '{name}' beside the spec")
        catalog = load(found, catalog)
    known = {a.name for a in catalog.algorithms.values()}
    for name in spec.levels:
        if name not in known:
            raise document.error(("levels", name), f"unknown algorithm '{name}'{suggest(name, sorted(known))}")
    return catalog.with_levels(spec.levels, f"spec {spec.name}") if spec.levels else catalog


def _select(spec: Spec, document: Document, catalog: Catalog, axis: str) -> list[Algorithm]:
    wanted = spec.axes[axis]
    fields = {k: getattr(wanted, k) for k in ("kind", "family", "name", "status") if getattr(wanted, k)}
    for key, values in fields.items():
        known = {getattr(a, key) for a in catalog.algorithms.values()}
        for value in values:
            if value not in known:
                raise document.error(
                    ("axes", axis, key), f"no algorithm has the {key} '{value}'{suggest(value, sorted(known))}"
                )
    found = [a for a in catalog.select(**fields) if a.name not in (wanted.exclude or ())]
    if not found:
        raise document.error(("axes", axis), f"axis '{axis}' selects no algorithm")
    return found


def compile_spec(spec: Spec, document: Document, operators: Operators, uses: Sequence[Use]) -> tuple[Node, ...]:
    """Return the spec's compiled pipeline; the payload is its first node."""
    given: dict[str, Any] = dict(WIRES)
    for name, axis in spec.axes.items():
        given[name] = _union(axis.kind)
    for name, shared in spec.shared.items():
        if name in given:
            raise document.error(("shared", name), f"'{name}' is an axis already")
        given[name] = _TYPES[shared.kind]
    if spec.prove:
        try:
            operators.get(spec.prove)
        except KeyError as error:
            raise document.error(("prove",), error.args[0]) from None
    for i, meter in enumerate(spec.meters):
        try:
            operators.meter(meter)
        except KeyError as error:
            raise document.error(("meters", i), error.args[0]) from None
    try:
        return compile_pipeline(uses, given, operators.get, looping=("variant",))
    except StepError as error:
        at = error.at
        where = ("pipeline", int(at[0]) - 1, *at[1:]) if at and at[0] else ("payload", *at[1:]) if at else ("pipeline",)
        raise document.error(where, str(error)) from None


def _union(kinds: Sequence[str]) -> Any:
    found: Any = _TYPES[kinds[0]]
    for kind in kinds[1:]:
        found = found | _TYPES[kind]
    return found


def _uses(spec: Spec, operators: Operators) -> tuple[Use, ...]:
    return (_payload(spec.payload, operators), *(_use(step) for step in spec.pipeline))


def _use(step: Step) -> Use:
    return Use(step.id, step.use, step.inputs, step.measure, step.each, step.once)


def _payload(step: Step, operators: Operators) -> Use:
    """Return the payload step with the wires its operator asks for and the spec left out."""
    try:
        asked = list(inspect.signature(operators.get(step.use)).parameters)
    except KeyError:
        asked = []  # compile_pipeline reports it with its place
    inputs: dict[str, Any] = {name: f"${name}" for name in ("payload_bytes", "seed") if name in asked}
    return Use("payload", step.use, {**inputs, **step.inputs}, each=step.each)


def _expression(document: Document, at: Sequence[str | int], text: str) -> Expression:
    try:
        return Expression(text)
    except ValueError as error:
        raise document.error(at, str(error)) from None


def _candidates(spec: Spec, catalog: Catalog, axes: Mapping[str, Sequence[Algorithm]], order: Sequence[str]) -> Iterator[Case]:
    """Yield every combination of axes, payloads and, where it is an axis, provider."""
    shared = {name: catalog.get(s.kind, s.name) for name, s in spec.shared.items()}
    for combination in itertools.product(*axes.values()):
        chosen = dict(zip(axes, combination, strict=True))
        able = [n for n in spec.providers or () if all(_offered(a, n, catalog) for a in chosen.values())]
        present = sum(availability(name) is None for name in able)
        for only in ((name,) for name in able) if spec.providers else (order,):
            served, outcome, reason = _providers(chosen, shared, catalog, only, order)
            suffix = f"@{only[0]}" if spec.providers else ""
            label = "+".join(a.name for a in combination) + suffix
            for size in spec.payloads:
                yield Case(f"{label}/{format_size(size).replace(' ', '')}", chosen, size, served, outcome, reason, present)


def _offered(algorithm: Algorithm, provider: str, catalog: Catalog) -> bool:
    found = next((p for p in offering(algorithm, catalog.default_order) if p.name == provider), None)
    return found is not None and found.refusal(algorithm) is None


def _providers(
    chosen: Mapping[str, Algorithm],
    shared: Mapping[str, Algorithm],
    catalog: Catalog,
    only: Sequence[str],
    order: Sequence[str],
) -> tuple[dict[str, str], str | None, str]:
    """Return which provider serves each wire, or the outcome ``unsupported`` with its reason."""
    served: dict[str, str] = {}
    for name, algorithm in [*chosen.items(), *shared.items()]:
        try:
            served[name] = _choose(algorithm, catalog, tuple(only) if name in chosen else tuple(order)).name
        except Unsupported as error:
            return {n: p for n, p in served.items() if n in chosen}, "unsupported", str(error)
    return served, None, ""


def _choose(algorithm: Algorithm, catalog: Catalog, only: tuple[str, ...]) -> Any:
    return choose(algorithm, catalog.default_order, only)


def _judge(
    case: Case, rules: Sequence[tuple[Rule, Expression]], dropped: dict[str, list[str]], document: Document
) -> Case | None:
    """Return the case as the rules leave it, or None if one drops it."""
    for i, (rule, keep) in enumerate(rules):
        try:
            kept = keep(case.names())
        except ValueError as error:
            raise document.error(("rules", i, "keep"), str(error)) from None
        if kept:
            continue
        if rule.otherwise == "drop":
            dropped[rule.name].append(case.id)
            return None
        return replace(
            case, outcome="failed" if rule.otherwise == "fail" else "skipped", reason=f"rule {rule.name}: {rule.why}"
        )
    return case


def matcher(text: str) -> Callable[[Case], bool]:
    """Return the test of ``-k``: a part of a case's id, or an expression over its axes. Raises ``SpecError``."""
    if not any(c in text for c in "=<>()'\"") and " and " not in text and " or " not in text and not text.startswith("not "):
        return lambda case: text.lower() in case.id.lower()
    try:
        expression = Expression(text)
    except ValueError as error:
        raise SpecError(f"-k: {error}") from None

    def matches(case: Case) -> bool:
        try:
            return expression(case.names())
        except ValueError as error:
            raise SpecError(f"-k: {error}") from None

    return matches


@cache
def primitive(kind: str, name: str, provider: str = "") -> Primitive:
    """Return an algorithm made usable, by the named provider or the preferred one that is present.

    Raises ``KeyError`` for an unknown algorithm or provider, ``Unsupported`` where no present provider offers it.
    """
    catalog = bundled()
    algorithm = catalog.get(kind, name)
    if provider:
        providers().get(provider)
    return choose(algorithm, catalog.default_order, (provider,) if provider else ()).implement(algorithm)
