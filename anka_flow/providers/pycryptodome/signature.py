"""RSA-PSS, ECDSA, EdDSA and ML-DSA with pycryptodome. Its schemes sign a hash object, so most of them work in pieces."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from Crypto.Signature import DSS, eddsa, mldsa, pss

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, Signing, Verifying

from .key import CurveKeys, Handle, MlDsaKeys, RsaKeys


class InPieces:
    """A signature in progress over the library's hash object; ``update`` is the library's own."""

    __slots__ = ("_conclude", "_hasher", "update")

    def __init__(self, hasher: Any, conclude: Callable[..., Any]) -> None:
        self.update: Callable[[Buffer], Any] = hasher.update
        self._hasher, self._conclude = hasher, conclude

    def finish(self, *signature: Buffer) -> Any:
        return self._conclude(self._hasher, *signature)


def _verdict(scheme: Any) -> Callable[[Any, Buffer], bool]:
    """Return the scheme's verification as a function that answers instead of raising."""

    def verified(message: Any, signature: Buffer) -> bool:
        try:
            scheme.verify(message, bytes(signature))
        except ValueError:
            return False
        return True

    return verified


class _Hashed:
    """Signatures of a hash object."""

    streams = True
    algorithm: Algorithm
    hash: Any

    def sign(self, private: Handle, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        return private.scheme.sign(self.hash.new(message))  # type: ignore[no-any-return]  # a loose handle

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        try:
            public.scheme.verify(self.hash.new(message), bytes(signature))
        except ValueError:
            return False
        return True

    def start_sign(self, private: Handle) -> Signing:
        return InPieces(self.hash.new(), private.scheme.sign)

    def start_verify(self, public: Handle) -> Verifying:
        return InPieces(self.hash.new(), _verdict(public.scheme))


class RsaPss(_Hashed, RsaKeys):
    """RSASSA-PSS (RFC 8017, 8.1), MGF1 with the same hash, a salt as long as the hash."""

    def __init__(self, algorithm: Algorithm, bits: str, digest: str) -> None:
        super().__init__(algorithm, bits)
        self.hash = import_module(f"Crypto.Hash.{digest}")

    def scheme(self, key: Any) -> Any:
        return pss.new(key, salt_bytes=self.hash.digest_size)


class Ecdsa(_Hashed, CurveKeys):
    """ECDSA (FIPS 186-5, 6); the library's binary form is ``r||s``."""

    def __init__(self, algorithm: Algorithm, curve: str, digest: str) -> None:
        super().__init__(algorithm, curve)
        self.hash = import_module(f"Crypto.Hash.{digest}")

    def scheme(self, key: Any) -> Any:
        return DSS.new(key, "fips-186-3", encoding="binary")


class EdDsa(CurveKeys):
    """EdDSA (RFC 8032) without context. It reads the message twice, so there is no form in pieces."""

    streams = False

    def scheme(self, key: Any) -> Any:
        return eddsa.new(key, "rfc8032")

    def sign(self, private: Handle, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        return private.scheme.sign(message)  # type: ignore[no-any-return]  # a loose handle

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        return _verdict(public.scheme)(message, signature)

    def start_sign(self, private: Handle) -> Signing:
        raise Unsupported(f"{self.algorithm.name} signs whole messages only")

    def start_verify(self, public: Handle) -> Verifying:
        raise Unsupported(f"{self.algorithm.name} verifies whole messages only")


class MlDsa(MlDsaKeys):
    """ML-DSA (FIPS 204), hedged; in pieces by the message representative mu (algorithm 7, line 6)."""

    streams = True

    def scheme(self, key: Any) -> Any:
        return mldsa.new(key)

    def sign(self, private: Handle, message: Buffer, context: bytes = b"") -> bytes:
        scheme = _in_context(private, context) if context else private.scheme
        return scheme.sign(message)  # type: ignore[no-any-return]  # a loose handle

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        scheme = _in_context(public, context) if context else public.scheme
        return _verdict(scheme)(message, signature)

    def start_sign(self, private: Handle) -> Signing:
        return InPieces(mldsa.MLDSAMuHash(private.key), private.scheme.sign)

    def start_verify(self, public: Handle) -> Verifying:
        return InPieces(mldsa.MLDSAMuHash(public.key), _verdict(public.scheme))


def _in_context(handle: Handle, context: bytes) -> Any:
    try:
        return mldsa.new(handle.key, context)
    except ValueError:
        raise Refused("context is longer than 255 octets") from None
