"""Public-key handles of pycryptodome and their encodings: the library's key object, and what uses it, made once."""

from __future__ import annotations

from typing import Any

from Crypto.Protocol import DH
from Crypto.PublicKey import ECC, MLDSA, RSA
from Crypto.Signature import eddsa

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, KeyPair

_FAULTS = (ValueError, TypeError, IndexError, KeyError)
_LOAD = {
    "Curve25519": DH.import_x25519_public_key,
    "Curve448": DH.import_x448_public_key,
    "Ed25519": eddsa.import_public_key,
    "Ed448": eddsa.import_public_key,
}
_PUBLIC_BYTES = {"P-256": 65, "P-384": 97, "P-521": 133, "Curve25519": 32, "Curve448": 56, "Ed25519": 32, "Ed448": 57}


class Handle:
    """A key and the library's scheme object for it."""

    __slots__ = ("key", "scheme")

    def __init__(self, key: Any, scheme: Any) -> None:
        self.key, self.scheme = key, scheme


class Keys:
    """What all public-key primitives here share; a subclass says how its library keys load and store."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def scheme(self, key: Any) -> Any:
        """Return the library's object that works with the key, or None where there is none."""
        return None

    def new(self) -> Any:
        raise NotImplementedError

    def load_public(self, data: bytes) -> Any:
        raise NotImplementedError

    def load_private(self, data: bytes) -> Any:
        raise NotImplementedError

    def pair(self, key: Any) -> KeyPair:
        public = key.public_key()
        return KeyPair(Handle(public, self.scheme(public)), Handle(key, self.scheme(key)))

    def generate(self) -> KeyPair:
        return self.pair(self.new())

    def decode_public(self, data: bytes) -> Handle:
        try:
            key = self.load_public(bytes(data))
        except _FAULTS:
            raise Refused(f"not a public key of {self.algorithm.name}") from None
        return Handle(key, self.scheme(key))

    def decode_private(self, data: bytes) -> KeyPair:
        try:
            return self.pair(self.load_private(bytes(data)))
        except _FAULTS:
            raise Refused(f"not a private key of {self.algorithm.name}") from None


class CurveKeys(Keys):
    """Keys on a curve: ``04||x||y`` and the scalar, or the raw octets of RFC 7748 and RFC 8032 and the seed."""

    def __init__(self, algorithm: Algorithm, curve: str) -> None:
        super().__init__(algorithm)
        self.curve, self.public_bytes = curve, _PUBLIC_BYTES[curve]
        self.seeded = curve in _LOAD
        self.width = self.public_bytes if self.seeded else (self.public_bytes - 1) // 2

    def new(self) -> Any:
        return ECC.generate(curve=self.curve)

    def load_public(self, data: bytes) -> Any:
        if len(data) != self.public_bytes:
            raise ValueError
        if self.seeded:
            return _LOAD[self.curve](data)
        if data[0] != 4 or not any(data[1:]):  # the library takes hybrid points, and zeros for the point at infinity
            raise ValueError
        return ECC.import_key(data, curve_name=self.curve)

    def load_private(self, data: bytes) -> Any:
        if len(data) != self.width:
            raise ValueError
        if self.seeded:
            return ECC.construct(curve=self.curve, seed=data)
        return ECC.construct(curve=self.curve, d=int.from_bytes(data, "big"))

    def encode_public(self, public: Handle) -> bytes:
        return bytes(public.key.export_key(format="raw"))

    def encode_private(self, pair: KeyPair) -> bytes:
        key = pair.private.key
        return bytes(key.seed) if self.seeded else int(key.d).to_bytes(self.width, "big")


class RsaKeys(Keys):
    """RSA keys of the algorithm's modulus length: SubjectPublicKeyInfo and PKCS #8 DER."""

    def __init__(self, algorithm: Algorithm, bits: str) -> None:
        super().__init__(algorithm)
        self.bits = int(bits)

    def new(self) -> Any:
        return RSA.generate(self.bits)

    def load_public(self, data: bytes) -> Any:
        key = RSA.import_key(data)
        if key.size_in_bits() != self.bits or key.has_private():
            raise ValueError
        return key

    def load_private(self, data: bytes) -> Any:
        key = RSA.import_key(data)
        if key.size_in_bits() != self.bits or not key.has_private():
            raise ValueError
        return key

    def encode_public(self, public: Handle) -> bytes:
        return bytes(public.key.export_key(format="DER"))

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.key.export_key(format="DER", pkcs=8))


class MlDsaKeys(Keys):
    """ML-DSA keys: raw public keys, and the 32-octet seed (FIPS 204, algorithm 1)."""

    def __init__(self, algorithm: Algorithm, size: str) -> None:
        super().__init__(algorithm)
        self.set = MLDSA.ParamSet(f"ML-DSA-{size}")

    def new(self) -> Any:
        return MLDSA.generate(param_set=self.set)

    def load_public(self, data: bytes) -> Any:
        return MLDSA.construct(param_set=self.set, pk=data)

    def load_private(self, data: bytes) -> Any:
        return MLDSA.construct(param_set=self.set, seed=data)

    def encode_public(self, public: Handle) -> bytes:
        return bytes(public.key.pk)

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.key.seed)
