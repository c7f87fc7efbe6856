"""GCM, CCM, ChaCha20-Poly1305 and AES key wrap of pycryptodome. The library keys a new object with every message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from Crypto.Cipher import AES, ChaCha20_Poly1305

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, Opener, Sealer
from anka_flow.provider import SecretKeys

TAG_BYTES = 16
REFUSED = "message does not authenticate"
_FAULTS = (ValueError, TypeError, OverflowError)


class AeadKey:
    """A key: ``start(nonce=...)`` returns the library's object for one message."""

    __slots__ = ("raw", "start")

    def __init__(self, raw: bytes, start: Callable[..., Any]) -> None:
        self.raw, self.start = raw, start


class _Aead(SecretKeys):
    streams = True

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm
        self.key_bytes = algorithm.sizes["key"]
        self.nonce_bytes = algorithm.sizes["nonce"]
        self.tag_bytes = algorithm.sizes["tag"]

    def start(self, key: AeadKey, nonce: Buffer, aad: Buffer, data_bytes: int) -> Any:  # CCM needs the length
        """Return the object for one message, the additional data taken in."""
        try:
            context = key.start(nonce=nonce)
        except _FAULTS:
            raise Refused("nonce of a wrong length") from None
        context.update(aad)
        return context

    def seal(self, key: AeadKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        sealed, tag = self.start(key, nonce, aad, len(data)).encrypt_and_digest(data)
        return sealed + tag  # type: ignore[no-any-return]  # three classes of context

    def open(self, key: AeadKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        view = memoryview(data)
        if len(view) < TAG_BYTES:
            raise Refused(REFUSED)
        context = self.start(key, nonce, aad, len(view) - TAG_BYTES)
        try:
            return context.decrypt_and_verify(view[:-TAG_BYTES], view[-TAG_BYTES:])  # type: ignore[no-any-return]  # as above
        except _FAULTS:
            raise Refused(REFUSED) from None

    def sealer(self, key: AeadKey, nonce: Buffer, aad: Buffer) -> Sealer:
        return InPieces(self.start(key, nonce, aad, 0), sealing=True)

    def opener(self, key: AeadKey, nonce: Buffer, aad: Buffer) -> Opener:
        return InPieces(self.start(key, nonce, aad, 0), sealing=False)


class InPieces:
    """An encryption or a decryption in progress."""

    __slots__ = ("_context", "_work")

    def __init__(self, context: Any, *, sealing: bool) -> None:
        self._context, self._work = context, context.encrypt if sealing else context.decrypt

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int:
        size = len(data)
        self._work(data, output=memoryview(out)[:size])  # the library wants an output of exactly this length
        return size

    def finish(self, *tag: Buffer) -> Any:
        if not tag:
            return self._context.digest()
        try:
            return self._context.verify(*tag)
        except ValueError:
            raise Refused(REFUSED) from None


class AesGcm(_Aead):
    """AES-GCM (SP 800-38D)."""

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, partial(AES.new, raw, AES.MODE_GCM))


class ChaCha20Poly1305(_Aead):
    """ChaCha20-Poly1305 (RFC 8439)."""

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, partial(ChaCha20_Poly1305.new, key=raw))

    def start(self, key: AeadKey, nonce: Buffer, aad: Buffer, data_bytes: int) -> Any:
        if len(nonce) != self.nonce_bytes:  # 8 and 24 octets would be other ciphers here
            raise Refused("nonce of a wrong length")
        return super().start(key, nonce, aad, data_bytes)


class AesCcm(_Aead):
    """AES-CCM (SP 800-38C). In pieces the library wants the length first, which the shape of a sealer cannot give."""

    streams = False

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, partial(AES.new, raw, AES.MODE_CCM, mac_len=TAG_BYTES))

    def start(self, key: AeadKey, nonce: Buffer, aad: Buffer, data_bytes: int) -> Any:
        try:
            context = key.start(nonce=nonce, msg_len=data_bytes, assoc_len=len(aad))
        except _FAULTS:
            raise Refused("nonce or data of a wrong length") from None
        context.update(aad)
        return context

    def sealer(self, key: AeadKey, nonce: Buffer, aad: Buffer) -> Sealer:
        raise Unsupported(f"{self.algorithm.name} needs the length of the message first")

    def opener(self, key: AeadKey, nonce: Buffer, aad: Buffer) -> Opener:
        raise Unsupported(f"{self.algorithm.name} needs the length of the message first")


class AesKw(SecretKeys):
    """AES Key Wrap (RFC 3394)."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def handle(self, raw: bytes) -> AeadKey:
        return AeadKey(raw, partial(AES.new, raw, AES.MODE_KW))

    def wrap(self, public: AeadKey, content_key: Buffer) -> bytes:
        try:
            return public.start().seal(bytes(content_key))  # type: ignore[no-any-return]  # a loose handle
        except _FAULTS:
            raise Refused("content key of a length that cannot be wrapped") from None

    def unwrap(self, private: AeadKey, wrapped: Buffer) -> bytes:
        try:
            return private.start().unseal(bytes(wrapped))  # type: ignore[no-any-return]  # a loose handle
        except _FAULTS:
            raise Refused("wrapped key is not valid for this key") from None
