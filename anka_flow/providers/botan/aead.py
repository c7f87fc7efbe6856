"""AEADs of Botan: GCM streams, CCM and ChaCha20-Poly1305 take a message whole."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair
from anka_flow.providers.octets import address, fresh

from .library import BAD_MAC, Library, Operation

_ENCRYPT, _DECRYPT, _FINAL = 0, 1, 1


class CipherKey:
    """A key and the cipher objects that hold its schedule; an object serves one message at a time."""

    __slots__ = ("data", "idle")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.idle: tuple[list[Operation], list[Operation]] = ([], [])

    def __repr__(self) -> str:
        return "CipherKey(...)"


class BotanAead:
    """See ``primitives.Aead``."""

    def __init__(self, algorithm: Algorithm, mechanism: str, library: Library) -> None:
        self.algorithm, self.mechanism, self.library = algorithm, mechanism.encode(), library
        sizes = algorithm.sizes
        self.key_bytes, self.nonce_bytes, self.tag_bytes = sizes["key"], sizes["nonce"], sizes["tag"]
        self.streams = mechanism.endswith("/GCM")
        self._aad, self._start, self._update = library.cipher_set_associated_data, library.cipher_start, library.cipher_update
        trial = library.begin("cipher", "init", self.mechanism, _DECRYPT)
        self.step = library.size("cipher_get_update_granularity", trial)

    def generate(self) -> KeyPair:
        return self.decode_private(os.urandom(self.key_bytes))

    def encode_public(self, public: CipherKey) -> bytes:
        return public.data

    def decode_public(self, data: bytes) -> CipherKey:
        if len(data) != self.key_bytes:
            raise Refused("the key has a wrong length")
        return CipherKey(bytes(data))

    def encode_private(self, pair: KeyPair) -> bytes:
        return self.encode_public(pair.private)

    def decode_private(self, data: bytes) -> KeyPair:
        key = self.decode_public(data)
        return KeyPair(key, key)

    def begin(self, key: CipherKey, direction: int, nonce: Buffer, aad: Buffer) -> Operation:
        """Return a cipher object that is ready for a message's first octet."""
        try:
            cipher = key.idle[direction].pop()
        except IndexError:
            cipher = self._keyed(key, self.mechanism, direction)
        pointer = cipher.pointer
        if self._aad(pointer, address(aad), len(aad)) or self._start(pointer, address(nonce), len(nonce)):
            raise Refused("the nonce has a wrong length")
        return cipher

    def _keyed(self, key: CipherKey, mechanism: bytes, direction: int) -> Operation:
        cipher = self.library.begin("cipher", "init", mechanism, direction)
        self.library.check(self.library.cipher_set_key(cipher.pointer, key.data, len(key.data)))
        return cipher

    def seal(self, key: CipherKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        cipher = self.begin(key, _ENCRYPT, nonce, aad)
        out = fresh(len(data) + self.tag_bytes)
        self._whole(cipher, data, out)
        key.idle[_ENCRYPT].append(cipher)
        return out

    def open(self, key: CipherKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        length = len(data) - self.tag_bytes
        if length < 0:
            raise Refused("the ciphertext does not open")
        cipher = self.begin(key, _DECRYPT, nonce, aad)
        if length < 2:  # too short for octets of its own
            out = bytearray(2)
            self._whole(cipher, data, out)
            plain = bytes(out[:length])
        else:
            plain = fresh(length)
            self._whole(cipher, data, plain)
        key.idle[_DECRYPT].append(cipher)
        return plain

    def _whole(self, cipher: Operation, data: Buffer, out: Any) -> None:
        """Run one message through the cipher. A failed object is dropped.

        The library copies the message once; its form in pieces goes by 64 octets and costs twice as much.
        """
        written, used = cipher.at
        if self._update(cipher.pointer, _FINAL, address(out), len(out), written, address(data), len(data), used):
            raise Refused("the ciphertext does not open")

    def sealer(self, key: CipherKey, nonce: Buffer, aad: Buffer) -> GcmSealer:
        return GcmSealer(self, key, self._streaming(key, _ENCRYPT, nonce, aad))

    def opener(self, key: CipherKey, nonce: Buffer, aad: Buffer) -> GcmOpener:
        return GcmOpener(self, key, self._streaming(key, _DECRYPT, nonce, aad), bytes(nonce))

    def _streaming(self, key: CipherKey, direction: int, nonce: Buffer, aad: Buffer) -> Operation:
        if not self.streams or len(nonce) != 12:
            raise Unsupported(f"Botan takes a message of {self.algorithm.name} whole only")
        return self.begin(key, direction, nonce, aad)

    def keystream(self, key: CipherKey, nonce: bytes, block: int, data: bytes) -> bytes:
        """Return ``data`` under GCM's own counter mode from a block on (SP 800-38D, 7.1: data starts at counter 2)."""
        mode = b"CTR-BE(" + self.mechanism.removesuffix(b"/GCM") + b",4)"
        cipher = self._keyed(key, mode, _ENCRYPT)
        start = nonce + (2 + block).to_bytes(4, "big")
        self.library.check(self._start(cipher.pointer, start, 16))
        out = ctypes.create_string_buffer(len(data))
        code = self._update(cipher.pointer, _FINAL, out, len(data), cipher.at[0], data, len(data), cipher.at[1])
        self.library.check(code)
        return out.raw


class GcmSealer:
    """See ``primitives.Sealer``."""

    __slots__ = ("aead", "cipher", "key", "pointer", "update", "used", "written")

    def __init__(self, aead: BotanAead, key: CipherKey, cipher: Operation) -> None:
        self.aead, self.key, self.cipher = aead, key, cipher
        self.update, self.pointer, (self.written, self.used) = aead._update, cipher.pointer, cipher.at

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int:
        size = len(data)
        self.update(self.pointer, 0, address(out), len(out), self.written, address(data), size, self.used)
        if self.cipher.second.value != size:
            raise Refused("the output has too little room")
        return size

    def finish(self) -> bytes:
        tag = fresh(self.aead.tag_bytes)
        self.aead.library.check(self.update(self.pointer, _FINAL, tag, len(tag), self.written, None, 0, self.used))
        self.key.idle[_ENCRYPT].append(self.cipher)
        return tag


class GcmOpener:
    """See ``primitives.Opener``. The library decrypts in steps of 32 octets and keeps none back, so that a rest shorter than
    that is decrypted aside by the same counter mode, and authenticated with the octets or the tag that follow it."""

    __slots__ = ("aead", "cipher", "done", "key", "nonce", "pointer", "rest", "update", "used", "written")

    def __init__(self, aead: BotanAead, key: CipherKey, cipher: Operation, nonce: bytes) -> None:
        self.aead, self.key, self.cipher, self.nonce = aead, key, cipher, nonce
        self.update, self.pointer, (self.written, self.used) = aead._update, cipher.pointer, cipher.at
        self.rest, self.done = b"", 0

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int:
        if self.rest:
            return self._joined(self.rest + bytes(data), len(self.rest), out)
        count = self._steps(data, out)
        if count < len(data):
            self.rest = bytes(memoryview(data)[count:])
            out[count : len(data)] = self._aside()
        return len(data)

    def _joined(self, data: bytes, shown: int, out: memoryview | bytearray) -> int:
        """Take up a rest whose first ``shown`` octets have been given out already."""
        plain = bytearray(len(data))
        count = self._steps(data, plain)
        self.rest = data[count:]
        if self.rest:
            plain[count:] = self._aside()
        out[: len(data) - shown] = plain[shown:]
        return len(data) - shown

    def _steps(self, data: Buffer, out: memoryview | bytearray) -> int:
        count = len(data) - len(data) % self.aead.step
        if count:
            self.update(self.pointer, 0, address(out), len(out), self.written, address(data), count, self.used)
            if self.cipher.second.value != count:
                raise Refused("the output has too little room")
            self.done += count
        return count

    def _aside(self) -> bytes:
        return self.aead.keystream(self.key, self.nonce, self.done // 16, self.rest)

    def finish(self, tag: Buffer) -> None:
        last = self.rest + bytes(tag)
        if len(tag) != self.aead.tag_bytes:
            raise Refused("the ciphertext does not open")
        out = fresh(len(last))
        code = self.update(self.pointer, _FINAL, out, len(out), self.written, last, len(last), self.used)
        if code == BAD_MAC:
            raise Refused("the ciphertext does not open")
        self.aead.library.check(code)
        self.key.idle[_DECRYPT].append(self.cipher)
