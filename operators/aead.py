"""Authenticated encryption alone: no token around it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from anka_flow import Aead, CheckFailed, Key, Refused, operator


@dataclass(frozen=True, slots=True)
class Sealed:
    """A nonce, and ciphertext and tag in one."""

    nonce: bytes
    octets: bytes

    def facts(self) -> dict[str, int]:
        """Return the octets of the nonce."""
        return {"nonce": len(self.nonce)}


def _restore(data: bytes, algorithm: Aead) -> Key:
    return Key.load(data, algorithm)


@operator(restore=_restore)
def generate(algorithm: Aead) -> Key:
    """Return a new key."""
    return Key(algorithm, algorithm.generate())


@operator
def seal(key: Key, payload: bytes) -> Sealed:
    """Return the payload encrypted under a fresh nonce, without additional data."""
    key.spend()
    nonce = os.urandom(key.primitive.nonce_bytes)
    return Sealed(nonce, key.primitive.seal(key.pair.private, nonce, payload, b""))


@operator
def open(key: Key, sealed: Sealed) -> bytes:
    """Return the payload."""
    key.spend()
    payload: bytes = key.primitive.open(key.pair.private, sealed.nonce, sealed.octets, b"")
    return payload


@operator
def check_refusals(key: Key, other: Key, sealed: Sealed) -> None:
    """Another key, a flipped bit at either end, a lost octet and another nonce are refused."""
    octets, nonce = sealed.octets, sealed.nonce
    damaged = {
        "another key": (other, sealed),
        "a flipped first bit": (key, Sealed(nonce, bytes((octets[0] ^ 0x80,)) + octets[1:])),
        "a flipped tag bit": (key, Sealed(nonce, octets[:-1] + bytes((octets[-1] ^ 1,)))),
        "a lost octet": (key, Sealed(nonce, octets[:-1])),
        "another nonce": (key, Sealed(nonce[:-1] + bytes((nonce[-1] ^ 1,)), octets)),
    }
    for what, (holder, wrong) in damaged.items():
        try:
            open(holder, wrong)
        except Refused:
            continue
        raise CheckFailed(f"{what} was accepted")
