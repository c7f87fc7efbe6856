"""Finds operator files, meters and specs: the folder named on the command line, the spec's workspace, what is bundled.

A workspace is the folder that holds ``specs/`` and ``operators/`` around a spec, never merely the current directory, so that
no stray code runs.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import SpecError
from .meter import Meter
from .registry import suggest


def bundled(what: str) -> Path:
    """Return the folder of bundled ``operators`` or ``specs``: in the wheel, or at the top of a checkout."""
    here = Path(__file__).parent
    inside = here / "_bundled" / what
    return inside if inside.is_dir() else here.parent / what


def operator_folders(spec: Path, extra: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return where operators of this spec are looked for, in order."""
    folder = spec.resolve().parent
    workspace = folder.parent if folder.name == "specs" else folder
    found = [*extra, workspace / "operators", bundled("operators")]
    return tuple(dict.fromkeys(p.resolve() for p in found if p.is_dir()))


@dataclass
class Operators:
    """Operators and meters by address (``jwe.encrypt``, ``wall``); a file loads when one of its names is asked for."""

    folders: Sequence[Path]
    _modules: dict[Path, ModuleType] = field(default_factory=dict)

    def get(self, address: str) -> Callable[..., Any]:
        """Return the operator function. Raises ``KeyError`` with the nearest known address."""
        module, _, name = address.partition(".")
        for loaded in self._named(module):
            function: Callable[..., Any] | None = getattr(loaded, name, None)
            if function is not None and hasattr(function, "__anka_operator__"):
                return function
        raise KeyError(f"unknown operator '{address}'{suggest(address, self._near(module))}")

    def meter(self, name: str) -> Meter:
        """Return the meter of the file ``name``. Raises ``KeyError``."""
        for loaded in self._named(name):
            if isinstance(meter := getattr(loaded, "METER", None), Meter):
                return meter
        known = [p.stem for p in self._files() if "METER" in p.read_text(encoding="utf-8")]
        raise KeyError(f"unknown meter '{name}'{suggest(name, known)}")

    def addresses(self) -> dict[str, Callable[..., Any]]:
        """Return every operator; loads every file."""
        names = dict.fromkeys([*(p.stem for p in self._files()), *_points("anka_flow.operators")])
        return {address: self.get(address) for module in names for address in self._addresses(module)}

    def _near(self, module: str) -> list[str]:
        if own := self._addresses(module):
            return own
        return [address for path in self._files() for address in self._addresses(path.stem)]

    def _addresses(self, module: str) -> list[str]:
        found: dict[str, None] = {}
        for loaded in self._named(module):
            found |= {f"{module}.{n}": None for n, f in vars(loaded).items() if hasattr(f, "__anka_operator__")}
        return list(found)

    def _files(self) -> Iterator[Path]:
        for folder in self.folders:
            yield from sorted(p for p in folder.glob("*.py") if not p.name.startswith("_"))

    def _named(self, module: str) -> Iterator[ModuleType]:
        for folder in self.folders:
            if (path := folder / f"{module}.py").is_file():
                if path not in self._modules:
                    self._modules[path] = _load(path)
                yield self._modules[path]
        if module in (points := _points("anka_flow.operators")):
            yield points[module].load()
        if module in (points := _points("anka_flow.meters")):
            yield points[module].load()


def _points(group: str) -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=group)}


def _load(path: Path) -> ModuleType:
    """Run one operator file as a module of its own. Raises ``SpecError`` that names the line that failed."""
    name = f"anka_flow_operators.{abs(hash(path)):x}_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses and annotations look their module up
    try:
        found.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001  # whatever an operator file raises is its author's message
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else 1)
        raise SpecError(f"{path}:{line}:1: cannot be loaded: {type(error).__name__}: {error}") from None
    return module
