"""Authenticated encryption composed of the library's parts: CCM over SM4, and AES-CBC with HMAC as JOSE has it.

Neither has a form in pieces: CCM needs the length first, and CBC's last padded block comes only when the data has ended.
"""

from __future__ import annotations

import hmac as constant_time

from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.providers.pieces import MacKey

from .aead import REFUSED, TAG_BYTES, BlockKey, OverBlock, Sizes

_BLOCK = 16
_PIECE = 64 * 1024  # octets of CBC-MAC at a time: its output is thrown away, so it must not grow with the message


class Ccm(OverBlock):
    """CCM (SP 800-38C, RFC 3610) of CBC-MAC and CTR, with a 16-octet tag; the nonce's length sets the length field's."""

    def seal(self, key: BlockKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        first, counter = _formatted(nonce, len(data), aad)
        stream = Cipher(key.cipher, modes.CTR(counter)).encryptor()
        tag = stream.update(_cbc_mac(key, first, data))  # RFC 3610, 2.3: the counter's block 0 masks the tag
        return stream.update(data) + tag

    def open(self, key: BlockKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        view = memoryview(data)
        if len(view) < TAG_BYTES:
            raise Refused(REFUSED)
        first, counter = _formatted(nonce, len(view) - TAG_BYTES, aad)
        stream = Cipher(key.cipher, modes.CTR(counter)).decryptor()
        tag = stream.update(view[-TAG_BYTES:])
        plain = stream.update(view[:-TAG_BYTES])
        if not constant_time.compare_digest(tag, _cbc_mac(key, first, plain)):
            raise Refused(REFUSED)
        return plain


def _formatted(nonce: Buffer, length: int, aad: Buffer) -> tuple[bytes, bytes]:
    """Return what CBC-MAC takes before the data (RFC 3610, 2.2), and the first counter block (2.3)."""
    width = _BLOCK - 1 - len(nonce)
    if not 2 <= width <= 8 or length >> (8 * width):
        raise Refused("nonce or data of a wrong length")
    flags = (64 if aad else 0) | (TAG_BYTES - 2) // 2 << 3 | (width - 1)
    first = bytes([flags]) + nonce + length.to_bytes(width, "big")
    if aad:
        size = len(aad).to_bytes(2, "big") if len(aad) < 0xFF00 else b"\xff\xfe" + len(aad).to_bytes(4, "big")
        first += size + aad + bytes(-(len(size) + len(aad)) % _BLOCK)
    return first, bytes([width - 1]) + nonce + bytes(width)


def _cbc_mac(key: BlockKey, first: bytes, data: Buffer) -> bytes:
    context = Cipher(key.cipher, modes.CBC(bytes(_BLOCK))).encryptor()
    scratch = bytearray(_PIECE + _BLOCK)
    last = context.update(first)[-_BLOCK:]
    view = memoryview(data)
    for start in range(0, len(view), _PIECE):
        piece = view[start : start + _PIECE]
        filled = context.update_into(piece, scratch)
        if filled:
            last = bytes(scratch[filled - _BLOCK : filled])
    return context.update(bytes(-len(view) % _BLOCK)) or last


class CbcHmacKey:
    """The two halves of a key: the MAC's, ready to start, and the block cipher's (RFC 7518, 5.2.2.1)."""

    __slots__ = ("cipher", "mac", "raw")

    def __init__(self, raw: bytes, digest: hashes.HashAlgorithm) -> None:
        half = len(raw) // 2
        self.raw = raw
        self.mac = MacKey(raw[:half], hmac.HMAC(raw[:half], digest).copy)
        self.cipher = algorithms.AES(raw[half:])


class CbcHmac(Sizes):
    """AES_CBC_HMAC_SHA2 (RFC 7518, 5.2): encrypt, then authenticate; opening compares the tag before it decrypts."""

    def __init__(self, algorithm: Algorithm, digest: str) -> None:
        super().__init__(algorithm)
        self._digest: hashes.HashAlgorithm = getattr(hashes, digest)()

    def handle(self, raw: bytes) -> CbcHmacKey:
        return CbcHmacKey(raw, self._digest)

    def seal(self, key: CbcHmacKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        context = _cbc(key, nonce).encryptor()
        view = memoryview(data)
        whole = len(view) - len(view) % _BLOCK
        head = context.update(view[:whole])
        pad = whole + _BLOCK - len(view)
        tail = context.update(bytes(view[whole:]) + bytes([pad]) * pad)
        return b"".join((head, tail, self._tag(key, nonce, (head, tail), aad)))

    def open(self, key: CbcHmacKey, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        view = memoryview(data)
        sealed, tag = view[: -self.tag_bytes], view[-self.tag_bytes :]
        cipher = _cbc(key, nonce)
        if not constant_time.compare_digest(tag, self._tag(key, nonce, (sealed,), aad)):
            raise Refused(REFUSED)
        if not len(sealed) or len(sealed) % _BLOCK:
            raise Refused(REFUSED)
        return _unpadded(cipher.decryptor().update(sealed))

    def _tag(self, key: CbcHmacKey, nonce: Buffer, sealed: tuple[Buffer, ...], aad: Buffer) -> bytes:
        context = key.mac.start()
        context.update(aad)
        context.update(nonce)
        for part in sealed:
            context.update(part)
        context.update((8 * len(aad)).to_bytes(8, "big"))
        return bytes(context.finalize()[: self.tag_bytes])


def _cbc(key: CbcHmacKey, nonce: Buffer) -> Cipher[modes.CBC]:
    try:
        return Cipher(key.cipher, modes.CBC(nonce))
    except ValueError:
        raise Refused("nonce of a wrong length") from None


def _unpadded(padded: bytes) -> bytes:
    """Return the data without its PKCS #7 padding (RFC 5652, 6.3). The tag was checked, so this is no oracle."""
    pad = padded[-1]
    if not 1 <= pad <= _BLOCK or padded[-pad:] != bytes([pad]) * pad:
        raise Refused(REFUSED)
    return padded[:-pad]
