"""Key wrapping with AES: the key-wrap mode and, as JOSE has it, GCM."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import keywrap
from cryptography.hazmat.primitives.ciphers import aead

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.provider import SecretKeys

from .aead import AeadKey

REFUSED = "wrapped key is not valid for this key"
NONCE_BYTES = 12


class WrapKey:
    """A key; the library takes its octets with each call."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw


class AesKw(SecretKeys):
    """AES Key Wrap (RFC 3394) of content keys of 16 octets and more, in steps of 8."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def handle(self, raw: bytes) -> WrapKey:
        return WrapKey(raw)

    def wrap(self, public: WrapKey, content_key: Buffer) -> bytes:
        try:
            return keywrap.aes_key_wrap(public.raw, content_key)
        except ValueError:
            raise Refused("content key of a length that cannot be wrapped") from None

    def unwrap(self, private: WrapKey, wrapped: Buffer) -> bytes:
        try:
            return keywrap.aes_key_unwrap(private.raw, wrapped)
        except (keywrap.InvalidUnwrap, ValueError):
            raise Refused(REFUSED) from None


class AesGcmKw(SecretKeys):
    """AES-GCM key wrapping (RFC 7518, 4.7): returns nonce (12 octets), encrypted key and tag (16) in one, in that order."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, aead.AESGCM(raw))

    def wrap(self, public: AeadKey, content_key: Buffer) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + public.encrypt(nonce, content_key, b"")

    def unwrap(self, private: AeadKey, wrapped: Buffer) -> bytes:
        try:
            return private.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], b"")
        except (InvalidTag, ValueError):
            raise Refused(REFUSED) from None
