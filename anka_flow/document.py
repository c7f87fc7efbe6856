"""A YAML file as plain data with the place of every value, so that errors can name line and column.

The only module that imports yaml. It refuses what a spec never needs: duplicate keys, files above 1 MiB, aliases
that would expand to more than 100,000 values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from .errors import SpecError

MAX_BYTES = 1 << 20
MAX_NODES = 100_000
MAX_DEPTH = 50
PathTo: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """``data`` as YAML gives it; ``places`` maps the path of a value to its (line, column), both from 1."""

    name: str
    data: dict[str, Any]
    places: dict[PathTo, tuple[int, int]] = field(default_factory=dict)

    def place(self, path: Sequence[str | int]) -> str:
        """Return ``file:line:column`` of the value at ``path`` or of its nearest enclosing value."""
        at = tuple(path)
        while at and at not in self.places:
            at = at[:-1]
        line, column = self.places.get(at, (1, 1))
        return f"{self.name}:{line}:{column}"

    def error(self, path: Sequence[str | int], message: str) -> SpecError:
        return SpecError(f"{self.place(path)}: {message}")


def read(path: Path) -> Document:
    """Return the YAML mapping in ``path``. Raises ``SpecError`` with the place for anything else."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(raw) > MAX_BYTES:
        raise SpecError(f"{path}:1:1: is larger than {MAX_BYTES:,} bytes; no spec or catalog needs that")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}:{line}:1: is not UTF-8 text") from None
    return parse(str(path), text)


def parse(name: str, text: str) -> Document:
    """Return the YAML mapping in ``text``; ``name`` stands for the file in errors."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            place = root.start_mark if root is not None else None
            at = f"{place.line + 1}:{place.column + 1}" if place else "1:1"
            raise SpecError(f"{name}:{at}: must be a mapping of keys to values")
        walk = _Walk(name, loader)
        data = walk.value(root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        raise SpecError(f"{name}:{at}: is not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise SpecError(f"{name}:1:1: is not valid YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise SpecError(f"{name}:1:1: is nested too deeply") from None
    finally:
        loader.dispose()
    return Document(name, data, walk.places)


class _Walk:
    """Turns yaml nodes into data, keeping places and counting values."""

    def __init__(self, name: str, loader: Any) -> None:
        self.name, self.loader = name, loader
        self.places: dict[PathTo, tuple[int, int]] = {}
        self.count = 0

    def fail(self, node: Any, message: str) -> SpecError:
        return SpecError(f"{self.name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}: {message}")

    def value(self, node: Any, path: PathTo) -> Any:
        self.count += 1
        if self.count > MAX_NODES or len(path) > MAX_DEPTH:
            raise self.fail(node, "expands to too many or too deep values; write it out without nested anchors")
        if node.id != "scalar" and node.tag != f"tag:yaml.org,2002:{'map' if node.id == 'mapping' else 'seq'}":
            raise self.fail(node, f"is not valid YAML here: the tag '{node.tag}' means nothing in a spec")
        self.places[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        if node.id == "mapping":
            return self.mapping(node, path)
        if node.id == "sequence":
            return [self.value(child, (*path, i)) for i, child in enumerate(node.value)]
        try:
            return self.loader.construct_object(node)
        except ValueError as error:
            raise self.fail(node, f"is not a valid value: {error}") from None

    def mapping(self, node: Any, path: PathTo) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                raise self.fail(key_node, "a key must be plain text")
            key = str(key_node.value)
            if key in result:
                raise self.fail(key_node, f"duplicate key '{key}'")
            result[key] = self.value(value_node, (*path, key))
            self.places[(*path, key)] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        return result
