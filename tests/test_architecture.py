"""Imports point down, heavy libraries load where they are used, and functions stay short."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import anka_flow

ROOT = Path(anka_flow.__file__).parent
PROJECT = ROOT.parent

# Each module may import those of the lines below its own, never one above. Packages count as one module.
LAYERS = [
    {"cli", "__main__"},
    {"console"},
    {"session", "judge", "install"},
    {"runner", "sinks"},
    {"journal", "lanes", "process", "record", "columns", "estimate"},
    {"results", "environment", "worker"},
    {"plan", "pace"},
    {"catalog", "provider", "spec", "expression", "loop", "discovery", "known_answers"},
    {"pipeline", "document", "meter", "keys"},
    {"stats", "streams", "registry"},
    {"errors", "units", "primitives", "heap"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def imported(path: Path) -> set[str]:
    """Return the anka_flow modules that a file imports at any place, by their first name below the package."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and path.parent == ROOT:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anka_flow."):
            found.add(str(node.module).split(".")[1])
    return found


def test_imports_point_down() -> None:
    """No engine module imports one above itself."""
    faults = []
    for path in ROOT.glob("*.py"):
        if path.stem == "__init__":
            continue
        assert path.stem in RANK, f"give {path.stem} its place in LAYERS"
        above = (name for name in imported(path) & RANK.keys() if RANK[name] < RANK[path.stem])
        faults.extend(f"{path.stem} imports {name}" for name in above)
    assert not faults


def test_the_engine_knows_no_cryptography() -> None:
    """No engine module imports jose, a provider module or an operator by name."""
    for path in ROOT.glob("*.py"):
        if path.stem != "__init__":
            assert not imported(path) & {"jose", "providers", "operators"}, path


def test_constructions_import_primitives_and_little_else() -> None:
    """jose/ knows no provider, no file and no clock."""
    allowed = {"primitives", "errors", "keys", "streams", "jose"}
    for path in (ROOT / "jose").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                assert (node.module or "").split(".")[0] in allowed, f"{path}: {node.module}"
            if isinstance(node, ast.Import):
                assert not {a.name.split(".")[0] for a in node.names} & {"cryptography", "time", "datetime", "pathlib"}, path


def test_operators_go_through_the_door() -> None:
    """An operator file imports anka_flow, its constructions and streams, nothing of the engine and no other operator file."""
    for path in (PROJECT / "operators").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                module = str(node.module)
                if module.startswith("anka_flow."):
                    assert module.split(".")[1] in ("jose", "streams"), f"{path}: {module}"
                assert node.level == 0, path


def test_functions_and_files_stay_short() -> None:
    """No function over 50 lines, no file over 400, in the package and the operators."""
    for path in [*ROOT.rglob("*.py"), *(PROJECT / "operators").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 50, f"{path}:{node.lineno} {node.name}"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_is_light() -> None:
    """``anka-flow --help`` imports neither pyarrow nor cryptography nor pydantic nor numpy."""
    code = (
        "import sys\nsys.argv = ['anka-flow', '--help']\nfrom anka_flow import cli\n"
        "try:\n    cli.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('pyarrow', 'cryptography', 'pydantic', 'numpy', 'scipy', 'yaml') if m in sys.modules])"
    )
    assert run(code).strip().endswith("[]")


def test_a_plan_imports_no_crypto_library() -> None:
    """Planning looks for libraries without loading them; only liboqs is loaded, since whether it loads tells if it is here."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom anka_flow.session import Options, find_spec, plan_spec\n"
        "assert len(plan_spec(find_spec('resign'), Options()).cases) == 312\n"
        "print([m for m in ('pyarrow', 'cryptography', 'pqcrypto', 'jpype', 'Crypto', 'scipy') if m in sys.modules])"
    )
    assert run(code).strip() == "[]"
