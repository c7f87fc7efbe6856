"""Where a process's buffers lie, as far as it changes what an operation costs. Acts on the C library's allocator."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager

_KEPT_BYTES = 30 << 20  # close to the most that glibc lets the threshold for mapping grow to by itself
_SMALL_BYTES, _LARGE_BYTES = 1 << 16, 8 << 20


def settle() -> None:
    """Free one large block, after which glibc keeps blocks up to its size, and touch one: as in a process that has run a while.

    Else the first free of a megabyte, whenever it comes, changes what every later one costs (mallopt(3), M_MMAP_THRESHOLD).
    """
    libc = _libc()
    libc.free(libc.malloc(_KEPT_BYTES))
    bytearray(_KEPT_BYTES - (1 << 20))  # below the block's size, or it would be mapped apart and its pages given back


@contextmanager
def shifted(seed: str, payload_bytes: int) -> Iterator[None]:
    """Hold some memory, and leave holes, of random sizes, so that a case finds its buffers elsewhere in every visit.

    Where buffers lie decides how they share caches, by up to a tenth for an operation at the speed of memory. Without this, all
    visits of a round would find one place, and five rounds be five places (Curtsinger and Berger 2013: Stabilizer).
    """
    libc, draw = _libc(), random.Random(seed)
    most = _SMALL_BYTES + min(payload_bytes, _LARGE_BYTES)
    blocks = [libc.malloc(draw.randrange(1, most)) for _ in range(4)]
    for hole in blocks[::2]:
        libc.free(hole)
    try:
        yield
    finally:
        for held in blocks[1::2]:
            libc.free(held)


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    return libc
