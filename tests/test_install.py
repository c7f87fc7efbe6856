"""Installing providers: what is missing is named first, and a provider appears whole or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from anka_flow import install
from anka_flow.errors import Unfit
from anka_flow.install import commands, folder, native
from anka_flow.provider import providers
from anka_flow.providers.place import provider_folder, providers_folder

INSTALL = "import sys; from anka_flow.install import install; install(sys.argv[1:], progress=lambda t: print(t, flush=True))"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("ANKA_FLOW_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def visible() -> list[str]:
    """Return what anybody would take for an installed provider."""
    return [path.name for path in providers_folder().glob("*") if not path.name.startswith(".")]


def test_the_data_folder_follows_the_variable(data: Path) -> None:
    """ANKA_FLOW_DATA moves everything that is installed."""
    assert provider_folder("botan") == data / "providers" / "botan"


def test_every_missing_tool_is_named_before_anything_happens(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with no tools one error names them all and where they come from, and nothing is written."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unfit) as caught:
        install.install(install.NAMES)
    for word in ("cargo", "cmake", "ninja", "C compiler", "C++ compiler", "Maven", "--jar", "https://rustup.rs"):
        assert word in str(caught.value)
    assert not data.exists()


def test_a_given_jar_needs_no_maven(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --jar no tool is looked for; a jar that is another one is refused, and leaves nothing."""
    monkeypatch.setenv("PATH", "")
    (tmp_path / "other.jar").write_bytes(b"PK")
    with pytest.raises(Unfit, match="SHA-256"):
        install.install(["bouncycastle"], jar=tmp_path / "other.jar", progress=lambda _: None)
    with pytest.raises(Unfit, match="no file"):
        install.install(["bouncycastle"], jar=tmp_path / "none.jar", progress=lambda _: None)
    assert visible() == []


@pytest.mark.parametrize("names", [[], ["libbotan"], ["openssl"]])
def test_names_that_are_none_are_refused(names: list[str], data: Path) -> None:
    """No name, a wrong one and a provider that comes as a wheel are errors that say what can be installed."""
    with pytest.raises(Unfit, match=r"liboqs|botan|nothing to install"):
        install.install(names)
    assert not data.exists()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo here")
@pytest.mark.parametrize("name", ["liboqs", "botan"])
def test_offline_says_so_and_keeps_the_log(name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network and with nothing fetched before, the error asks for the network and names a log that is there."""
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    with pytest.raises(Unfit, match="is the network reachable") as caught:
        install.install([name], progress=lambda _: None)
    log = Path(str(caught.value).rsplit(" ", 1)[1])
    assert "cargo vendor" in log.read_text()
    assert [path.name for path in providers_folder().iterdir()] == [".lock"]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo here")
def test_a_killed_install_leaves_nothing_half_installed(data: Path) -> None:
    """Killed at work, it leaves hidden folders only; the next run clears them and holds the lock anew."""
    process = subprocess.Popen([sys.executable, "-c", INSTALL, "liboqs"], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    while not (hidden := list(providers_folder().glob(".liboqs-*"))):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert visible() == []
    assert hidden[0].is_dir()
    with folder.locked():
        assert not hidden[0].exists()


def test_two_installs_exclude_each_other(data: Path) -> None:
    """While one install holds the folder, another says so at once."""
    with folder.locked(), pytest.raises(Unfit, match="another"), folder.locked():
        pass


def fail_at_work() -> None:
    with folder.locked(), folder.workshop("botan") as place:
        (place / "finished").mkdir()
        raise Unfit("broken")


def test_a_failed_build_leaves_nothing(data: Path) -> None:
    """What is built goes with the error that ends the build; a former version stays as it was."""
    provider_folder("botan").mkdir(parents=True)
    with pytest.raises(Unfit, match="broken"):
        fail_at_work()
    assert visible() == ["botan"]
    assert list(providers_folder().glob(".botan*")) == []


def test_publishing_replaces_the_former_version(data: Path) -> None:
    """A new version takes the place of the old one whole: no file of the old one stays."""
    with folder.locked():
        for version in ("old", "new"):
            with folder.workshop("botan") as place:
                (place / "finished").mkdir()
                (place / "finished" / version).touch()
                folder.publish("botan", place / "finished")
    assert [path.name for path in provider_folder("botan").iterdir()] == ["new"]


def test_uninstall_names_what_was_there(data: Path) -> None:
    """Uninstalling removes the folder and returns its name; a second time there is nothing to name."""
    provider_folder("botan").mkdir(parents=True)
    assert "botan" in install.installed()
    assert install.uninstall(["botan"]) == ["botan"]
    assert install.uninstall(["botan"]) == []
    assert visible() == []


def test_a_command_that_fails_names_its_log(tmp_path: Path) -> None:
    """The output of a failed command is in the log that the error names, with the command itself."""
    run = commands.Run("botan", tmp_path / "log", lambda _: None)
    with pytest.raises(Unfit, match="does not build; the log is"):
        run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], cwd=tmp_path, failure="Botan does not build")
    assert "why" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("output", "total", "told"),
    [
        ("[ 30%] x\\n[100%] y", 0, ["30", "100"]),
        ("[1/4] x\\n[4/4] y", 0, ["20", "100"]),
        ("cc -c a\\nwarning\\ncc -c b", 2, ["50", "100"]),
    ],
)
def test_progress_is_told_at_tenths(output: str, total: int, told: list[str], tmp_path: Path) -> None:
    """Steps of make, of ninja and plain compilations are told as tenths of the whole."""
    lines: list[str] = []
    run = commands.Run("x", tmp_path / "log", lines.append)
    run([sys.executable, "-c", f"print('{output}')"], cwd=tmp_path, failure="", total=total)
    assert [re.findall(r"(\d+) % built", line)[0] for line in lines] == told


@pytest.mark.parametrize(
    ("name", "crate", "sha256"),
    [("liboqs", "oqs-sys", native.OQS_SHA256), ("botan", "botan-src", native.BOTAN_SHA256)],
)
def test_the_lock_file_pins_the_source(name: str, crate: str, sha256: str) -> None:
    """The shipped lock file holds the checksum that the installer pins, and the manifest one exact version."""
    shipped = files("anka_flow.install") / "sources" / name
    block = (shipped / "Cargo.lock").read_text().split(f'name = "{crate}"')[1]
    assert f'checksum = "{sha256}"' in block.split("[[package]]")[0]
    assert re.search(rf'^{crate} = .*"=', (shipped / "Cargo.toml").read_text(), re.MULTILINE)


def test_the_report_has_a_row_per_provider() -> None:
    """Every provider of the registry is ready with a version, or missing with a reason and a way to get it."""
    rows = install.report()
    assert [row.provider for row in rows] == list(providers())
    for row in rows:
        assert (row.version and not row.missing) if row.state == "ready" else row.missing.count(";") >= 1
        assert row.adds


def test_an_installed_library_says_what_it_was_built_from() -> None:
    """A built provider keeps a note of its source and options."""
    notes = [provider_folder(name) / "build.json" for name in ("liboqs", "botan")]
    if not any(note.is_file() for note in notes):
        pytest.skip("neither liboqs nor Botan was installed by anka-flow here")
    for note in notes:
        if note.is_file():
            assert json.loads(note.read_text()).keys() == {"source", "sha256", "options"}
