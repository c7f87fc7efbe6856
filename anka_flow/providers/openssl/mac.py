"""HMAC and CMAC of pyca/cryptography. A key handle starts a tag by copying a context that is keyed already."""

from __future__ import annotations

from cryptography.hazmat.primitives import cmac, hashes, hmac
from cryptography.hazmat.primitives.ciphers import algorithms

from anka_flow.primitives import Algorithm, Buffer, Signing
from anka_flow.provider import SecretKeys
from anka_flow.providers.pieces import MacKey, Pieces


class _Mac(SecretKeys):
    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def tag(self, key: MacKey, message: Buffer) -> bytes:
        context = key.start()
        context.update(message)
        return context.finalize()  # type: ignore[no-any-return]  # contexts of HMAC and CMAC share no type

    def start_tag(self, key: MacKey) -> Signing:
        context = key.start()
        return Pieces(context.update, context.finalize)


class Hmac(_Mac):
    """HMAC (FIPS 198-1) with any key that is not empty; JOSE's lower bound is JOSE's to hold."""

    any_length = True

    def __init__(self, algorithm: Algorithm, digest: str) -> None:
        super().__init__(algorithm)
        self._digest: hashes.HashAlgorithm = getattr(hashes, digest)()

    def handle(self, raw: bytes) -> MacKey:
        return MacKey(raw, hmac.HMAC(raw, self._digest).copy)


class Cmac(_Mac):
    """CMAC (SP 800-38B) with the full block as tag."""

    def __init__(self, algorithm: Algorithm, cipher: str) -> None:
        super().__init__(algorithm)
        self._cipher = getattr(algorithms, cipher)

    def handle(self, raw: bytes) -> MacKey:
        return MacKey(raw, cmac.CMAC(self._cipher(raw)).copy)
