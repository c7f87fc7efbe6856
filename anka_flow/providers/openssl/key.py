"""Public-key handles of pyca/cryptography and their encodings. A handle is the library's own key object."""

from __future__ import annotations

from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_der_public_key,
)

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, KeyPair

_MIN_RSA_BITS = 2048
_FAULTS = (ValueError, TypeError, UnsupportedAlgorithm)


class RawKeys:
    """Keys whose encodings are raw octets: OKP (RFC 7748, 8032) and, as seeds, ML-KEM (FIPS 203) and ML-DSA (FIPS 204)."""

    def __init__(self, algorithm: Algorithm, private: Any, public: Any) -> None:
        self.algorithm = algorithm
        self.new = private.generate
        self._load_private = private.from_seed_bytes if hasattr(private, "from_seed_bytes") else private.from_private_bytes
        self._load_public = public.from_public_bytes

    def generate(self) -> KeyPair:
        private = self.new()
        return KeyPair(private.public_key(), private)

    def encode_public(self, public: Any) -> bytes:
        return bytes(public.public_bytes_raw())

    def decode_public(self, data: bytes) -> Any:
        try:
            return self._load_public(bytes(data))
        except _FAULTS:
            raise Refused(f"not a public key of {self.algorithm.name}") from None

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.private_bytes_raw())

    def decode_private(self, data: bytes) -> KeyPair:
        try:
            private = self._load_private(bytes(data))
        except _FAULTS:
            raise Refused(f"not a private key of {self.algorithm.name}") from None
        return KeyPair(private.public_key(), private)


class CurveKeys:
    """Keys on a P-curve: ``04||x||y`` (SEC 1, 2.3.3) and the scalar of fixed width. Points off the curve are refused."""

    def __init__(self, algorithm: Algorithm, curve: str) -> None:
        self.algorithm = algorithm
        self.curve: ec.EllipticCurve = getattr(ec, curve.upper())()
        self.width = (self.curve.key_size + 7) // 8

    def generate(self) -> KeyPair:
        private = ec.generate_private_key(self.curve)
        return KeyPair(private.public_key(), private)

    def encode_public(self, public: ec.EllipticCurvePublicKey) -> bytes:
        return public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def decode_public(self, data: bytes) -> ec.EllipticCurvePublicKey:
        if len(data) != 2 * self.width + 1:  # compressed and hybrid points are no encoding of ours
            raise Refused(f"not a public key of {self.algorithm.name}")
        try:
            return ec.EllipticCurvePublicKey.from_encoded_point(self.curve, bytes(data))
        except _FAULTS:
            raise Refused(f"not a public key of {self.algorithm.name}") from None

    def encode_private(self, pair: KeyPair) -> bytes:
        scalar: int = pair.private.private_numbers().private_value
        return scalar.to_bytes(self.width, "big")

    def decode_private(self, data: bytes) -> KeyPair:
        try:
            if len(data) != self.width:
                raise ValueError
            private = ec.derive_private_key(int.from_bytes(data, "big"), self.curve)
        except _FAULTS:
            raise Refused(f"not a private key of {self.algorithm.name}") from None
        return KeyPair(private.public_key(), private)


class RsaKeys:
    """RSA keys of the algorithm's modulus length, or (``any``) of 2048 bits and more: SubjectPublicKeyInfo and PKCS #8 DER."""

    def __init__(self, algorithm: Algorithm, bits: str) -> None:
        self.algorithm = algorithm
        self.bits = 0 if bits == "any" else int(bits)

    def generate(self) -> KeyPair:
        private = rsa.generate_private_key(65537, self.bits or _MIN_RSA_BITS)
        return KeyPair(private.public_key(), private)

    def _fits(self, key: rsa.RSAPublicKey | rsa.RSAPrivateKey) -> bool:
        return key.key_size == self.bits if self.bits else key.key_size >= _MIN_RSA_BITS

    def encode_public(self, public: rsa.RSAPublicKey) -> bytes:
        return public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def decode_public(self, data: bytes) -> rsa.RSAPublicKey:
        try:
            public = load_der_public_key(bytes(data))
        except _FAULTS:
            raise Refused(f"not a public key of {self.algorithm.name}") from None
        if not isinstance(public, rsa.RSAPublicKey) or not self._fits(public):
            raise Refused(f"not a public key of {self.algorithm.name}")
        return public

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))

    def decode_private(self, data: bytes) -> KeyPair:
        try:
            private = load_der_private_key(bytes(data), None, unsafe_skip_rsa_key_validation=True)
        except _FAULTS:
            raise Refused(f"not a private key of {self.algorithm.name}") from None
        if not isinstance(private, rsa.RSAPrivateKey) or not self._fits(private) or not _consistent(private):
            raise Refused(f"not a private key of {self.algorithm.name}")
        return KeyPair(private.public_key(), private)


def _consistent(private: rsa.RSAPrivateKey) -> bool:
    """Return whether the parts of the key belong together (SP 800-56B r2, 6.2.1).

    The library would also test both primes, which takes seconds at 8192 bits: too long for every process that loads a key.
    """
    numbers = private.private_numbers()
    p, q, d = numbers.p, numbers.q, numbers.d
    if p * q != numbers.public_numbers.n or min(p, q) < 3 or numbers.iqmp * q % p != 1:
        return False
    exponents = (d % (p - 1), d % (q - 1)) == (numbers.dmp1, numbers.dmq1)
    return exponents and all(d * numbers.public_numbers.e % (prime - 1) == 1 for prime in (p, q))
