"""Key wrapping of BouncyCastle with AES: the key-wrap mode and, as JOSE has it, GCM."""

from __future__ import annotations

import os
from typing import Any

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.provider import SecretKeys

from .aead import CipherKey, JavaAead
from .jvm import Machine

_LEAST_BYTES = 16  # RFC 3394, 2: two blocks of 64 bits


class WrapKey:
    """A key and the ciphers that hold it and are idle, by direction."""

    __slots__ = ("idle", "raw", "spec")

    def __init__(self, raw: bytes, spec: Any) -> None:
        self.raw, self.spec = raw, spec
        self.idle: dict[int, list[Any]] = {}

    def __repr__(self) -> str:
        return "WrapKey(...)"


class AesKw(SecretKeys):
    """AES Key Wrap (RFC 3394) of content keys of 16 octets and more, in steps of 8."""

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        self.algorithm, self.machine, self._name = algorithm, machine, mechanism
        self._spec = machine.java("javax.crypto.spec.SecretKeySpec")
        cipher = machine.java("javax.crypto.Cipher")
        self._wrap, self._unwrap, self._secret = cipher.WRAP_MODE, cipher.UNWRAP_MODE, cipher.SECRET_KEY

    def handle(self, raw: bytes) -> WrapKey:
        return WrapKey(raw, self._spec(raw, "AES"))

    def _cipher(self, key: WrapKey, mode: int) -> Any:
        idle = key.idle.setdefault(mode, [])
        if idle:
            return idle.pop()
        made = self.machine.instance("javax.crypto.Cipher", self._name)
        made.init(mode, key.spec)
        return made

    def wrap(self, public: WrapKey, content_key: Buffer) -> bytes:
        if len(content_key) < _LEAST_BYTES:
            raise Refused("the content key has a length that cannot be wrapped")
        cipher = self._cipher(public, self._wrap)
        try:
            wrapped = bytes(cipher.wrap(self._spec(content_key, "RAW")))
        except self.machine.failure:
            raise Refused("the content key has a length that cannot be wrapped") from None
        public.idle[self._wrap].append(cipher)
        return wrapped

    def unwrap(self, private: WrapKey, wrapped: Buffer) -> bytes:
        if len(wrapped) < _LEAST_BYTES + 8:
            raise Refused("the wrapped key does not open")
        cipher = self._cipher(private, self._unwrap)
        try:
            content_key = bytes(cipher.unwrap(wrapped, "RAW", self._secret).getEncoded())
        except self.machine.failure:
            raise Refused("the wrapped key does not open") from None
        private.idle[self._unwrap].append(cipher)
        return content_key


class AesGcmKw(SecretKeys):
    """AES-GCM key wrapping (RFC 7518, 4.7): returns nonce (12 octets), encrypted key and tag (16) in one, in that order."""

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        self.algorithm, self._aead = algorithm, JavaAead(algorithm, mechanism, machine)
        self._nonce_bytes = algorithm.sizes["nonce"]

    def handle(self, raw: bytes) -> CipherKey:
        return self._aead.handle(raw)

    def wrap(self, public: CipherKey, content_key: Buffer) -> bytes:
        nonce = os.urandom(self._nonce_bytes)
        return nonce + self._aead.seal(public, nonce, content_key, b"")

    def unwrap(self, private: CipherKey, wrapped: Buffer) -> bytes:
        return self._aead.open(private, wrapped[: self._nonce_bytes], wrapped[self._nonce_bytes :], b"")
