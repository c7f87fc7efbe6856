"""Key encapsulation with pyca/cryptography: ephemeral-static ECDH, RSA-OAEP and ML-KEM."""

from __future__ import annotations

import os
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, mlkem, padding, rsa, x448, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer

from .key import CurveKeys, RawKeys, RsaKeys

REFUSED = "ciphertext is not valid for this key"
_ECDH = ec.ECDH()
_X962, _POINT = Encoding.X962, PublicFormat.UncompressedPoint


class Ecdh(CurveKeys):
    """ECDH on a P-curve (SP 800-56A r3, 5.7.1.2): the ciphertext is the ephemeral point, the secret its x coordinate."""

    def __init__(self, algorithm: Algorithm, curve: str) -> None:
        super().__init__(algorithm, curve)
        self._new = ec.generate_private_key
        self._load = ec.EllipticCurvePublicKey.from_encoded_point
        self._point_bytes = 2 * self.width + 1

    def encapsulate(self, public: ec.EllipticCurvePublicKey) -> tuple[bytes, bytes]:
        ephemeral = self._new(self.curve)
        return ephemeral.public_key().public_bytes(_X962, _POINT), ephemeral.exchange(_ECDH, public)

    def decapsulate(self, private: ec.EllipticCurvePrivateKey, ciphertext: Buffer) -> bytes:
        try:
            if len(ciphertext) != self._point_bytes:
                raise ValueError
            # Loading checks that the point is on the curve: SP 800-56A r3, 5.6.2.3.
            return private.exchange(_ECDH, self._load(self.curve, bytes(ciphertext)))
        except ValueError:
            raise Refused(REFUSED) from None


class _Montgomery(RawKeys):
    """X25519 and X448 (RFC 7748, 6). The library refuses the all-zero secret of a small-order point."""

    def encapsulate(self, public: Any) -> tuple[bytes, bytes]:
        ephemeral = self.new()
        try:
            return ephemeral.public_key().public_bytes_raw(), ephemeral.exchange(public)
        except ValueError:
            raise Refused("public key is of small order") from None

    def decapsulate(self, private: Any, ciphertext: Buffer) -> bytes:
        try:
            return private.exchange(self._load_public(bytes(ciphertext)))  # type: ignore[no-any-return]  # one handle, two types
        except ValueError:
            raise Refused(REFUSED) from None


class X25519(_Montgomery):
    """X25519 (RFC 7748, 6.1)."""

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__(algorithm, x25519.X25519PrivateKey, x25519.X25519PublicKey)


class X448(_Montgomery):
    """X448 (RFC 7748, 6.2)."""

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__(algorithm, x448.X448PrivateKey, x448.X448PublicKey)


class MlKem(RawKeys):
    """ML-KEM (FIPS 203); the private encoding is the 64-octet seed d||z. A wrong ciphertext gives a wrong secret."""

    def __init__(self, algorithm: Algorithm, size: str) -> None:
        super().__init__(algorithm, getattr(mlkem, f"MLKEM{size}PrivateKey"), getattr(mlkem, f"MLKEM{size}PublicKey"))

    def encapsulate(self, public: Any) -> tuple[bytes, bytes]:
        secret, ciphertext = public.encapsulate()
        return ciphertext, secret

    def decapsulate(self, private: Any, ciphertext: Buffer) -> bytes:
        try:
            return private.decapsulate(ciphertext)  # type: ignore[no-any-return]  # one handle, two types
        except ValueError:
            raise Refused(REFUSED) from None


class RsaOaep(RsaKeys):
    """RSAES-OAEP (RFC 8017, 7.1), MGF1 with the same hash, no label: transports a fresh secret or the caller's key."""

    def __init__(self, algorithm: Algorithm, bits: str, digest: str) -> None:
        super().__init__(algorithm, bits)
        hashing: hashes.HashAlgorithm = getattr(hashes, digest)()
        self._padding = padding.OAEP(padding.MGF1(hashing), hashing, None)
        self._secret_bytes = algorithm.sizes.get("secret", 32)

    def encapsulate(self, public: rsa.RSAPublicKey) -> tuple[bytes, bytes]:
        secret = os.urandom(self._secret_bytes)
        return public.encrypt(secret, self._padding), secret

    def decapsulate(self, private: rsa.RSAPrivateKey, ciphertext: Buffer) -> bytes:
        try:
            return private.decrypt(bytes(ciphertext), self._padding)
        except ValueError:
            raise Refused(REFUSED) from None

    def wrap(self, public: rsa.RSAPublicKey, content_key: Buffer) -> bytes:
        try:
            return public.encrypt(bytes(content_key), self._padding)
        except ValueError:
            raise Refused("content key is too long for this key") from None

    unwrap = decapsulate
