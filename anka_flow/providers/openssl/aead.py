"""Authenticated encryption that pyca/cryptography has as such: GCM, CCM and ChaCha20-Poly1305.

One-shot calls go to the library's AEAD objects, bound once per key; streams go through ``Cipher`` in GCM mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InternalError, InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, Opener, Sealer
from anka_flow.provider import SecretKeys

TAG_BYTES = 16
REFUSED = "message does not authenticate"
# What the library raises on a wrong tag, nonce or length; InternalError is AES-CCM past its length limit.
FAULTS = (InvalidTag, ValueError, OverflowError, InternalError)


class BlockKey:
    """A key as the block cipher that the library makes of it."""

    __slots__ = ("cipher", "raw")

    def __init__(self, raw: bytes, cipher: Any) -> None:
        self.raw, self.cipher = raw, cipher


class AeadKey(BlockKey):
    """A key with the calls of the library's AEAD object bound to it; ``cipher`` serves streams, where there are some."""

    __slots__ = ("decrypt", "encrypt")

    def __init__(self, raw: bytes, library: Any, cipher: Any = None) -> None:
        super().__init__(raw, cipher)
        self.encrypt: Callable[[Buffer, Buffer, Buffer], bytes] = library.encrypt
        self.decrypt: Callable[[Buffer, Buffer, Buffer], bytes] = library.decrypt


class Sizes(SecretKeys):
    """What every AEAD here has: its sizes from the catalog, and no streams unless a subclass brings them."""

    streams = False

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm
        self.key_bytes = algorithm.sizes["key"]
        self.nonce_bytes = algorithm.sizes["nonce"]
        self.tag_bytes = algorithm.sizes["tag"]

    def sealer(self, key: Any, nonce: Buffer, aad: Buffer) -> Sealer:
        raise Unsupported(f"openssl has no {self.algorithm.name} in pieces")

    def opener(self, key: Any, nonce: Buffer, aad: Buffer) -> Opener:
        raise Unsupported(f"openssl has no {self.algorithm.name} in pieces")


class OverBlock(Sizes):
    """A mode that is put over a block cipher by its name in the library."""

    def __init__(self, algorithm: Algorithm, cipher: str) -> None:
        super().__init__(algorithm)
        self._cipher = getattr(algorithms, cipher)

    def handle(self, raw: bytes) -> BlockKey:
        return BlockKey(raw, self._cipher(raw))


class _OneShot(Sizes):
    def seal(self, key: AeadKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        try:
            return key.encrypt(nonce, data, aad)
        except FAULTS:
            raise Refused("nonce or data of a wrong length") from None

    def open(self, key: AeadKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        try:
            return key.decrypt(nonce, data, aad)
        except FAULTS:
            raise Refused(REFUSED) from None


class AesCcm(_OneShot):
    """AES-CCM (SP 800-38C). The length enters the first block, so there is no form in pieces."""

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, aead.AESCCM(raw, TAG_BYTES))


class ChaCha20Poly1305(_OneShot):
    """ChaCha20-Poly1305 (RFC 8439)."""

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, aead.ChaCha20Poly1305(raw))


class GcmSealer:
    """A GCM encryption in progress; ``update_into`` is the library's own."""

    __slots__ = ("_context", "update_into")

    def __init__(self, key: BlockKey, nonce: Buffer, aad: Buffer) -> None:
        self._context = Cipher(key.cipher, modes.GCM(nonce)).encryptor()
        self._context.authenticate_additional_data(aad)
        self.update_into: Callable[[Buffer, memoryview | bytearray], int] = self._context.update_into

    def finish(self) -> bytes:
        self._context.finalize()
        return self._context.tag


class GcmOpener:
    """A GCM decryption in progress; ``update_into`` is the library's own."""

    __slots__ = ("_context", "update_into")

    def __init__(self, key: BlockKey, nonce: Buffer, aad: Buffer) -> None:
        self._context = Cipher(key.cipher, modes.GCM(nonce)).decryptor()
        self._context.authenticate_additional_data(aad)
        self.update_into: Callable[[Buffer, memoryview | bytearray], int] = self._context.update_into

    def finish(self, tag: Buffer) -> None:
        # A tag of another length would otherwise be held against a part of the right one.
        if len(tag) != TAG_BYTES:
            raise Refused(REFUSED)
        try:
            self._context.finalize_with_tag(bytes(tag))
        except FAULTS:
            raise Refused(REFUSED) from None


class _GcmStreams(Sizes):
    streams = True

    def sealer(self, key: BlockKey, nonce: Buffer, aad: Buffer) -> Sealer:
        try:
            return GcmSealer(key, nonce, aad)
        except ValueError:
            raise Refused("nonce of a wrong length") from None

    def opener(self, key: BlockKey, nonce: Buffer, aad: Buffer) -> Opener:
        try:
            return GcmOpener(key, nonce, aad)
        except ValueError:
            raise Refused(REFUSED) from None


class AesGcm(_OneShot, _GcmStreams):
    """AES-GCM (SP 800-38D)."""

    streams = True

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, aead.AESGCM(raw), algorithms.AES(raw))


class Gcm(OverBlock, _GcmStreams):
    """GCM over a block cipher for which the library has no AEAD object: SM4 (RFC 8998)."""

    def seal(self, key: BlockKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        try:
            context = Cipher(key.cipher, modes.GCM(nonce)).encryptor()
        except ValueError:
            raise Refused("nonce of a wrong length") from None
        context.authenticate_additional_data(aad)
        sealed = context.update(data)
        context.finalize()
        return sealed + context.tag

    def open(self, key: BlockKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        view = memoryview(data)
        if len(view) < TAG_BYTES:
            raise Refused(REFUSED)
        try:
            context = Cipher(key.cipher, modes.GCM(nonce)).decryptor()
            context.authenticate_additional_data(aad)
            plain = context.update(view[:-TAG_BYTES])
            context.finalize_with_tag(bytes(view[-TAG_BYTES:]))
        except FAULTS:
            raise Refused(REFUSED) from None
        return plain
