"""An installed wheel works outside the project, and a workspace extends it as docs/writing-operators.md tells."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
GUIDE = PROJECT / "docs" / "writing-operators.md"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sources."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(PROJECT)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_claims_no_generic_name(wheel: Path) -> None:
    """Operators and specs ship inside the package; nothing else is installed at the top."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {n.split("/")[0] for n in names if ".dist-info" not in n} == {"anka_flow"}
    assert "anka_flow/_bundled/operators/jws.py" in names
    assert "anka_flow/_bundled/specs/resign.yaml" in names
    assert "anka_flow/py.typed" in names


def said(python: Path, code: str, folder: Path | None = None) -> str:
    done = subprocess.run([str(python), "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_guide_holds_from_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    """The guide's algorithm row, operator file and spec, in an empty folder, run from the wheel."""
    home = tmp_path / "env"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    site = said(python, "import sysconfig; print(sysconfig.get_paths()['purelib'])")
    # The libraries that these tests run on serve the new environment too; only anka-flow itself is installed there.
    import pydantic

    Path(site, "borrowed.pth").write_text(str(Path(pydantic.__file__).parent.parent) + "\n", encoding="utf-8")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"]
    subprocess.run([*pip, str(wheel)], check=True)
    space = tmp_path / "space"
    for name, text in re.findall(r"<!-- file: (\S+) -->\n+```\w+\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        path = space / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (spec,) = (space / "specs").glob("*.yaml")
    command = [str(home / "bin" / "anka-flow"), "run", str(spec), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(home) in said(python, "import anka_flow; print(anka_flow.__file__)", tmp_path)
    (table,) = (tmp_path / "out").glob("*/*/benchmark_*.csv")
    rows = table.read_text(encoding="utf-8").splitlines()
    assert len(rows) > 1
    assert all(",ok," in row for row in rows[1:])
