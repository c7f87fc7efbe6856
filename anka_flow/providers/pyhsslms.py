"""LMS in pure Python by pyhsslms (extra ``lms``): the tree stays in memory, so that a signature costs one chain of hashes."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair, Primitive
from anka_flow.provider import Provider

_PUBLIC_BYTES, _PRIVATE_BYTES = 56, 60  # types, identifier and root; types, seed, identifier and index


class PyHssLms(Provider):
    """See the module."""

    name = "pyhsslms"
    obtain = "run `anka-flow providers install pyhsslms`"
    mechanisms: Mapping[str, str] = {"signature:LMS": "LMS_SHA256_M32_H10/LMOTS_SHA256_N32_W4"}

    def unavailable(self) -> str | None:
        return None if importlib.util.find_spec("pyhsslms") else "the Python package pyhsslms is missing"

    def version(self) -> str:
        from importlib.metadata import version

        return f"pyhsslms {version('pyhsslms')}"

    def implement(self, algorithm: Algorithm) -> Primitive:
        if not self.mechanism(algorithm):
            raise Unsupported(f"pyhsslms does not offer {algorithm.name}")
        if reason := self.unavailable():
            raise Unsupported(reason)
        return LmsSigner(algorithm)


class State:
    """The one holder of a private key; signing is one at a time, and handing the key over empties it."""

    __slots__ = ("key", "lock")

    def __init__(self, key: Any) -> None:
        self.key, self.lock = key, threading.Lock()

    def held(self) -> Any:
        """Return the library's key. Raises ``Refused`` if it was handed over."""
        if self.key is None:
            raise Refused("the state of this key was handed over; sign with the key that was decoded from it")
        return self.key

    def __repr__(self) -> str:
        return "State(...)"


class LmsSigner:
    """See ``primitives.Signer``. All encodings are bare LMS (RFC 8554, 5), the private one is the library's own.

    An index is spent before its signature is seen, and no state has two holders.
    """

    streams = False

    def __init__(self, algorithm: Algorithm) -> None:
        import pyhsslms.pyhsslms as library

        self.algorithm, self.library = algorithm, library
        self.types = (library.lms_sha256_m32_h10, library.lmots_sha256_n32_w4)

    def generate(self) -> KeyPair:
        return self._pair(self.library.LmsPrivateKey(lms_type=self.types[0], lmots_type=self.types[1]))

    def _pair(self, key: Any) -> KeyPair:
        return KeyPair(key.publicKey(), State(key))

    def encode_public(self, public: Any) -> bytes:
        return bytes(public.serialize())

    def decode_public(self, data: bytes) -> Any:
        self._check(data, _PUBLIC_BYTES, "public key")
        return self.library.LmsPublicKey.deserialize(bytes(data))

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return the state, and take it from this handle: what signs next is whoever decodes it."""
        with pair.private.lock:
            data = bytes(pair.private.held().serialize())
            pair.private.key = None
        return data

    def decode_private(self, data: bytes) -> KeyPair:
        self._check(data, _PRIVATE_BYTES, "private key")
        if int.from_bytes(data[-4:], "big") > 1024:
            raise Refused("the private key is not valid")
        return self._pair(self.library.LmsPrivateKey.deserialize(bytes(data)))

    def _check(self, data: Buffer, length: int, what: str) -> None:
        if len(data) != length or bytes(data[:8]) != b"".join(self.types):
            raise Refused(f"the {what} is not valid")

    def remaining(self, pair: KeyPair) -> int:
        """Return how many signatures the key has left."""
        return int(pair.private.held().remaining())

    def sign(self, private: State, message: Buffer, context: bytes = b"") -> bytes:
        self._no_context(context)
        with private.lock:
            key = private.held()
            if key.is_exhausted():
                raise Refused(f"the {self.algorithm.name} key is used up; make a new key")
            return bytes(key.sign(bytes(message)))

    def verify(self, public: Any, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        self._no_context(context)
        if len(signature) != self.algorithm.sizes["signature"]:
            return False
        try:
            return bool(public.verify(bytes(message), bytes(signature)))
        except (ValueError, IndexError):
            return False

    def _no_context(self, context: bytes) -> None:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")

    def start_sign(self, private: State) -> Any:
        raise Unsupported("pyhsslms signs a whole message only")

    def start_verify(self, public: Any) -> Any:
        raise Unsupported("pyhsslms verifies a whole message only")


PROVIDER = PyHssLms()
