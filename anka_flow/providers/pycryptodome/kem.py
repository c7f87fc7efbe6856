"""Ephemeral-static ECDH and RSA-OAEP with pycryptodome."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from Crypto.Cipher import PKCS1_OAEP
from Crypto.Protocol import DH

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer

from .key import CurveKeys, Handle, RsaKeys

REFUSED = "ciphertext is not valid for this key"
_FAULTS = (ValueError, TypeError, IndexError)


class Ecdh(CurveKeys):
    """ECDH (SP 800-56A r3, 5.7.1.2; RFC 7748, 6): the ciphertext is the ephemeral public key, the secret the raw output.

    Points off the curve and small-order points are refused by the library.
    """

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        ephemeral = self.new()
        try:
            secret = DH.key_agreement(kdf=bytes, eph_priv=ephemeral, static_pub=public.key)
        except _FAULTS:
            raise Refused("public key is of small order") from None
        return ephemeral.public_key().export_key(format="raw"), secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        try:
            return DH.key_agreement(kdf=bytes, static_priv=private.key, eph_pub=self.load_public(bytes(ciphertext)))
        except _FAULTS:
            raise Refused(REFUSED) from None


class RsaOaep(RsaKeys):
    """RSAES-OAEP (RFC 8017, 7.1), MGF1 with the same hash, no label: transports a fresh secret or the caller's key."""

    def __init__(self, algorithm: Algorithm, bits: str, digest: str) -> None:
        super().__init__(algorithm, bits)
        self._hash: Any = import_module(f"Crypto.Hash.{digest}")
        self._secret_bytes = algorithm.sizes.get("secret", 32)

    def scheme(self, key: Any) -> Any:
        return PKCS1_OAEP.new(key, self._hash)

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        secret = os.urandom(self._secret_bytes)
        return public.scheme.encrypt(secret), secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        try:
            return private.scheme.decrypt(ciphertext)  # type: ignore[no-any-return]  # a loose handle
        except _FAULTS:
            raise Refused(REFUSED) from None

    def wrap(self, public: Handle, content_key: Buffer) -> bytes:
        try:
            return public.scheme.encrypt(content_key)  # type: ignore[no-any-return]  # a loose handle
        except _FAULTS:
            raise Refused("content key is too long for this key") from None

    unwrap = decapsulate
