"""Any primitive by itself, without a token around it: forward (encapsulate, sign, tag, seal) and backward.

For comparing libraries: the same four lines of a spec serve every kind of algorithm.
"""

from __future__ import annotations

import hmac
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anka_flow import Aead, CheckFailed, Kem, Key, Mac, Signer, operator


@dataclass(frozen=True)
class Work:
    """A key and a payload, ready: ``forward()`` gives a result, ``backward(result)`` an answer, ``right`` judges both."""

    forward: Callable[[], Any]
    backward: Callable[[Any], Any]
    right: Callable[[Any, Any], bool]


def _restore(data: bytes, algorithm: Kem | Signer | Mac | Aead) -> Key:
    return Key.load(data, algorithm)


@operator(restore=_restore)
def generate(algorithm: Kem | Signer | Mac | Aead) -> Key:
    """Return a new key."""
    return Key(algorithm, algorithm.generate())


@operator
def bind(key: Key, payload: bytes) -> Work:
    """Return the two directions of the key's primitive over the payload. A KEM takes no payload."""
    return _BIND[key.primitive.algorithm.kind](key.primitive, key.pair.public, key.pair.private, payload)


@operator
def forward(work: Work) -> Any:
    """Encapsulate, sign, tag or seal."""
    return work.forward()


@operator
def backward(work: Work, result: Any) -> Any:
    """Decapsulate, verify, verify the tag, or open."""
    return work.backward(result)


@operator
def check(work: Work, result: Any, answer: Any) -> None:
    """Raise ``CheckFailed`` unless the way back gave what went in."""
    if not work.right(result, answer):
        raise CheckFailed("the way back did not give what went in")


def _kem(kem: Kem, public: Any, private: Any, payload: bytes) -> Work:
    del payload
    encapsulate, decapsulate = kem.encapsulate, kem.decapsulate
    return Work(lambda: encapsulate(public), lambda made: decapsulate(private, made[0]), lambda made, got: made[1] == got)


def _signer(signer: Signer, public: Any, private: Any, payload: bytes) -> Work:
    sign, verify = signer.sign, signer.verify
    return Work(lambda: sign(private, payload), lambda made: verify(public, payload, made), lambda _, got: got is True)


def _mac(mac: Mac, public: Any, private: Any, payload: bytes) -> Work:
    tag, same = mac.tag, hmac.compare_digest
    return Work(lambda: tag(private, payload), lambda made: same(tag(public, payload), made), lambda _, got: got is True)


def _aead(aead: Aead, public: Any, private: Any, payload: bytes) -> Work:
    seal, unseal, octets, count = aead.seal, aead.open, aead.nonce_bytes, itertools.count(1)

    def forward() -> tuple[bytes, bytes]:
        nonce = next(count).to_bytes(octets, "big")
        return nonce, seal(public, nonce, payload, b"")

    return Work(forward, lambda made: unseal(private, made[0], made[1], b""), lambda _, got: got == payload)


_BIND: dict[str, Callable[..., Work]] = {"kem": _kem, "signature": _signer, "mac": _mac, "aead": _aead}
