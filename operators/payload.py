"""Payloads: seeded octets, the same on every machine, made once per process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache

from anka_flow import Buffer, operator
from anka_flow.streams import CHUNK_BYTES, BytesSource, Source

_VARIANT_BYTES = 8
_made: dict[int, bytes] = {}


@operator
def seeded(payload_bytes: int, seed: int, variant: int = 0) -> bytes:
    """Return SHAKE256(seed), ``payload_bytes`` long; a ``variant`` other than 0 replaces the first octets by its number."""
    whole = _whole(payload_bytes, seed)
    return whole if variant == 0 else (_head(variant) + whole[_VARIANT_BYTES:])[:payload_bytes]


@operator
def source(payload_bytes: int, seed: int, variant: int = 0) -> Source:
    """Return the octets of ``seeded`` as a source; all sizes and variants read from one buffer."""
    view = memoryview(_longest(payload_bytes, seed))[:payload_bytes]
    return BytesSource(view) if variant == 0 else VariantSource(view, variant)


class VariantSource(BytesSource):
    """A buffer with other first octets, of which only the first chunk is a copy, made beforehand."""

    def __init__(self, data: Buffer, variant: int) -> None:
        super().__init__(data)
        self._first = (_head(variant) + bytes(self.view[_VARIANT_BYTES:CHUNK_BYTES]))[: len(self.view)]

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        first = memoryview(self._first)
        for start in range(0, len(self.view), size):
            end = start + size
            if start >= CHUNK_BYTES:
                yield self.view[start:end]
            elif end <= CHUNK_BYTES or len(self.view) <= CHUNK_BYTES:
                yield first[start:end]
            else:
                yield self._first[start:] + bytes(self.view[CHUNK_BYTES:end])


def _head(variant: int) -> bytes:
    return variant.to_bytes(_VARIANT_BYTES, "big")


@lru_cache(maxsize=8)
def _whole(payload_bytes: int, seed: int) -> bytes:
    return hashlib.shake_256(seed.to_bytes(32, "big")).digest(payload_bytes)


def _longest(payload_bytes: int, seed: int) -> bytes:
    """Return the longest buffer of the seed made so far, at least of this size: a shorter output of SHAKE is its beginning."""
    held = _made.get(seed, b"")
    if len(held) < payload_bytes:
        _made.clear()
        _made[seed] = held = hashlib.shake_256(seed.to_bytes(32, "big")).digest(payload_bytes)
    return held
