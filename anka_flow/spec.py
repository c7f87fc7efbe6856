"""The YAML spec as typed, validated data. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from .document import Document, parse, read
from .errors import SpecError
from .registry import suggest
from .units import parse_duration_ns, parse_size

MOST_LAPS = 8  # visits to a case in one round

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
SizeBytes = Annotated[int, BeforeValidator(parse_size), Field(ge=0)]
DurationNs = Annotated[int, BeforeValidator(parse_duration_ns), Field(ge=0)]
Many = Annotated[tuple[str, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v), Field(min_length=1)]
Scalar = str | int | float | bool


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Axis(_Part):
    """Which algorithms an axis takes from the catalog, in catalog order; a value or a list of values per field."""

    kind: Many
    family: Many | None = None
    name: Many | None = None
    status: Many | None = None
    exclude: Many | None = Field(default=None, description="names to leave out")


class Shared(_Part):
    """One algorithm that every case uses, such as the content cipher of a KEM suite."""

    kind: Literal["kem", "signature", "mac", "aead", "wrap"]
    name: str


class Rule(_Part):
    """Keeps a case where ``keep`` is true. Else drops it, or plans it to end as ``skipped`` or ``failed`` with ``why``."""

    name: str
    keep: str
    why: str
    otherwise: Literal["drop", "skip", "fail"] = "drop"


class Expect(_Part):
    cases: int


class Run(_Part):
    """How often. ``warmup`` and ``iterations`` are totals, spread over the rounds; no ``warmup``: until steady."""

    warmup: int | None = Field(default=5, ge=0)
    iterations: int = Field(default=10, ge=1)
    rounds: int = Field(default=5, ge=1, le=1000)
    lanes: int = Field(default=1, ge=1, le=64, description="cases timed at the same time; above 1 is quicker and less exact")
    min_time: DurationNs = Field(
        default=0, description="readings of the costliest step add up to at least this over the rounds"
    )
    timeout: DurationNs = Field(default=300 * 10**9, description="for one case in one round")
    seed: int = Field(default=0xC0FFEE_BABEFACE, ge=0, lt=1 << 64)

    def laps(self, iteration_ns: float) -> int:
        """Return in how many visits a round reads a case whose iteration takes so long.

        A machine's slow moments last for several cases. What ``min_time`` asks of a cheap case is read in visits far apart, so
        that such a moment meets one of them and not the whole round.
        """
        if self.rounds == 1 or iteration_ns <= 0:
            return 1
        return int(max(1, min(MOST_LAPS, MOST_LAPS * (self.min_time // self.rounds) // iteration_ns)))


class Step(_Part):
    """One use of an operator. ``measure`` names its row of measurements; ``once`` runs it in the proving pass only."""

    id: Name | None = None
    use: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*$")]
    inputs: Mapping[Name, Scalar] = Field(default_factory=dict, alias="with")
    measure: Name | None = None
    each: bool = False
    once: bool = False


class Spec(_Part):
    """A benchmark: which algorithms, which payloads, which steps, what is measured, what is written."""

    name: Name
    title: str = ""
    description: str = ""
    slug: Name | None = Field(default=None, description="the name in the CSV's file name, if it is not the spec's")
    catalogs: tuple[str, ...] = ()
    levels: Mapping[str, int] = Field(default_factory=dict, description="security categories for this spec alone")
    axes: Mapping[Name, Axis] = Field(min_length=1)
    shared: Mapping[Name, Shared] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    providers: Many | None = Field(default=None, description="makes the provider an axis: a row per provider that offers it")
    prefer: Many | None = Field(default=None, description="only these providers, in this order")
    payloads: Annotated[tuple[SizeBytes, ...], Field(min_length=1)]
    payload: Step = Step(use="payload.seeded", id="payload")
    expect: Expect | None = None
    run: Run = Run()
    meters: Annotated[tuple[Name, ...], Field(min_length=1)] = ("wall", "cpu", "memory")
    prove: str | None = Field(default="prove.primitive", description="operator that proves each algorithm before it is timed")
    pipeline: Annotated[tuple[Step, ...], Field(min_length=1)]
    columns: Mapping[str, str] = Field(default_factory=dict)


def load(path: Path, settings: Sequence[str] = ()) -> tuple[Spec, Document]:
    """Return the spec in ``path``, with ``settings`` (``run.rounds=1``) laid over it, and the document for places.

    Raises ``SpecError`` with file, line and column.
    """
    document = read(path)
    for setting in settings:
        _apply(document, setting)
    try:
        return Spec.model_validate(document.data), document
    except ValidationError as error:
        raise _explain(document, error) from None


def _apply(document: Document, setting: str) -> None:
    """Lay one ``key.path=value`` over the document; the value is YAML."""
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise SpecError(f"--set {setting}: write it key=value, as in run.rounds=1")
    value = parse("--set", f"value: {text}").data["value"]
    target: Any = document.data
    *way, last = key.strip().split(".")
    for name in way:
        target = target.setdefault(name, {}) if isinstance(target, dict) else _item(target, name, setting)
    if isinstance(target, dict):
        target[last] = value
    else:
        _item(target, last, setting)
        target[int(last)] = value


def _item(target: Any, name: str, setting: str) -> Any:
    if isinstance(target, list) and name.isdigit() and int(name) < len(target):
        return target[int(name)]
    raise SpecError(f"--set {setting}: '{name}' does not lead to a value of the spec")


def _explain(document: Document, error: ValidationError) -> SpecError:
    """Return the first error in words, with its place and the count of the others."""
    first, *others = error.errors(include_url=False, include_context=False)
    at = [p for p in first["loc"] if not (isinstance(p, str) and ("[" in p or p in ("str", "int", "float", "bool")))]
    shown = ".".join(map(str, at))
    message = {
        "extra_forbidden": f"unknown key '{at[-1] if at else ''}'{suggest(str(at[-1]), _keys(at[:-1])) if at else ''}",
        "missing": f"'{shown}' is missing",
        "too_short": f"'{shown}' must not be empty",
    }.get(first["type"], f"'{shown}': {first['msg'].removeprefix('Value error, ')}")
    more = f" (and {len(others)} more)" if len({e["loc"][: len(at)] for e in others}) > 0 else ""
    return document.error(at, message[0].lower() + message[1:] + more)


def _keys(at: Sequence[str | int]) -> list[str]:
    """Return the keys that the part of a spec at ``at`` may have, for suggestions."""
    parts: dict[str, type[BaseModel]] = {"axes": Axis, "shared": Shared, "rules": Rule, "run": Run, "pipeline": Step}
    model = parts.get(str(at[0]), Spec) if at else Spec
    return [field.alias or name for name, field in model.model_fields.items()]
