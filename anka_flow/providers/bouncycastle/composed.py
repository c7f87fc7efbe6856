"""AES-CBC with HMAC as JOSE has it, composed of BouncyCastle's parts. CBC's last padded block comes only when the data has
ended, so there is no form in pieces.
"""

from __future__ import annotations

import hmac as constant_time
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, Opener, Sealer
from anka_flow.provider import SecretKeys

from .jvm import Machine

_BLOCK = 16
_REFUSED = "the ciphertext does not open"


class TwoKeys:
    """The two halves of a key, the MAC's and the cipher's (RFC 7518, 5.2.2.1), and the engines that hold them and are idle."""

    __slots__ = ("cipher", "idle", "mac", "raw")

    def __init__(self, raw: bytes, mac: Any, cipher: Any) -> None:
        self.raw, self.mac, self.cipher = raw, mac, cipher
        self.idle: list[tuple[Any, Any]] = []

    def __repr__(self) -> str:
        return "TwoKeys(...)"


class CbcHmac(SecretKeys):
    """AES_CBC_HMAC_SHA2 (RFC 7518, 5.2): encrypt, then authenticate; opening compares the tag before it decrypts."""

    streams = False

    def __init__(self, algorithm: Algorithm, mechanism: str, machine: Machine) -> None:
        self.algorithm, self.machine = algorithm, machine
        sizes = algorithm.sizes
        self.key_bytes, self.nonce_bytes, self.tag_bytes = sizes["key"], sizes["nonce"], sizes["tag"]
        self._cipher_name, self._mac_name = mechanism.split()
        self._spec = machine.java("javax.crypto.spec.SecretKeySpec")
        self._nonce_spec = machine.java("javax.crypto.spec.IvParameterSpec")
        cipher = machine.java("javax.crypto.Cipher")
        self._encrypt, self._decrypt = cipher.ENCRYPT_MODE, cipher.DECRYPT_MODE

    def handle(self, raw: bytes) -> TwoKeys:
        half = len(raw) // 2
        return TwoKeys(raw, self._spec(raw[:half], "RAW"), self._spec(raw[half:], "AES"))

    def _engines(self, key: TwoKeys) -> tuple[Any, Any]:
        """Return a cipher and a MAC that holds the key; they serve one message at a time."""
        try:
            return key.idle.pop()
        except IndexError:
            mac = self.machine.instance("javax.crypto.Mac", self._mac_name)
            mac.init(key.mac)
            return self.machine.instance("javax.crypto.Cipher", self._cipher_name), mac

    def seal(self, key: TwoKeys, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        if len(nonce) != _BLOCK:
            raise Refused("the nonce has a wrong length")
        engines = cipher, mac = self._engines(key)
        cipher.init(self._encrypt, key.cipher, self._nonce_spec(nonce))
        sealed = bytes(cipher.doFinal(self.machine.array(data)))
        tag = self._tag(mac, nonce, sealed, aad)
        key.idle.append(engines)
        return sealed + tag

    def open(self, key: TwoKeys, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        view = memoryview(data)
        cut = len(view) - self.tag_bytes
        if cut < _BLOCK or len(nonce) != _BLOCK:
            raise Refused(_REFUSED)
        engines = cipher, mac = self._engines(key)
        if not constant_time.compare_digest(self._tag(mac, nonce, view[:cut], aad), view[cut:]):
            raise Refused(_REFUSED)
        try:
            cipher.init(self._decrypt, key.cipher, self._nonce_spec(nonce))
            plain = bytes(cipher.doFinal(self.machine.array(view[:cut])))
        except self.machine.failure:
            raise Refused(_REFUSED) from None
        key.idle.append(engines)
        return plain

    def _tag(self, mac: Any, nonce: Buffer, sealed: Buffer, aad: Buffer) -> bytes:
        """Return the tag: the HMAC's first half (RFC 7518, 5.2.2.1, steps 4 to 6)."""
        for part in (aad, nonce, sealed):
            self.machine.feed(mac.update, part)
        mac.update((8 * len(aad)).to_bytes(8, "big"))
        return bytes(mac.doFinal())[: self.tag_bytes]

    def sealer(self, _key: TwoKeys, _nonce: Buffer, _aad: Buffer) -> Sealer:
        raise Unsupported(f"BouncyCastle has no {self.algorithm.name} in pieces")

    def opener(self, _key: TwoKeys, _nonce: Buffer, _aad: Buffer) -> Opener:
        raise Unsupported(f"BouncyCastle has no {self.algorithm.name} in pieces")
