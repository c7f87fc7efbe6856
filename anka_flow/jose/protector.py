"""A protector of stored keys under a passphrase: scrypt (RFC 7914) and AES key wrap (RFC 3394). It knows nothing of files.

Beside ``keys.PassThrough``. The form: ``anka1``, log2 n, r, p (an octet each), salt (16), and the wrapped octets: a length of 8
octets, the secret, zero octets up to a multiple of 8.
"""

from __future__ import annotations

import hashlib
import os

from anka_flow.errors import Refused
from anka_flow.primitives import KeyWrap

LOG2_N, R, P = 15, 8, 1  # 32 MiB and about 0.1 s
_MAGIC = b"anka1"
_SALT_BYTES = 16
_LENGTH_BYTES = 8
_MAX_MEMORY_BYTES, _MAX_P = 128 << 20, 4  # what is stored must not choose how much its reader takes
_HEAD_BYTES = len(_MAGIC) + 3 + _SALT_BYTES


class PassphraseProtector:
    """Guards octets under a passphrase. ``wrap`` is AES-256-KW; a wrong passphrase and a changed octet are refused alike."""

    def __init__(self, passphrase: str, wrap: KeyWrap, *, log2_n: int = LOG2_N) -> None:
        if not passphrase:
            raise Refused("a passphrase must not be empty")
        self._passphrase, self._wrap, self._log2_n = passphrase.encode(), wrap, log2_n

    def __repr__(self) -> str:
        return "PassphraseProtector(...)"

    def protect(self, data: bytes) -> bytes:
        """Return the octets wrapped; the same octets look different every time."""
        head = _MAGIC + bytes((self._log2_n, R, P)) + os.urandom(_SALT_BYTES)
        padded = len(data).to_bytes(_LENGTH_BYTES, "big") + data + bytes(-len(data) % 8)
        # RFC 3394 wraps two blocks of 8 octets and more.
        return head + self._wrap.wrap(self._key(head), padded.ljust(16, b"\0"))

    def reveal(self, data: bytes) -> bytes:
        """Return what ``protect`` was given. Raises ``Refused``."""
        head, wrapped = data[:_HEAD_BYTES], data[_HEAD_BYTES:]
        if len(head) != _HEAD_BYTES or not head.startswith(_MAGIC):
            raise _refused()
        try:
            padded = self._wrap.unwrap(self._key(head), wrapped)
        except Refused:
            raise _refused() from None
        length = int.from_bytes(padded[:_LENGTH_BYTES], "big")
        secret = padded[_LENGTH_BYTES : _LENGTH_BYTES + length]
        if len(secret) != length or any(padded[_LENGTH_BYTES + length :]):
            raise _refused()
        return secret

    def _key(self, head: bytes) -> object:
        log2_n, r, p = head[len(_MAGIC) : len(_MAGIC) + 3]
        if not log2_n or not r or not 1 <= p <= _MAX_P or 128 * r << log2_n > _MAX_MEMORY_BYTES:
            raise _refused()
        memory = 128 * r * ((1 << log2_n) + p + 2)  # RFC 7914, 2
        salt = head[-_SALT_BYTES:]
        try:
            octets = hashlib.scrypt(self._passphrase, salt=salt, n=1 << log2_n, r=r, p=p, maxmem=memory + (1 << 20), dklen=32)
        except ValueError:
            raise _refused() from None  # RFC 7914, 2 allows no such n for this r
        return self._wrap.decode_public(octets)


def _refused() -> Refused:
    return Refused("stored key does not open with this passphrase")
