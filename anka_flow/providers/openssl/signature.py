"""Signatures with pyca/cryptography: RSA-PSS, ECDSA, EdDSA and ML-DSA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, mldsa, padding
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, Signing, Verifying

from .key import CurveKeys, RawKeys, RsaKeys

MAX_CONTEXT = 255


def _refuse_context(algorithm: Algorithm) -> Refused:
    return Refused(f"{algorithm.name} takes no context")


class InPieces:
    """A signature over a hash (or representative) that is computed in pieces; ``update`` is the library's own."""

    __slots__ = ("_conclude", "_digest", "update")

    def __init__(self, hasher: Any, conclude: Callable[..., Any]) -> None:
        self.update: Callable[[Buffer], None] = hasher.update
        self._digest, self._conclude = hasher.finalize, conclude

    def finish(self, *signature: Buffer) -> Any:
        return self._conclude(self._digest(), *signature)


class RsaPss(RsaKeys):
    """RSASSA-PSS (RFC 8017, 8.1), MGF1 with the same hash, a salt as long as the hash.

    Handles are typed loosely: the library takes any buffer, though its interface says ``bytes``.
    """

    streams = True

    def __init__(self, algorithm: Algorithm, bits: str, digest: str) -> None:
        super().__init__(algorithm, bits)
        self._hash: hashes.HashAlgorithm = getattr(hashes, digest)()
        self._prehashed = Prehashed(self._hash)
        self._padding = padding.PSS(padding.MGF1(self._hash), self._hash.digest_size)

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise _refuse_context(self.algorithm)
        return private.sign(message, self._padding, self._hash)  # type: ignore[no-any-return]  # a loose handle

    def verify(self, public: Any, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            raise _refuse_context(self.algorithm)
        try:
            public.verify(signature, message, self._padding, self._hash)
        except InvalidSignature:
            return False
        return True

    def start_sign(self, private: Any) -> Signing:
        return InPieces(hashes.Hash(self._hash), lambda digest: private.sign(digest, self._padding, self._prehashed))

    def start_verify(self, public: Any) -> Verifying:
        def conclude(digest: bytes, signature: Buffer) -> bool:
            try:
                public.verify(signature, digest, self._padding, self._prehashed)
            except InvalidSignature:
                return False
            return True

        return InPieces(hashes.Hash(self._hash), conclude)


class Ecdsa(CurveKeys):
    """ECDSA (FIPS 186-5, 6); signatures are ``r||s`` of fixed width (RFC 7518, 3.4), the library's are DER."""

    streams = True

    def __init__(self, algorithm: Algorithm, curve: str, digest: str) -> None:
        super().__init__(algorithm, curve)
        self._hash: hashes.HashAlgorithm = getattr(hashes, digest)()
        self._whole, self._prehashed = ec.ECDSA(self._hash), ec.ECDSA(Prehashed(self._hash))

    def sign(self, private: ec.EllipticCurvePrivateKey, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise _refuse_context(self.algorithm)
        return _fixed(private.sign(message, self._whole), self.width)

    def verify(self, public: ec.EllipticCurvePublicKey, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            raise _refuse_context(self.algorithm)
        return self._verified(public, message, signature, self._whole)

    def start_sign(self, private: ec.EllipticCurvePrivateKey) -> Signing:
        return InPieces(hashes.Hash(self._hash), lambda digest: _fixed(private.sign(digest, self._prehashed), self.width))

    def start_verify(self, public: ec.EllipticCurvePublicKey) -> Verifying:
        return InPieces(
            hashes.Hash(self._hash), lambda digest, signature: self._verified(public, digest, signature, self._prehashed)
        )

    def _verified(self, public: ec.EllipticCurvePublicKey, data: Buffer, signature: Buffer, scheme: ec.ECDSA) -> bool:
        if len(signature) != 2 * self.width:
            return False
        try:
            public.verify(_der(signature, self.width), data, scheme)
        except InvalidSignature:
            return False
        return True


def _der(signature: Buffer, width: int) -> bytes:
    """Return DER ``SEQUENCE { INTEGER r, INTEGER s }`` of ``r||s``; by octets, as numbers take half as long again."""
    r, s = bytes(signature[:width]).lstrip(b"\0"), bytes(signature[width:]).lstrip(b"\0")
    if not r or r[0] > 0x7F:  # DER integers are signed, and zero has one octet
        r = b"\0" + r
    if not s or s[0] > 0x7F:
        s = b"\0" + s
    size = len(r) + len(s) + 4
    return (b"0%c\2%c%b\2%c%b" if size < 0x80 else b"0\x81%c\2%c%b\2%c%b") % (size, len(r), r, len(s), s)


def _fixed(der: bytes, width: int) -> bytes:
    """Return ``r||s`` of a DER ``SEQUENCE { INTEGER r, INTEGER s }`` that the library has just made.

    Cutting the octets takes a third of the time of reading them as numbers.
    """
    at = 4 if der[1] < 0x80 else 5  # P-521 needs the long form of the sequence's length
    end = at + der[at - 1]
    return der[at:end][-width:].rjust(width, b"\0") + der[end + 2 :][-width:].rjust(width, b"\0")


class _Edwards(RawKeys):
    """EdDSA (RFC 8032). It reads the message twice, so there is no form in pieces."""

    streams = False

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise _refuse_context(self.algorithm)
        return private.sign(message)  # type: ignore[no-any-return]  # one handle, two types

    def verify(self, public: Any, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            raise _refuse_context(self.algorithm)
        try:
            public.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def start_sign(self, private: Any) -> Signing:
        raise Unsupported(f"{self.algorithm.name} signs whole messages only")

    def start_verify(self, public: Any) -> Verifying:
        raise Unsupported(f"{self.algorithm.name} verifies whole messages only")


class Ed25519(_Edwards):
    """Ed25519 (RFC 8032, 5.1)."""

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__(algorithm, ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey)


class Ed448(_Edwards):
    """Ed448 (RFC 8032, 5.2) with an empty context."""

    def __init__(self, algorithm: Algorithm) -> None:
        super().__init__(algorithm, ed448.Ed448PrivateKey, ed448.Ed448PublicKey)


class MlDsa(RawKeys):
    """ML-DSA (FIPS 204), hedged; in pieces by the message representative mu (algorithm 7, line 6)."""

    streams = True

    def __init__(self, algorithm: Algorithm, size: str) -> None:
        super().__init__(algorithm, getattr(mldsa, f"MLDSA{size}PrivateKey"), getattr(mldsa, f"MLDSA{size}PublicKey"))

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        try:
            return private.sign(message, context)  # type: ignore[no-any-return]  # one handle, three types
        except ValueError:
            raise Refused(f"context is longer than {MAX_CONTEXT} octets") from None

    def verify(self, public: Any, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        try:
            public.verify(signature, message, context)
        except InvalidSignature:
            return False
        except ValueError:
            raise Refused(f"context is longer than {MAX_CONTEXT} octets") from None
        return True

    def start_sign(self, private: Any) -> Signing:
        return InPieces(mldsa.MLDSAMuHasher(private.public_key(), b""), private.sign_mu)

    def start_verify(self, public: Any) -> Verifying:
        def conclude(mu: bytes, signature: Buffer) -> bool:
            try:
                public.verify_mu(signature, mu)
            except InvalidSignature:
                return False
            return True

        return InPieces(mldsa.MLDSAMuHasher(public, b""), conclude)
