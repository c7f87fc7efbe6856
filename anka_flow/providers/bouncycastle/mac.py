"""MACs of BouncyCastle; all of them stream."""

from __future__ import annotations

from typing import Any

from anka_flow.primitives import Algorithm, Buffer
from anka_flow.provider import SecretKeys

from .jvm import Machine


class Keyed:
    """A Java MAC that holds a key, its calls bound once; it serves one message at a time."""

    __slots__ = ("final", "update")

    def __init__(self, mac: Any) -> None:
        self.update, self.final = mac.update, mac.doFinal


class MacKey:
    """A key and the MAC objects that hold it and are idle."""

    __slots__ = ("idle", "raw", "spec")

    def __init__(self, raw: bytes, spec: Any) -> None:
        self.raw, self.spec = raw, spec
        self.idle: list[Keyed] = []

    def __repr__(self) -> str:
        return "MacKey(...)"


class JavaMac(SecretKeys):
    """See ``primitives.Mac``. KMAC has an empty customization string (SP 800-185, 4.3). CMAC takes the cipher's keys only."""

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        self.algorithm, self.machine, self._name = algorithm, machine, mechanism
        self.any_length = algorithm.family != "CMAC"
        self._spec = machine.java("javax.crypto.spec.SecretKeySpec")
        machine.instance("javax.crypto.Mac", mechanism)

    def handle(self, raw: bytes) -> MacKey:
        key = MacKey(raw, self._spec(raw, "RAW"))
        key.idle.append(self.take(key))
        return key

    def take(self, key: MacKey) -> Keyed:
        """Return a MAC that is ready for a message's first octet."""
        try:
            return key.idle.pop()
        except IndexError:
            made = self.machine.instance("javax.crypto.Mac", self._name)
            made.init(key.spec)
            return Keyed(made)

    def tag(self, key: MacKey, message: Buffer) -> bytes:
        mac = self.take(key)
        self.machine.feed(mac.update, message)
        tag = bytes(mac.final())
        key.idle.append(mac)
        return tag

    def start_tag(self, key: MacKey) -> Tagging:
        return Tagging(self.machine, key, self.take(key))


class Tagging:
    """See ``primitives.Signing``."""

    __slots__ = ("_key", "_mac", "_machine")

    def __init__(self, machine: Machine, key: MacKey, mac: Keyed) -> None:
        self._machine, self._key, self._mac = machine, key, mac

    def update(self, data: Buffer) -> None:
        self._machine.feed(self._mac.update, data)

    def finish(self) -> bytes:
        tag = bytes(self._mac.final())
        self._key.idle.append(self._mac)
        return tag
