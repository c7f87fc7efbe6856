"""MACs and AEADs of BouncyCastle. AEADs take a message whole: their engines hold octets back until the end."""

from __future__ import annotations

import os
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair

from .machine import ARRAY_BYTES, Machine


class SecretKey:
    """A Java key with its octets, and the engines set up with it that are idle, by direction, each with its last nonce."""

    __slots__ = ("data", "idle", "java")

    def __init__(self, data: bytes, java: Any) -> None:
        self.data, self.java = data, java
        self.idle: dict[int, list[tuple[Any, bytes]]] = {0: [], 1: [], 2: []}

    def __repr__(self) -> str:
        return "SecretKey(...)"


class _SecretKeys:
    """Keys that are octets."""

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        self.algorithm, self.mechanism, self.machine = algorithm, mechanism, machine
        self._spec = machine.java("javax.crypto.spec.SecretKeySpec")
        # RFC 2104, 3 and SP 800-185, 4.2 take any length but none; ciphers take their own.
        self.exact = 0 if algorithm.family in ("HMAC", "KMAC") else algorithm.sizes["key"]

    def generate(self) -> KeyPair:
        return self.decode_private(os.urandom(self.algorithm.sizes["key"]))

    def encode_public(self, public: SecretKey) -> bytes:
        return public.data

    def decode_public(self, data: bytes) -> SecretKey:
        if not data or (self.exact and len(data) != self.exact):
            raise Refused("the key has a wrong length")
        data = bytes(data)
        return SecretKey(data, self._spec(self.machine.octet_array(data), self.mechanism.split("/", maxsplit=1)[0]))

    def encode_private(self, pair: KeyPair) -> bytes:
        return self.encode_public(pair.private)

    def decode_private(self, data: bytes) -> KeyPair:
        key = self.decode_public(data)
        return KeyPair(key, key)


class JavaMac(_SecretKeys):
    """See ``primitives.Mac``."""

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        super().__init__(algorithm, mechanism, machine)
        self.java_mac = machine.java("javax.crypto.Mac")
        self.java_mac.getInstance(mechanism, machine.general)

    def take(self, key: SecretKey) -> Any:
        """Return an engine that is ready for a message's first octet."""
        if key.idle[0]:
            return key.idle[0].pop()[0]
        engine = self.java_mac.getInstance(self.mechanism, self.machine.general)
        self.machine.refuse("the key is not valid", engine.init, key.java)
        return engine

    def tag(self, key: SecretKey, message: Buffer) -> bytes:
        engine = self.take(key)
        self.machine.feed(engine, message)
        out = bytes(engine.doFinal())
        key.idle[0].append((engine, b""))
        return out

    def start_tag(self, key: SecretKey) -> Tagging:
        return Tagging(self, key)


class Tagging:
    """See ``primitives.Signing``."""

    def __init__(self, owner: JavaMac, key: SecretKey) -> None:
        self.owner, self.key, self.engine = owner, key, owner.take(key)

    def update(self, data: Buffer) -> None:
        self.owner.machine.feed(self.engine, data)

    def finish(self) -> bytes:
        out = bytes(self.engine.doFinal())
        self.key.idle[0].append((self.engine, b""))
        return out


class JavaAead(_SecretKeys):
    """See ``primitives.Aead``."""

    streams = False

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        super().__init__(algorithm, mechanism, machine)
        sizes, java = algorithm.sizes, machine.java
        self.key_bytes, self.nonce_bytes, self.tag_bytes = sizes["key"], sizes["nonce"], sizes["tag"]
        self.java_cipher = java("javax.crypto.Cipher")
        self._parameters = java("org.bouncycastle.jcajce.spec.AEADParameterSpec")
        self.java_cipher.getInstance(mechanism, machine.general)

    def _begin(self, key: SecretKey, mode: int, nonce: bytes, aad: Buffer) -> Any:
        """Return an engine that is ready for a message's first octet. One engine refuses to see one nonce twice running."""
        idle = key.idle[mode]
        engine = idle.pop()[0] if idle and idle[-1][1] != nonce else self._new()
        spec = self._parameters(self.machine.octet_array(nonce), 8 * self.tag_bytes)
        self.machine.refuse("the nonce is not valid", engine.init, mode, key.java, spec)
        if len(aad):
            engine.updateAAD(self.machine.octet_array(aad))
        return engine

    def _new(self) -> Any:
        return self.java_cipher.getInstance(self.mechanism, self.machine.general)

    def _run(self, key: SecretKey, mode: int, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        nonce = bytes(nonce)
        engine = self._begin(key, mode, nonce, aad)
        try:
            if len(data) < ARRAY_BYTES:
                out = bytes(engine.doFinal(self.machine.octet_array(data)))
            else:
                room = bytearray(len(data) + self.tag_bytes)
                count = engine.doFinal(self.machine.buffer(data), self.machine.buffer(room))
                out = bytes(memoryview(room)[:count])
        except self.machine.failure:
            raise Refused("the ciphertext does not open") from None
        key.idle[mode].append((engine, nonce))
        return out

    def seal(self, key: SecretKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        return self._run(key, 1, nonce, data, aad)

    def open(self, key: SecretKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        if len(data) < self.tag_bytes:
            raise Refused("the ciphertext does not open")
        return self._run(key, 2, nonce, data, aad)

    def sealer(self, key: SecretKey, nonce: Buffer, aad: Buffer) -> Any:
        raise Unsupported(f"BouncyCastle takes a message of {self.algorithm.name} whole only")

    def opener(self, key: SecretKey, nonce: Buffer, aad: Buffer) -> Any:
        raise Unsupported(f"BouncyCastle takes a message of {self.algorithm.name} whole only")
