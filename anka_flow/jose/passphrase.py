"""PBES2 key management: a content key under a passphrase (RFC 7518, 4.8). For interoperation; no suite uses it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anka_flow.errors import Refused
from anka_flow.primitives import KeyPair, KeyWrap

from .encoding import b64u_decode, b64u_encode, refusal
from .management import Mode, Share

MIN_COUNT = 1000  # RFC 7518, 4.8.1.2
MAX_COUNT = 1_000_000  # a token must not choose how long its reader works
DEFAULT_COUNT = 310_000
_SALT_BYTES = 16
_MIN_SALT_BYTES = 8  # RFC 7518, 4.8.1.1
_HASHES = {16: "sha256", 24: "sha384", 32: "sha512"}


class PassphraseKeys:
    """Passphrases as keys: octets on both sides. The rest of the primitive is the key wrap's."""

    def __init__(self, wrap: KeyWrap, alg: str) -> None:
        self.algorithm = replace(wrap.algorithm, name=alg, family="PBES2", jose=alg, sizes={})

    def generate(self) -> KeyPair:
        return self.decode_private(b64u_encode(os.urandom(32)))

    def encode_public(self, public: bytes) -> bytes:
        return public

    def decode_public(self, data: bytes) -> bytes:
        if not data:
            raise Refused("a passphrase must not be empty")
        return bytes(data)

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private)

    def decode_private(self, data: bytes) -> KeyPair:
        passphrase = self.decode_public(data)
        return KeyPair(passphrase, passphrase)


class Passphrase(Mode):
    """PBES2-HS256+A128KW, PBES2-HS384+A192KW, PBES2-HS512+A256KW, by the size of the wrapping key."""

    def __init__(self, wrap: KeyWrap, count: int = DEFAULT_COUNT) -> None:
        self.wrap, self.count = wrap, count
        self.length = wrap.algorithm.sizes["key"]
        self.digest = _HASHES[self.length]
        alg = f"PBES2-HS{self.digest.removeprefix('sha')}+{wrap.algorithm.jose}"
        super().__init__(PassphraseKeys(wrap, alg), alg)

    def share(self, public: Any, enc: str, length: int, content_key: bytes | None = None) -> Share:
        salt = os.urandom(_SALT_BYTES)
        content_key = content_key or os.urandom(length)
        wrapped = self.wrap.wrap(self._key(public, salt, self.count), content_key)
        return Share(content_key, {"p2s": b64u_encode(salt).decode(), "p2c": self.count}, wrapped)

    def recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        salt, count = header.get("p2s"), header.get("p2c")
        if type(salt) is not str or not salt.isascii() or type(count) is not int or not MIN_COUNT <= count <= MAX_COUNT:
            raise refusal()
        octets = b64u_decode(salt.encode("ascii"))
        if len(octets) < _MIN_SALT_BYTES:
            raise refusal()
        return self.wrap.unwrap(self._key(private, octets, count), encrypted_key)

    def _key(self, passphrase: bytes, salt: bytes, count: int) -> Any:
        whole = self.alg.encode() + b"\0" + salt
        return self.wrap.decode_public(hashlib.pbkdf2_hmac(self.digest, passphrase, whole, count, self.length))
