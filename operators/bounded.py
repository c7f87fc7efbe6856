"""Streaming within a bound of memory: files instead of memory, a limit on address space, a watch over what an operation does.

Files have no name: they vanish with their process, however it ends.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import os
import resource
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anka_flow import Aead, CheckFailed, Key, Skip, operator
from anka_flow.jose import jws_stream, stream
from anka_flow.jose.jws_stream import DetachedToken
from anka_flow.jose.stream import StreamToken
from anka_flow.streams import CHUNK_BYTES, FileStore, NullSink, Source

MIB = 1 << 20
_CLEAR_REFS = Path("/proc/self/clear_refs")
_POPULATE_READ = 22  # madvise(2), Linux 5.14


@operator
def payload(payload_bytes: int, seed: int) -> FileStore:
    """Return a file of seeded octets: SHAKE256(seed || index) for every chunk."""
    store = file()
    head = seed.to_bytes(32, "big")
    for index in range(-(-payload_bytes // CHUNK_BYTES)):
        length = min(CHUNK_BYTES, payload_bytes - index * CHUNK_BYTES)
        store.write(hashlib.shake_256(head + index.to_bytes(8, "big")).digest(length))
    store.commit()
    return store


@operator
def file() -> FileStore:
    """Return an empty file, in the folder for temporary files (``TMPDIR``)."""
    return FileStore(tempfile.TemporaryFile(buffering=0))


@dataclass(frozen=True)
class Limit:
    """The bound that a process is under: what it had at start-up, and what it may add."""

    start_bytes: int
    beyond_bytes: int

    def facts(self) -> dict[str, int]:
        return {"start_bytes": self.start_bytes, "beyond_bytes": self.beyond_bytes}


@operator
def limit(payload: FileStore, sealed: FileStore, opened: FileStore, renewed: FileStore, beyond_mib: int = 256) -> Limit:
    """Limit the process's address space to what it has now, once all files are there, and so much more."""
    if not len(payload) or any(map(len, (sealed, opened, renewed))):
        raise CheckFailed("the limit is set too early or too late: the payload must be there, and no result of it")
    start_bytes = _status_kib("VmSize") * 1024
    limit_address_space(start_bytes + beyond_mib * MIB)
    return Limit(start_bytes, beyond_mib * MIB)


def limit_address_space(size_bytes: int) -> None:
    """Set the soft limit; what asks for more then fails, and the operation with it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size_bytes, hard))


@dataclass(frozen=True)
class Bounds:
    """What watching the six operations found: growth of resident memory in KiB by operation; no file was made."""

    growth_kib: Mapping[str, int]

    def facts(self) -> dict[str, int]:
        return {f"{name}_growth_kib": kib for name, kib in self.growth_kib.items()}


@operator
def check(
    key: Key,
    new_key: Key,
    signer: Key,
    new_signer: Key,
    payload: FileStore,
    token: StreamToken,
    signature: DetachedToken,
    content: Aead,
    max_growth_mib: int = 8,
    beyond_mib: int = 256,
) -> Bounds:
    """Each operation, in a watched process of its own under the limit, grows little and makes no file."""
    operations: dict[str, Callable[[], object]] = {
        "encrypt": partial(stream.encrypt_stream, key, payload, NullSink(), content),
        "decrypt": partial(stream.decrypt_stream, key, token, NullSink(), content),
        "reencrypt": partial(stream.reencrypt_stream, key, new_key, token, NullSink(), content),
        "sign": partial(_sign, signer, payload),
        "verify": partial(jws_stream.verify_stream, signer, payload, signature),
        "resign": partial(_resign, signer, new_signer, payload, signature),
    }
    growth = {}
    for name, operation in operations.items():
        found = watched(operation, beyond_mib * MIB)
        if found["fault"] or found["made"]:
            raise CheckFailed(f"{name}: {found['fault'] or 'made files: ' + ', '.join(found['made'])}")
        if found["growth_kib"] > max_growth_mib * 1024:
            raise CheckFailed(f"{name}: resident memory grew by {found['growth_kib']:,} KiB, more than {max_growth_mib} MiB")
        growth[name] = found["growth_kib"]
    return Bounds(growth)


def _sign(key: Key, source: Source) -> DetachedToken:
    return jws_stream.sign_stream(key, source, issued_at_s=0)


def _resign(old: Key, new: Key, source: Source, token: DetachedToken) -> DetachedToken:
    return jws_stream.resign_stream(old, new, source, token, issued_at_s=0)


def watched(operation: Callable[[], object], beyond_bytes: int) -> dict[str, Any]:
    """Return what an operation did in a forked process under the limit: ``growth_kib``, files ``made``, and its ``fault``."""
    if not os.access(_CLEAR_REFS, os.W_OK):
        raise Skip("the kernel offers no resettable high-water mark here")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            os.write(writing, json.dumps(_watch(operation, beyond_bytes)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(told or b'{"fault": "the process died", "made": [], "growth_kib": 0}')
    return found


def _watch(operation: Callable[[], object], beyond_bytes: int) -> dict[str, Any]:
    watch = FileWatch()
    _settle()
    with watch:
        limit_address_space(_status_kib("VmSize") * 1024 + beyond_bytes)
        _CLEAR_REFS.write_bytes(b"5")
        watch.made.clear()
        before = _status_kib("VmRSS")
        try:
            operation()
            fault = ""
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what was found
            fault = f"{type(error).__name__}: {error}"
        growth = _status_kib("VmHWM") - before
    return {"growth_kib": max(0, growth), "made": sorted(watch.made), "fault": fault}


def _settle() -> None:
    """Hand freed heap back, and map the libraries' pages that a fork leaves out: neither is the operation's own growth."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, mode, *_, path = line.split(maxsplit=5) if line.count(" ") >= 5 else (*line.split(), "")
        if ".so" in path and mode.startswith("r"):
            start, end = (int(edge, 16) for edge in span.split("-"))
            libc.madvise(start, end - start, _POPULATE_READ)  # an older kernel refuses, and the pages are mapped when used


class FileWatch:
    """Notes every file that the process makes: by an audit hook what Python opens, by its descriptors what libraries do.

    The hook stays for the life of the process: use it in one that ends.
    """

    def __init__(self) -> None:
        self.made: set[str] = set()
        self._before = self._descriptors()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> FileWatch:
        sys.addaudithook(self._hook)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_CREAT | getattr(os, "O_TMPFILE", 0)):
            self.made.add(str(arguments[0]))

    def _sample(self) -> None:
        while not self._done.wait(0.002):
            self.made |= {
                path for path in self._descriptors() - self._before if path.startswith("/") and not path.startswith("/proc")
            }

    @staticmethod
    def _descriptors() -> set[str]:
        found = set()
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found.add(str(link.readlink()))
        return found


def _status_kib(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise Skip(f"the kernel tells no {field}")
