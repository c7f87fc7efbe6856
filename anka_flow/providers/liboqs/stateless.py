"""KEMs and stateless signatures of liboqs: C calls on octets that Python owns."""

from __future__ import annotations

import ctypes
import os
from types import ModuleType
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair
from anka_flow.providers.octets import address, fresh, function

_P, _SIZE = ctypes.c_void_p, ctypes.c_size_t


class Keys:
    """Key encodings: the standard's octets for a public key; ``public || private`` where a private key has no seed."""

    algorithm: Algorithm
    public_bytes: int
    private_bytes: int

    def encode_public(self, public: bytes) -> bytes:
        return public

    def decode_public(self, data: bytes) -> bytes:
        return exact(data, self.public_bytes, "public key")

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.public + pair.private)

    def decode_private(self, data: bytes) -> KeyPair:
        data = exact(data, self.public_bytes + self.private_bytes, "private key")
        return KeyPair(data[: self.public_bytes], data[self.public_bytes :])


def exact(data: Buffer, length: int, what: str) -> bytes:
    """Return the octets. Raises ``Refused`` unless there are exactly ``length``: C would read past the end."""
    if len(data) != length:
        raise Refused(f"the {what} has a wrong length")
    return bytes(data)


def structure(native: ctypes.CDLL, maker: str, mechanism: str, shape: Any) -> tuple[int, Any]:
    """Return the library's object for a mechanism, as a pointer and as liboqs-python's structure."""
    pointer = function(native, maker, ctypes.c_char_p, result=_P)(mechanism.encode())
    if not pointer:
        raise Unsupported(f"this liboqs was built without {mechanism}")
    return pointer, ctypes.cast(pointer, ctypes.POINTER(shape)).contents


class Kem(Keys):
    """A KEM of liboqs. Handles are octets; those of ML-KEM's private keys also carry the seed of FIPS 203."""

    def __init__(self, algorithm: Algorithm, mechanism: str, oqs: ModuleType) -> None:
        self.algorithm, native = algorithm, oqs.native()
        self.kem, facts = structure(native, "OQS_KEM_new", mechanism, oqs.KeyEncapsulation)
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
        return self._from_seed(exact(data, self.seed_bytes, "private key")) if self.seed_bytes else super().decode_private(data)

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


class Signer(Keys):
    """A signature scheme of liboqs; the message must be whole."""

    streams = False

    def __init__(self, algorithm: Algorithm, mechanism: str, oqs: ModuleType) -> None:
        self.algorithm, native = algorithm, oqs.native()
        self.sig, facts = structure(native, "OQS_SIG_new", mechanism, oqs.Signature)
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
        if not 0 < len(signature) <= self.signature_bytes or self._is_padded(signature):
            return False
        text, mark = address(message), address(signature)
        size, length = len(message), len(signature)
        return not self._verify(self.sig, text, size, mark, length, context or None, len(context), public)

    def _is_padded(self, signature: Buffer) -> bool:
        """Tell whether zeros follow a Falcon signature: its last octet holds a set bit (Falcon specification, 3.11.2).

        liboqs takes such a signature once the zeros fill it up to the padded format's length: two encodings of one signature.
        """
        return self.algorithm.family == "FALCON" and signature[-1] == 0

    def _check(self, context: bytes) -> None:
        if context and (not self.contexts or len(context) > 255):
            raise Refused(f"{self.algorithm.name} takes no such context")

    def start_sign(self, private: bytes) -> Any:
        raise Unsupported(f"liboqs signs {self.algorithm.name} over a whole message only")

    def start_verify(self, public: bytes) -> Any:
        raise Unsupported(f"liboqs verifies {self.algorithm.name} over a whole message only")
