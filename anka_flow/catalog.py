"""The catalog: what algorithms there are. Loading, extending and selecting; nothing here implements or runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from .document import Document, read
from .primitives import KINDS, Algorithm
from .registry import suggest

_FIELDS = {f.name for f in fields(Algorithm)}
_TYPES: Mapping[str, type] = {f.name: type(f.default) for f in fields(Algorithm) if isinstance(f.default, (str, bool, int))}


@dataclass(frozen=True)
class Catalog:
    """Algorithms by id (``kind:name``) and the default order of providers."""

    algorithms: Mapping[str, Algorithm]
    default_order: tuple[str, ...]

    def get(self, kind: str, name: str) -> Algorithm:
        """Raises ``KeyError`` with the nearest known name."""
        try:
            return self.algorithms[f"{kind}:{name}"]
        except KeyError:
            known = [a.name for a in self.algorithms.values() if a.kind == kind]
            raise KeyError(f"unknown {kind} algorithm '{name}'{suggest(name, known)}") from None

    def select(self, **wanted: Iterable[str]) -> list[Algorithm]:
        """Return the algorithms whose named fields hold one of the wanted values, in catalog order."""
        return [a for a in self.algorithms.values() if all(getattr(a, key) in values for key, values in wanted.items())]

    def with_levels(self, levels: Mapping[str, int], source: str) -> Catalog:
        """Return a catalog in which the named algorithms have another level (a spec's own view)."""
        changed = {
            key: replace(a, level=levels[a.name], level_source=source) if a.name in levels else a
            for key, a in self.algorithms.items()
        }
        return Catalog(changed, self.default_order)


@lru_cache(maxsize=1)
def bundled() -> Catalog:
    """Return the catalog that ships with anka-flow."""
    return load(Path(__file__).with_name("catalog.yaml"))


def load(path: Path, onto: Catalog | None = None) -> Catalog:
    """Return the catalog in ``path``, laid over ``onto``: a row of a known id changes only the fields it names.

    Raises ``SpecError`` with file, line and column.
    """
    document = read(path)
    _only(document, (), document.data, {"schema", "default_order", "level_sources", "algorithms"})
    sources = document.data.get("level_sources") or {}
    rows = document.data.get("algorithms")
    if not isinstance(rows, list) or not rows:
        raise document.error(("algorithms",), "'algorithms' must be a list of algorithm rows")
    known = dict(onto.algorithms) if onto else {}
    seen: set[str] = set()
    for index, row in enumerate(rows):
        algorithm = _row(document, index, row, known, sources)
        if algorithm.id in seen:
            raise document.error(("algorithms", index), f"algorithm '{algorithm.id}' is listed twice")
        seen.add(algorithm.id)
        known[algorithm.id] = algorithm
    order = tuple(document.data.get("default_order") or (onto.default_order if onto else ()))
    return Catalog(known, order)


def _row(document: Document, index: int, row: Any, known: Mapping[str, Algorithm], sources: Any) -> Algorithm:
    at = ("algorithms", index)
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or row.get("kind") not in KINDS:
        raise document.error(at, f"an algorithm row needs a 'name' and a 'kind' of {', '.join(KINDS)}")
    _only(document, at, row, _FIELDS)
    for key, value in row.items():
        _check_type(document, (*at, key), key, value)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    base = known.get(f"{row['kind']}:{row['name']}")
    if base is not None:
        return replace(base, **values)
    for key in ("family", "kty"):
        values.setdefault(key, row["name"] if key == "family" else row["kind"])
    family = values["family"]
    nearest = sources.get(family) or sources.get(str(family).split("-")[0]) or sources.get("default", "")
    values.setdefault("level_source", nearest if values.get("level") else "")
    return Algorithm(**values)


def _check_type(document: Document, at: tuple[str | int, ...], key: str, value: Any) -> None:
    if key == "prefer":
        good = isinstance(value, list) and all(isinstance(v, str) for v in value)
        wanted = "a list of provider names"
    elif key == "sizes":
        good = isinstance(value, dict) and all(type(v) is int and v > 0 for v in value.values())
        wanted = "a mapping of names to octets"
    elif key in ("mechanisms", "notes"):
        good = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
        wanted = "a mapping of names to text"
    else:
        kind = _TYPES.get(key, str)
        good, wanted = type(value) is kind, {str: "text", bool: "true or false", int: "a whole number"}[kind]
    if not good:
        raise document.error(at, f"'{key}' must be {wanted}")


def _only(document: Document, at: tuple[str | int, ...], data: Mapping[str, Any], allowed: set[str]) -> None:
    for key in data:
        if key not in allowed:
            raise document.error((*at, key), f"unknown key '{key}'{suggest(key, sorted(allowed))}")
