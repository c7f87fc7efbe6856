"""liboqs through liboqs-python: post-quantum KEMs and signatures in C with SIMD.

liboqs-python finds and loads the library and describes its structures; the calls themselves go to the C functions with
prototypes of their own, since the package's objects copy every key and message first. Importing it without a library would
clone a repository and end the interpreter, so the library is looked for before.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import logging
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair, Primitive
from anka_flow.provider import Provider

from .octets import address, fresh, function
from .place import provider_folder, shared_object

_P, _SIZE = ctypes.c_void_p, ctypes.c_size_t

_KEMS = {
    "ML-KEM-512": "ML-KEM-512",
    "ML-KEM-768": "ML-KEM-768",
    "ML-KEM-1024": "ML-KEM-1024",
    "FRODO-976": "FrodoKEM-976-AES",
    "FRODO-1344": "FrodoKEM-1344-AES",
    "BIKE-L1": "BIKE-L1",
    "BIKE-L3": "BIKE-L3",
    "BIKE-L5": "BIKE-L5",
    "sntrup761": "sntrup761",
    "Classic-McEliece-348864": "Classic-McEliece-348864",
    "Classic-McEliece-460896": "Classic-McEliece-460896",
    "Classic-McEliece-6688128": "Classic-McEliece-6688128",
    "Classic-McEliece-6960119": "Classic-McEliece-6960119",
    "Classic-McEliece-8192128": "Classic-McEliece-8192128",
}
_SIGNATURES = {
    "ML-DSA-44": "ML-DSA-44",
    "ML-DSA-65": "ML-DSA-65",
    "ML-DSA-87": "ML-DSA-87",
    "FALCON-512": "Falcon-512",
    "FALCON-1024": "Falcon-1024",
    "XMSS": "XMSS-SHA2_10_256",
    "LMS": "LMS_SHA256_H10_W4",
}
_REVISIONS = {
    "FRODO": "FrodoKEM round 3 (ISO: eFrodoKEM), AES",
    "BIKE": "BIKE 5.1",
    "NTRUPRIME": "NTRU Prime round 3",
    "Classic-McEliece": "Classic McEliece round 4",
    "FALCON": "Falcon round 3",
}
_EARLIER = {
    "HQC": "liboqs has the HQC of 2023-04-30, another algorithm than the one of 2025-08-22",
    "SLH-DSA": "liboqs has SPHINCS+ r3.1, another algorithm than SLH-DSA of FIPS 205",
}


class LibOqs(Provider):
    """See the module."""

    name = "liboqs"
    obtain = "run `anka-flow providers install liboqs`"
    mechanisms = {f"kem:{name}": own for name, own in _KEMS.items()} | {f"signature:{n}": own for n, own in _SIGNATURES.items()}

    def unavailable(self) -> str | None:
        try:
            self.oqs.native()  # loading is the test: a library may be there and of another processor
        except Unsupported as error:
            return str(error)
        return None

    def version(self) -> str:
        from importlib.metadata import version

        return f"liboqs {self.oqs.oqs_version()} (liboqs-python {version('liboqs-python')})"

    def revision(self, algorithm: Algorithm) -> str:
        return _REVISIONS.get(algorithm.family, "")

    def refusal(self, algorithm: Algorithm) -> str | None:
        """ML-DSA of 0.13 in AVX2 does not hold ``z`` to its norm (FIPS 204, algorithm 8, line 13), which Wycheproof finds."""
        if algorithm.family == "ML-DSA" and self._lenient:
            return "liboqs 0.13 with AVX2 takes signatures that FIPS 204 refuses (no check of the norm of z)"
        return _EARLIER.get(algorithm.family)

    @cached_property
    def _lenient(self) -> bool:
        try:
            return bool(self.oqs.oqs_version().startswith("0.13.") and "AVX2" in self.options()["cpu"].split())
        except Unsupported:
            return False

    def options(self) -> Mapping[str, str]:
        """Return which instruction sets the library found, and where it lies."""
        has = function(self.native, "OQS_CPU_has_extension", ctypes.c_int)
        present = [name for name, number in (("AES", 2), ("AVX", 3), ("AVX2", 4), ("AVX512", 5)) if has(number)]
        return {"cpu": " ".join(present), "path": str(_prefix() or ctypes.util.find_library("oqs"))}

    def implement(self, algorithm: Algorithm) -> Primitive:
        mechanism = self.mechanism(algorithm)
        if mechanism is None:
            raise Unsupported(f"liboqs does not offer {algorithm.name}")
        made: dict[str, type[Any]] = {"kem": _Kem, "signature": _StatefulSigner if algorithm.stateful else _Signer}
        primitive: Primitive = made[algorithm.kind](algorithm, mechanism, self.oqs)
        return primitive

    @cached_property
    def oqs(self) -> ModuleType:
        """Return liboqs-python, loaded on the library that was found. Raises ``Unsupported`` if there is none."""
        if reason := _absence():
            raise Unsupported(reason)
        with _quiet(_prefix()):
            try:
                import oqs
            except (SystemExit, AttributeError, OSError, RuntimeError) as error:
                raise Unsupported(f"liboqs-python cannot load the library liboqs: {error}") from None
        module: ModuleType = oqs.oqs
        return module

    @property
    def native(self) -> ctypes.CDLL:
        library: ctypes.CDLL = self.oqs.native()
        return library


def _absence() -> str | None:
    """Return what is missing, or None. Looks only; importing liboqs-python without a library would end the interpreter."""
    if importlib.util.find_spec("oqs") is None:
        return "the Python package liboqs-python is missing"
    return None if _prefix() or ctypes.util.find_library("oqs") else "the library liboqs is missing"


def _prefix() -> Path | None:
    """Return the first folder that holds the library, or None; a library of the system is looked for elsewhere."""
    named = os.environ.get("OQS_INSTALL_PATH")
    places = [Path(named)] if named else [provider_folder("liboqs"), Path.home() / "_oqs"]
    return next((place for place in places if shared_object(place, "oqs")), None)


@contextmanager
def _quiet(prefix: Path | None) -> Iterator[None]:
    """Let liboqs-python be imported on the library in ``prefix``, without its line on stdout and its version warning.

    It would prefer a library of the system, and asks a compiler for it at every import; with a prefix it is told of none.
    """
    logging.getLogger("oqs.oqs").disabled = True
    find, named = ctypes.util.find_library, os.environ.get("OQS_INSTALL_PATH")
    if prefix:
        os.environ["OQS_INSTALL_PATH"] = str(prefix)
        ctypes.util.find_library = lambda name: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        ctypes.util.find_library = find
        if prefix and named is None:
            del os.environ["OQS_INSTALL_PATH"]


class _Keys:
    """Key encodings: the standard's octets for a public key; ``public || private`` where a private key has no seed."""

    algorithm: Algorithm
    public_bytes: int
    private_bytes: int

    def encode_public(self, public: bytes) -> bytes:
        return public

    def decode_public(self, data: bytes) -> bytes:
        return _exact(data, self.public_bytes, "public key")

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.public + pair.private)

    def decode_private(self, data: bytes) -> KeyPair:
        data = _exact(data, self.public_bytes + self.private_bytes, "private key")
        return KeyPair(data[: self.public_bytes], data[self.public_bytes :])


def _exact(data: Buffer, length: int, what: str) -> bytes:
    """Return the octets. Raises ``Refused`` unless there are exactly ``length``: C would read past the end."""
    if len(data) != length:
        raise Refused(f"the {what} has a wrong length")
    return bytes(data)


def _structure(native: ctypes.CDLL, maker: str, mechanism: str, shape: Any) -> tuple[int, Any]:
    """Return the library's object for a mechanism, as a pointer and as liboqs-python's structure."""
    pointer = function(native, maker, ctypes.c_char_p, result=_P)(mechanism.encode())
    if not pointer:
        raise Unsupported(f"this liboqs was built without {mechanism}")
    return pointer, ctypes.cast(pointer, ctypes.POINTER(shape)).contents


class _Kem(_Keys):
    """A KEM of liboqs. Handles are octets; those of ML-KEM's private keys also carry the seed of FIPS 203."""

    def __init__(self, algorithm: Algorithm, mechanism: str, oqs: ModuleType) -> None:
        self.algorithm, native = algorithm, oqs.native()
        self.kem, facts = _structure(native, "OQS_KEM_new", mechanism, oqs.KeyEncapsulation)
        self.public_bytes, self.private_bytes = facts.length_public_key, facts.length_secret_key
        self.ciphertext_bytes, self.secret_bytes = facts.length_ciphertext, facts.length_shared_secret
        self.seed_bytes = facts.length_keypair_seed
        self._keypair = function(native, "OQS_KEM_keypair", _P, _P, _P)
        self._derive = function(native, "OQS_KEM_keypair_derand", _P, _P, _P, _P)
        self._encapsulate = function(native, "OQS_KEM_encaps", _P, _P, _P, _P)
        self._decapsulate = function(native, "OQS_KEM_decaps", _P, _P, _P, _P)

    def generate(self) -> KeyPair:
        if self.seed_bytes:
            return self._from_seed(os.urandom(self.seed_bytes))
        public, private = fresh(self.public_bytes), fresh(self.private_bytes)
        if self._keypair(self.kem, public, private):
            raise Refused("key generation failed")
        return KeyPair(public, private)

    def _from_seed(self, seed: bytes) -> KeyPair:
        public, private = fresh(self.public_bytes), fresh(self.private_bytes)
        if self._derive(self.kem, public, private, seed):
            raise Refused("the private key is not valid")
        return KeyPair(public, _Seeded(private, seed))

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return the seed (ML-KEM: ``d || z``), or both keys where the mechanism has none."""
        return pair.private.seed if self.seed_bytes else super().encode_private(pair)

    def decode_private(self, data: bytes) -> KeyPair:
        return (
            self._from_seed(_exact(data, self.seed_bytes, "private key")) if self.seed_bytes else super().decode_private(data)
        )

    def encapsulate(self, public: bytes) -> tuple[bytes, bytes]:
        ciphertext, secret = fresh(self.ciphertext_bytes), fresh(self.secret_bytes)
        if self._encapsulate(self.kem, ciphertext, secret, public):
            raise Refused("the public key is not valid")
        return ciphertext, secret

    def decapsulate(self, private: bytes, ciphertext: Buffer) -> bytes:
        if len(ciphertext) != self.ciphertext_bytes:
            raise Refused("the ciphertext does not open")
        secret = fresh(self.secret_bytes)
        if self._decapsulate(self.kem, secret, address(ciphertext), private):
            raise Refused("the ciphertext does not open")
        return secret


class _Seeded(bytes):
    """A private key that remembers the seed that it came from."""

    seed: bytes

    def __new__(cls, key: bytes, seed: bytes) -> _Seeded:
        made = super().__new__(cls, key)
        made.seed = seed
        return made

    def __repr__(self) -> str:
        return "_Seeded(...)"


class _Signer(_Keys):
    """A signature scheme of liboqs; the message must be whole."""

    streams = False

    def __init__(self, algorithm: Algorithm, mechanism: str, oqs: ModuleType) -> None:
        self.algorithm, native = algorithm, oqs.native()
        self.sig, facts = _structure(native, "OQS_SIG_new", mechanism, oqs.Signature)
        self.public_bytes, self.private_bytes = facts.length_public_key, facts.length_secret_key
        self.signature_bytes, self.contexts = facts.length_signature, bool(facts.sig_with_ctx_support)
        self._keypair = function(native, "OQS_SIG_keypair", _P, _P, _P)
        self._sign = function(native, "OQS_SIG_sign_with_ctx_str", _P, _P, _P, _P, _SIZE, _P, _SIZE, _P)
        self._verify = function(native, "OQS_SIG_verify_with_ctx_str", _P, _P, _SIZE, _P, _SIZE, _P, _SIZE, _P)

    def generate(self) -> KeyPair:
        public, private = fresh(self.public_bytes), fresh(self.private_bytes)
        if self._keypair(self.sig, public, private):
            raise Refused("key generation failed")
        return KeyPair(public, private)

    def sign(self, private: bytes, message: Buffer, context: bytes = b"") -> bytes:
        self._check(context)
        signature, length = fresh(self.signature_bytes), _SIZE(self.signature_bytes)
        text, size = address(message), len(message)
        if self._sign(self.sig, signature, ctypes.byref(length), text, size, context or None, len(context), private):
            raise Refused("signing failed")
        return signature[: length.value]

    def verify(self, public: bytes, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        self._check(context)
        if not 0 < len(signature) <= self.signature_bytes:
            return False
        text, mark = address(message), address(signature)
        size, length = len(message), len(signature)
        return not self._verify(self.sig, text, size, mark, length, context or None, len(context), public)

    def _check(self, context: bytes) -> None:
        if context and (not self.contexts or len(context) > 255):
            raise Refused(f"{self.algorithm.name} takes no such context")

    def start_sign(self, private: bytes) -> Any:
        raise Unsupported(f"liboqs signs {self.algorithm.name} over a whole message only")

    def start_verify(self, public: bytes) -> Any:
        raise Unsupported(f"liboqs verifies {self.algorithm.name} over a whole message only")


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


class _StatefulSigner:
    """XMSS (RFC 8391) and LMS (RFC 8554). An index is spent before its signature is seen, and no state has two holders.

    liboqs speaks HSS with one level; public keys and signatures here are bare LMS, so its four octets of level come and go.
    """

    streams = False

    def __init__(self, algorithm: Algorithm, mechanism: str, oqs: ModuleType) -> None:
        self.algorithm, native = algorithm, oqs.native()
        if not function(native, "OQS_SIG_STFL_alg_is_enabled", ctypes.c_char_p)(mechanism.encode()):
            raise Unsupported(f"this liboqs was built without {mechanism}")
        self.mechanism, self.native = mechanism.encode(), native
        self.sig, facts = _structure(native, "OQS_SIG_STFL_new", mechanism, oqs.StatefulSignature)
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
        return _exact(data, self.public_bytes, "public key")

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

    start_sign = _Signer.start_sign
    start_verify = _Signer.start_verify


def _held(state: _State) -> int:
    if state.pointer is None:
        raise Refused("the state of this key was handed over; sign with the key that was decoded from it")
    return state.pointer


PROVIDER = LibOqs()
