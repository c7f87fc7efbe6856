"""AEADs of BouncyCastle: GCM and ChaCha20-Poly1305 stream, CCM takes a message whole."""

from __future__ import annotations

from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.provider import SecretKeys

from .jvm import SMALL_BYTES, STEP_BYTES, Machine
from .stream import JavaOpener, JavaSealer, chacha, counter_mode

_REFUSED = "the ciphertext does not open"


class Operation:
    """A Java cipher, its calls bound once; it serves one message at a time, and no nonce twice in a row."""

    __slots__ = ("aad", "final", "init", "nonce", "update")

    def __init__(self, cipher: Any) -> None:
        self.init, self.aad, self.update, self.final = cipher.init, cipher.updateAAD, cipher.update, cipher.doFinal
        self.nonce = b""


class CipherKey:
    """A key and the ciphers that held it and are idle."""

    __slots__ = ("idle", "raw", "spec")

    def __init__(self, raw: bytes, spec: Any) -> None:
        self.raw, self.spec = raw, spec
        self.idle: list[Operation] = []

    def __repr__(self) -> str:
        return "CipherKey(...)"


class JavaAead(SecretKeys):
    """See ``primitives.Aead``."""

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        self.algorithm, self.machine, self._name = algorithm, machine, mechanism
        sizes = algorithm.sizes
        self.key_bytes, self.nonce_bytes, self.tag_bytes = sizes["key"], sizes["nonce"], sizes["tag"]
        self._tag_bits = 8 * self.tag_bytes
        self.cipher = mechanism.partition("/")[0]
        self.streams = "/CCM/" not in mechanism
        self._key_spec = machine.java("javax.crypto.spec.SecretKeySpec")
        self._nonce_spec = machine.java("org.bouncycastle.jcajce.spec.AEADParameterSpec")
        cipher = machine.java("javax.crypto.Cipher")
        self._encrypt, self._decrypt = cipher.ENCRYPT_MODE, cipher.DECRYPT_MODE
        self._fresh()

    def handle(self, raw: bytes) -> CipherKey:
        return CipherKey(raw, self._key_spec(raw, self.cipher))

    def begin(self, key: CipherKey, mode: int, nonce: Buffer, aad: Buffer) -> Operation:
        """Return a cipher that is ready for a message's first octet. The library refuses the nonce that it saw last."""
        nonce = bytes(nonce)
        idle = key.idle
        operation = idle.pop() if idle and idle[-1].nonce != nonce else self._fresh()
        operation.nonce = nonce
        operation.init(mode, key.spec, self._nonce_spec(nonce, self._tag_bits))
        if aad:
            operation.aad(self.machine.array(aad))
        return operation

    def _fresh(self) -> Operation:
        return Operation(self.machine.instance("javax.crypto.Cipher", self._name))

    def seal(self, key: CipherKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        try:
            operation = self.begin(key, self._encrypt, nonce, aad)
            sealed = self._whole(operation, data)
        except self.machine.failure:
            raise Refused("the nonce or the data has a wrong length") from None
        key.idle.append(operation)
        return sealed

    def open(self, key: CipherKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        if len(data) < self.tag_bytes:
            raise Refused(_REFUSED)
        try:
            operation = self.begin(key, self._decrypt, nonce, aad)
            plain = self._whole(operation, data)
        except self.machine.failure:
            raise Refused(_REFUSED) from None
        key.idle.append(operation)
        return plain

    def _whole(self, operation: Operation, data: Buffer) -> bytes:
        """Return what one message becomes; a large one goes in steps, so that Java's heap does not hold it."""
        if len(data) <= SMALL_BYTES:
            return bytes(operation.final(data))
        if not self.streams:
            return bytes(operation.final(self.machine.array(data)))
        source, target, view = self.machine.direct(), self.machine.direct(), memoryview(data)
        pieces = []
        for at in range(0, len(view), STEP_BYTES):
            source.load(view[at : at + STEP_BYTES])
            target.rewind()
            pieces.append(bytes(target.view[: operation.update(source.buffer, target.buffer)]))
        self.machine.release(source)
        self.machine.release(target)
        pieces.append(bytes(operation.final()))
        return b"".join(pieces)

    def sealer(self, key: CipherKey, nonce: Buffer, aad: Buffer) -> JavaSealer:
        return JavaSealer(*self._streaming(key, self._encrypt, nonce, aad))

    def opener(self, key: CipherKey, nonce: Buffer, aad: Buffer) -> JavaOpener:
        return JavaOpener(*self._streaming(key, self._decrypt, nonce, aad))

    def _streaming(self, key: CipherKey, mode: int, nonce: Buffer, aad: Buffer) -> tuple[Any, ...]:
        """Return what both directions are made of: the machine, a cipher under way, its key stream, and where it returns to."""
        if not self.streams or len(nonce) != self.nonce_bytes:
            raise Unsupported(f"BouncyCastle takes a message of {self.algorithm.name} whole only")
        operation = self.begin(key, mode, nonce, aad)
        if self.algorithm.family == "ChaCha20-Poly1305":
            aside = chacha(self.machine, key.spec, operation.nonce)
        else:
            aside = counter_mode(self.machine, self.cipher, key.spec, operation.nonce)
        return self.machine, operation, aside, lambda: key.idle.append(operation)
