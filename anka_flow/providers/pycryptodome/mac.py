"""HMAC, CMAC and KMAC of pycryptodome. ``start`` of a key is whichever of a new and a copied context is the faster."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from Crypto.Cipher import AES
from Crypto.Hash import CMAC, HMAC

from anka_flow.primitives import Algorithm, Buffer, Signing
from anka_flow.provider import SecretKeys
from anka_flow.providers.pieces import MacKey, Pieces


class _Mac(SecretKeys):
    any_length = True

    def __init__(self, algorithm: Algorithm, own: str) -> None:
        self.algorithm, self.own = algorithm, import_module(f"Crypto.{self.package}.{own}")

    package = "Hash"

    def tag(self, key: MacKey, message: Buffer) -> bytes:
        return key.start().update(message).digest()  # type: ignore[no-any-return]  # three classes of context

    def start_tag(self, key: MacKey) -> Signing:
        context = key.start()
        return Pieces(context.update, context.digest)


class Hmac(_Mac):
    """HMAC (FIPS 198-1)."""

    def handle(self, raw: bytes) -> MacKey:
        return MacKey(raw, partial(HMAC.new, raw, digestmod=self.own))


class Cmac(_Mac):
    """CMAC with AES (SP 800-38B), the full block as tag."""

    any_length = False
    package = "Cipher"

    def handle(self, raw: bytes) -> MacKey:
        return MacKey(raw, CMAC.new(raw, ciphermod=AES).copy)


class Kmac(_Mac):
    """KMAC (SP 800-185, 4) without customization; the tag's length, which enters the tag, is the catalog's."""

    def handle(self, raw: bytes) -> MacKey:
        start = partial(self.own.new, key=raw, mac_len=self.algorithm.sizes["tag"])
        start()  # the library refuses keys that are shorter than its strength
        return MacKey(raw, start)

    def derive(self, key: Buffer, data: Buffer, length: int) -> bytes:
        """Return KMAC of ``data`` in ``length`` octets under a key of the moment: a KDF, where the caller sets the length."""
        made: bytes = self.own.new(key=bytes(key), data=data, mac_len=length).digest()
        return made
