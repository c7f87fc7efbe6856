"""Key derivation for JOSE: Concat KDF, HKDF and the KMAC form of the PQC KEM draft. Nothing here knows a token.

Lengths are in octets. KMAC256 is handed in, since the standard library has none.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Protocol, runtime_checkable

from anka_flow.primitives import Buffer

from .encoding import lp

KMAC_KEY_BYTES = 32
_SIZES = {"sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}
HASHES = {"HKDF-SHA256": "sha256", "HKDF-SHA384": "sha384", "HKDF-SHA512": "sha512"}


@runtime_checkable
class Kmac(Protocol):
    """KMAC256 with an output of any length (SP 800-185, 4): the length enters the computation, so it is not a prefix."""

    def derive(self, key: Buffer, data: Buffer, length: int) -> bytes:
        """Return KMAC256(K = key, X = data, L = 8 * length, S = "")."""


def bits(length: int) -> bytes:
    """Return a length in octets as a big-endian uint32 of bits: ``SuppPubInfo``, ``keydatalen``."""
    return (8 * length).to_bytes(4, "big")


def concat_kdf(secret: Buffer, algorithm_id: str, length: int, *, apu: bytes = b"", apv: bytes = b"") -> bytes:
    """Return the Concat KDF's key (SP 800-56A r3, 5.8.1 with SHA-256; OtherInfo of RFC 7518, 4.6.2)."""
    info = lp(algorithm_id.encode()) + lp(apu) + lp(apv) + bits(length)
    key = b""
    counter = 1
    while len(key) < length:
        key += hashlib.sha256(b"".join((counter.to_bytes(4, "big"), secret, info))).digest()
        counter += 1
    return key[:length]


def hkdf_extract(digest: str, salt: bytes, secret: Buffer) -> bytes:
    """Return the pseudorandom key (RFC 5869, 2.2); an empty salt stands for zero octets of the hash's length."""
    return hmac.digest(salt or bytes(_SIZES[digest]), secret, digest)


def hkdf_expand(digest: str, key: bytes, info: bytes, length: int) -> bytes:
    """Return output keying material (RFC 5869, 2.3). Raises ``ValueError`` above 255 hash lengths."""
    size = _SIZES[digest]
    if length > 255 * size:
        raise ValueError(f"HKDF gives at most {255 * size} octets")
    block = output = b""
    counter = 1
    while len(output) < length:
        block = hmac.digest(key, b"".join((block, info, bytes((counter,)))), digest)
        output += block
        counter += 1
    return output[:length]


def hkdf(token: str, secret: Buffer, info: bytes, length: int) -> bytes:
    """Return the key that a token of ``HASHES`` gives, with a zero salt. Raises ``KeyError`` for another name."""
    digest = HASHES[token]
    return hkdf_expand(digest, hkdf_extract(digest, b"", secret), info, length)


def kmac_kdf(kmac: Kmac, secret: Buffer, algorithm_id: str, length: int) -> bytes:
    """Return KMAC256(secret, lp(AlgorithmID) || bits, length) (draft-ietf-jose-pqc-kem-05, 6).

    The draft knows ML-KEM alone, with secrets of 32 octets. A shorter one (FRODO-976 has 24) is filled up with zero octets,
    since libraries refuse keys below KMAC256's strength; the length is fixed per algorithm, so this stays injective.
    """
    return kmac.derive(bytes(secret).ljust(KMAC_KEY_BYTES, b"\0"), lp(algorithm_id.encode()) + bits(length), length)
