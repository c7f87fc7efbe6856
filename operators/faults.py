"""Operators that lie, break or misbehave, each in one known way, to prove that a run tells. Not for measuring.

Every docstring says which outcome its case must end in; what other cases find must not change.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any

from anka_flow import Algorithm, Buffer, Kem, Key, KeyPair, Mac, Signer, operator, primitive
from anka_flow.jose import jws
from anka_flow.jose.damage import flip
from anka_flow.jose.jws import CompactToken

_LEAKED: list[bytes] = []


# -- lies about what ran ----------------------------------------------------------------------------------------------------


@operator
def another(algorithm: Signer | Mac, name: str = "HMAC-SHA256") -> Signer | Mac:  # noqa: ARG001  # to ignore it is the fault
    """Return the algorithm ``name``, whatever was asked for. A case that makes its key of it must end as ``failed``: identity.

    Tokens made with such a key are sound and say truly what they are: only the case's name betrays them.
    """
    kind = "mac" if name.startswith(("HMAC", "KMAC", "CMAC")) else "signature"
    found: Signer | Mac = primitive(kind, name)  # type: ignore[assignment]  # the catalog holds no other under these kinds
    return found


@operator
def mislabelled(algorithm: Kem, really: str = "HQC-128") -> Kem:
    """Return a KEM that calls itself what was asked for, but is another. Such a case must end as ``failed``: identity.

    With HQC-192 asked for and HQC-128 made it is the fault of the published tables: the size of its ciphertext tells.
    """
    return _Disguise(algorithm.algorithm, primitive("kem", really))


class _Disguise:
    """One KEM under the name of another."""

    def __init__(self, algorithm: Algorithm, kem: Any) -> None:
        self.algorithm, self.kem = algorithm, kem

    def generate(self) -> KeyPair:
        pair: KeyPair = self.kem.generate()
        return pair

    def encode_public(self, public: Any) -> bytes:
        return bytes(self.kem.encode_public(public))

    def decode_public(self, data: bytes) -> Any:
        return self.kem.decode_public(data)

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(self.kem.encode_private(pair))

    def decode_private(self, data: bytes) -> KeyPair:
        pair: KeyPair = self.kem.decode_private(data)
        return pair

    def encapsulate(self, public: Any) -> tuple[bytes, bytes]:
        ciphertext, secret = self.kem.encapsulate(public)
        return ciphertext, secret

    def decapsulate(self, private: Any, ciphertext: Buffer) -> bytes:
        return bytes(self.kem.decapsulate(private, ciphertext))


# -- wrong results ----------------------------------------------------------------------------------------------------------


@operator
def corrupt(data: bytes) -> bytes:
    """Return the data with one bit flipped. Must end as ``failed``: check, before anything is timed."""
    return flip(data)


@operator
def rarely_wrong(data: bytes, variant: int, every: int = 1000) -> bytes:
    """Return the data, with one bit flipped in every ``every``-th iteration.

    A case of 1000 checked iterations must end as ``failed``: check, with ``verify_failures`` 1.
    """
    return flip(data) if variant % every == 0 else data


# -- time -------------------------------------------------------------------------------------------------------------------


@operator
def empty(data: bytes) -> bytes:
    """Do nothing. Must end as ``ok``, flagged ``below_resolution``, without a figure: never 0, never negative."""
    return data


@operator
def busy(data: bytes, ns: int) -> bytes:
    """Keep the core busy for ``ns`` nanoseconds, as seen from outside. Must end as ``ok`` with that wall and CPU time."""
    end = time.perf_counter_ns() + ns - _BUSY_NS
    while time.perf_counter_ns() < end:
        pass
    return data


def _busy_ns() -> int:
    """Return what ``busy`` takes around its wait: the call itself and the two looks at the clock beyond the caller's own."""
    times = []
    for _ in range(400):
        began = time.perf_counter_ns()
        busy(b"", 0)
        after = time.perf_counter_ns()
        times.append(after - began - (time.perf_counter_ns() - after))
    return max(0, min(times))


_BUSY_NS = 0
_BUSY_NS = _busy_ns()


@operator
def sleep(data: bytes, ns: int = 2_000_000) -> bytes:
    """Sleep. Must end as ``ok``: the wall time is at least ``ns``, the CPU time next to nothing."""
    time.sleep(ns / 1e9)
    return data


@operator
def resign(old: Key, new: Key, token: CompactToken, only: str = "", percent: int = 5) -> CompactToken:
    """Re-sign as ``jws.resign`` does, then hold the core for ``percent`` of the time that it took.

    ``only`` names the algorithm to slow; empty slows all. Must end as ``ok``; ``compare`` must call the slowed rows slower.
    """
    began = time.perf_counter_ns()
    renewed = CompactToken(jws.resign_compact(old, new, token.octets))
    if only in ("", new.primitive.algorithm.name):
        end = time.perf_counter_ns()
        end += (end - began) * percent // 100
        while time.perf_counter_ns() < end:
            pass
    return renewed


# -- memory -----------------------------------------------------------------------------------------------------------------


@operator
def allocate(data: bytes, mib: int) -> bytes:
    """Hold ``mib`` MiB of Python memory during the call. Must end as ``ok`` with that peak."""
    held = b"\1" * (mib << 20)
    return data if held else b""


@operator
def allocate_native(data: bytes, mib: int) -> bytes:
    """Hold ``mib`` MiB of memory that Python does not know of during the call. Must end as ``ok`` with that peak."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    held = libc.malloc(mib << 20)
    if not held:
        raise MemoryError
    ctypes.memset(held, 1, mib << 20)
    libc.free(held)
    return data


@operator
def leak(data: bytes, mib: int = 1) -> bytes:
    """Keep ``mib`` MiB more at every call. Must end as ``ok`` with that peak, or where memory is limited as ``failed``:
    out of memory; its neighbours' peaks must not show it.
    """
    _LEAKED.append(b"\1" * (mib << 20))
    return data


# -- the end of the process -------------------------------------------------------------------------------------------------


@operator
def crash(data: bytes) -> bytes:
    """Read address 1. Must end as ``failed``: the process was killed by SIGSEGV; the other cases go on in a new one."""
    return ctypes.string_at(1, len(data))


@operator
def vanish(code: int = 7) -> bytes:
    """End the process without a word. Must end as ``failed``: the process exited with that code."""
    os._exit(code)


@operator
def hang() -> bytes:
    """Never return. Must end as ``timeout``."""
    while True:
        time.sleep(3600)


@operator
def raise_error() -> bytes:
    """Raise what no operator should. Must end as ``failed`` with the error's name and message."""
    raise RuntimeError("something that nobody foresaw")
