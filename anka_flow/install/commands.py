"""Running the tools that an installation takes: looked for first, logged, and reported on as they go."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from anka_flow.errors import Unfit

Progress = Callable[[str], object]

_TOOLS = {
    "cargo": "cargo (Rust), which fetches the source: https://rustup.rs, or the package 'cargo'",
    "cmake": "cmake: `pip install cmake`, or the package 'cmake'",
    "make": "make: the package 'make'",
    "ninja": "ninja or make: `pip install ninja`, or the package 'make'",
    "cc": "a C compiler: the package 'gcc' or 'clang'",
    "c++": "a C++ compiler: the package 'g++' or 'clang'",
    "mvn": "Maven, which fetches the jar: the package 'maven'; or give the jar itself with --jar",
}
_OTHERS = {
    "make": ("make", "gmake"),
    "ninja": ("ninja", "make", "gmake"),
    "cc": ("cc", "gcc", "clang"),
    "c++": ("c++", "g++", "clang++"),
}
_STEP = re.compile(r"^\[\s*(\d+)(?:%|/(\d+))\]")


def tool(name: str) -> str:
    """Return the path of a tool. Raises ``Unfit`` with what it is for and where it comes from."""
    for candidate in _OTHERS.get(name, (name,)):
        if found := shutil.which(candidate):
            return found
    raise Unfit(f"cannot install without {_TOOLS[name]}")


def need(*names: str) -> None:
    """Raises ``Unfit`` that names every tool that is missing, before anything is fetched or built."""
    wanted = dict.fromkeys(names)
    missing = [_TOOLS[n] for n in wanted if not any(shutil.which(candidate) for candidate in _OTHERS.get(n, (n,)))]
    if missing:
        raise Unfit("cannot install without " + "; and without ".join(missing))


class Run:
    """The commands of one installation: their output goes to a log, a line at every tenth of a step to ``progress``."""

    def __init__(self, name: str, log: Path, progress: Progress) -> None:
        self.name, self.log, self.progress, self.started = name, log, progress, time.monotonic()
        log.unlink(missing_ok=True)

    def say(self, text: str) -> None:
        """Report a step, with the seconds since the start."""
        self.progress(f"{self.name}: {text} ({time.monotonic() - self.started:.0f} s)")

    def __call__(
        self, command: Sequence[str], *, cwd: Path, failure: str, env: Mapping[str, str] | None = None, total: int = 0
    ) -> str:
        """Run to the end and return the output. Raises ``Unfit`` with ``failure`` and the log's place.

        ``total`` is the number of compilations of a tool that does not count them itself.
        """
        lines: list[str] = []
        told = compiled = 0
        with self.log.open("a", buffering=1) as log, _start(command, cwd, env) as process:
            log.write(f"$ {' '.join(command)}\n")
            assert process.stdout is not None
            for line in process.stdout:
                log.write(line)
                lines.append(line)
                compiled += " -c " in line
                done = _percent(line, compiled, total)
                if done >= told + 10:
                    told = done - done % 10
                    self.say(f"{told} % built")
        if process.returncode:
            raise Unfit(f"{self.name}: {failure}; the log is {self.log}")
        return "".join(lines)


def _start(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "CARGO_TERM_COLOR": "never", "CLICOLOR": "0", **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _percent(line: str, count: int, total: int) -> int:
    """Return how much is built, from ``[ 12%]`` (make), ``[3/40]`` (ninja) or the number of compilations."""
    if found := _STEP.match(line):
        return int(found[1]) * 100 // int(found[2]) if found[2] else int(found[1])
    return min(100, count * 100 // total) if total else 0


def pip(run: Run, *requirements: str) -> None:
    """Install Python packages beside anka-flow. Raises ``Unfit`` with the command to give by hand."""
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *requirements]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--python", sys.executable, *requirements]
    else:
        raise Unfit(f"{run.name}: this Python has no pip; install {' '.join(requirements)} by hand")
    run.say(f"installing {' '.join(requirements)}")
    run(command, cwd=Path.cwd(), failure=f"pip could not install {' '.join(requirements)}; is the network reachable?")


def pip_uninstall(run: Run, package: str) -> None:
    """Remove a Python package. Raises ``Unfit`` if it stays."""
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", "uninstall", "--yes", package]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "uninstall", "--python", sys.executable, package]
    else:
        raise Unfit(f"{run.name}: this Python has no pip; uninstall {package} by hand")
    run(command, cwd=Path.cwd(), failure=f"pip could not uninstall {package}")
