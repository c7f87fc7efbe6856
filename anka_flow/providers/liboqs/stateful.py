"""XMSS and LMS of liboqs: private keys that live in the library and never go back to an earlier state."""

from __future__ import annotations

import ctypes
import threading
from types import ModuleType
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair
from anka_flow.providers.octets import address, fresh, function

from .stateless import Signer, exact, structure

_P, _SIZE = ctypes.c_void_p, ctypes.c_size_t


def _keep(_octets: int, _length: int, _context: int) -> int:
    """Tell the library that the advanced state is safe: it lives in the handle, and leaves it only by ``hand_over``."""
    return 0


_kept = ctypes.CFUNCTYPE(ctypes.c_int, _P, _SIZE, _P)(_keep)


class _State:
    """The one holder of a stateful private key in the library's memory; signing is one at a time."""

    def __init__(self, pointer: int, release: Any) -> None:
        self.pointer: int | None = pointer
        self.release, self.lock = release, threading.Lock()

    def __del__(self) -> None:
        if self.pointer:
            self.release(self.pointer)


class StatefulSigner:
    """XMSS (RFC 8391) and LMS (RFC 8554). An index is spent before its signature is seen, and no state has two holders.

    liboqs speaks HSS with one level; public keys and signatures here are bare LMS, so its four octets of level come and go.
    """

    streams = False

    def __init__(self, algorithm: Algorithm, mechanism: str, oqs: ModuleType) -> None:
        self.algorithm, native = algorithm, oqs.native()
        if not function(native, "OQS_SIG_STFL_alg_is_enabled", ctypes.c_char_p)(mechanism.encode()):
            raise Unsupported(f"this liboqs was built without {mechanism}")
        self.mechanism, self.native = mechanism.encode(), native
        self.sig, facts = structure(native, "OQS_SIG_STFL_new", mechanism, oqs.StatefulSignature)
        if facts.method_name != self.mechanism:  # without key generation the structure has another shape
            raise Unsupported(f"this liboqs verifies {mechanism} only")
        self.kind = {"LMS": b"\0\0\0\6\0\0\0\3"}.get(algorithm.family, b"\0\0\0\1")
        self.wrap = {"LMS": (b"\0\0\0\1", b"\0\0\0\0")}.get(algorithm.family, (b"", b""))
        self.public_bytes = facts.length_public_key - len(self.wrap[0])
        self.signature_bytes = facts.length_signature - len(self.wrap[1])
        self._keypair = function(native, "OQS_SIG_STFL_keypair", _P, _P, _P)
        self._sign = function(native, "OQS_SIG_STFL_sign", _P, _P, _P, _P, _SIZE, _P)
        self._verify = function(native, "OQS_SIG_STFL_verify", _P, _P, _SIZE, _P, _SIZE, _P)
        self._left = function(native, "OQS_SIG_STFL_sigs_remaining", _P, _P, _P)

    def _state(self) -> _State:
        """Return an empty state that the library may fill."""
        pointer = function(self.native, "OQS_SIG_STFL_SECRET_KEY_new", ctypes.c_char_p, result=_P)(self.mechanism)
        store = function(self.native, "OQS_SIG_STFL_SECRET_KEY_SET_store_cb", _P, _P, _P, result=None)
        store(pointer, ctypes.cast(_kept, _P), self.sig)  # LMS wants a context that is not null
        return _State(pointer, function(self.native, "OQS_SIG_STFL_SECRET_KEY_free", _P, result=None))

    def generate(self) -> KeyPair:
        state, public = self._state(), fresh(len(self.wrap[0]) + self.public_bytes)
        if self._keypair(self.sig, public, state.pointer):
            raise Refused("key generation failed")
        return KeyPair(public[len(self.wrap[0]) :], state)

    def encode_public(self, public: bytes) -> bytes:
        return public

    def decode_public(self, data: bytes) -> bytes:
        """Return the key. Its first octets name the parameter set (RFC 8391, 5.3; RFC 8554, 5.1 and 4.1)."""
        if bytes(data[: len(self.kind)]) != self.kind:
            raise Refused("the public key is of another parameter set")
        return exact(data, self.public_bytes, "public key")

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return public key and state, and take the state from this handle: what signs next is whoever decodes it."""
        with pair.private.lock:
            data = self._serialize(_held(pair.private))
            pair.private.release(pair.private.pointer)
            pair.private.pointer = None
        return bytes(pair.public) + data

    def _serialize(self, pointer: int) -> bytes:
        place, length = _P(), _SIZE()
        serialize = function(self.native, "OQS_SIG_STFL_SECRET_KEY_serialize", _P, _P, _P)
        if serialize(ctypes.byref(place), ctypes.byref(length), pointer):
            raise Refused("the private key cannot be encoded")
        data = ctypes.string_at(place, length.value)
        function(self.native, "OQS_MEM_secure_free", _P, _SIZE, result=None)(place, length)
        return data

    def decode_private(self, data: bytes) -> KeyPair:
        public, rest = self.decode_public(data[: self.public_bytes]), bytes(data[self.public_bytes :])
        state = self._state()
        load = function(self.native, "OQS_SIG_STFL_SECRET_KEY_deserialize", _P, _P, _SIZE, _P)
        if len(rest) < 64 or load(state.pointer, rest, len(rest), self.sig):
            raise Refused("the private key is not valid")
        pair = KeyPair(public, state)
        self.remaining(pair)
        return pair

    def remaining(self, pair: KeyPair) -> int:
        """Return how many signatures the key has left."""
        with pair.private.lock:
            return self._count(_held(pair.private))

    def _count(self, pointer: int) -> int:
        left = ctypes.c_ulonglong()
        if self._left(self.sig, ctypes.byref(left), pointer):
            raise Refused("the private key is not valid")
        return left.value

    def sign(self, private: _State, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        start, text, size = len(self.wrap[1]), address(message), len(message)
        signature = fresh(start + self.signature_bytes)
        length = _SIZE(len(signature))
        with private.lock:
            pointer = _held(private)
            if not self._count(pointer):
                raise Refused(f"the {self.algorithm.name} key is used up; make a new key")
            if self._sign(self.sig, signature, ctypes.byref(length), text, size, pointer) or length.value != len(signature):
                raise Refused("signing failed")
        return signature[start:]

    def verify(self, public: bytes, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        if len(signature) != self.signature_bytes:
            return False
        key, mark = self.wrap[0] + public, self.wrap[1] + bytes(signature)
        return not self._verify(self.sig, address(message), len(message), mark, len(mark), key)

    start_sign = Signer.start_sign
    start_verify = Signer.start_verify


def _held(state: _State) -> int:
    if state.pointer is None:
        raise Refused("the state of this key was handed over; sign with the key that was decoded from it")
    return state.pointer
