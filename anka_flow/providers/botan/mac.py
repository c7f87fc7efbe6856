"""MACs of Botan; all of them stream."""

from __future__ import annotations

import os

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer, KeyPair
from anka_flow.providers.octets import address, fresh

from .library import Library, Owned


class MacKey:
    """A key and the MAC objects that hold it; an object serves one message at a time."""

    __slots__ = ("data", "idle")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.idle: list[Owned] = []

    def __repr__(self) -> str:
        return "MacKey(...)"


class BotanMac:
    """See ``primitives.Mac``. KMAC has an empty customization string (SP 800-185, 4.3)."""

    def __init__(self, algorithm: Algorithm, mechanism: str, library: Library) -> None:
        self.algorithm, self.mechanism, self.library = algorithm, mechanism.encode(), library
        self.tag_bytes = algorithm.sizes["tag"]
        self.exact = algorithm.sizes["key"] if algorithm.family == "CMAC" else 0
        self.kmac = algorithm.family == "KMAC"
        self.update, self.final = library.mac_update, library.mac_final
        library.make("mac_init", "mac_destroy", self.mechanism, 0)

    def generate(self) -> KeyPair:
        return self.decode_private(os.urandom(self.algorithm.sizes["key"]))

    def encode_public(self, public: MacKey) -> bytes:
        return public.data

    def decode_public(self, data: bytes) -> MacKey:
        """Return the key. HMAC takes any length but none (RFC 2104, 3), CMAC the cipher's only."""
        if not data or (self.exact and len(data) != self.exact):
            raise Refused("the key has a wrong length")
        key = MacKey(bytes(data))
        key.idle.append(self.take(key))  # refuses what the library refuses
        return key

    def encode_private(self, pair: KeyPair) -> bytes:
        return self.encode_public(pair.private)

    def decode_private(self, data: bytes) -> KeyPair:
        key = self.decode_public(data)
        return KeyPair(key, key)

    def take(self, key: MacKey) -> Owned:
        """Return a MAC object that is ready for a message's first octet."""
        try:
            mac = key.idle.pop()
        except IndexError:
            mac = self.library.make("mac_init", "mac_destroy", self.mechanism, 0)
            self.library.check(self.library.mac_set_key(mac.pointer, key.data, len(key.data)))
        if self.kmac:
            self.library.mac_set_nonce(mac.pointer, b"", 0)
        return mac

    def tag(self, key: MacKey, message: Buffer) -> bytes:
        mac = self.take(key)
        out = fresh(self.tag_bytes)
        if self.update(mac.pointer, address(message), len(message)) or self.final(mac.pointer, out):
            raise Refused("the message was refused")
        key.idle.append(mac)
        return out

    def start_tag(self, key: MacKey) -> Tagging:
        return Tagging(self, key)


class Tagging:
    """See ``primitives.Signing``."""

    __slots__ = ("key", "mac", "owner")

    def __init__(self, owner: BotanMac, key: MacKey) -> None:
        self.owner, self.key, self.mac = owner, key, owner.take(key)

    def update(self, data: Buffer) -> None:
        if self.owner.update(self.mac.pointer, address(data), len(data)):
            raise Refused("the message was refused")

    def finish(self) -> bytes:
        out = fresh(self.owner.tag_bytes)
        self.owner.library.check(self.owner.final(self.mac.pointer, out))
        self.key.idle.append(self.mac)
        return out
