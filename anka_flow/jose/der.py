"""The few DER forms that keys and signatures need, strict: one encoding for each value. Nothing here knows a key.

X.690, 10: minimal lengths, minimal non-negative INTEGERs, no octet after the end. Readers raise ``ValueError``.
"""

from __future__ import annotations

INTEGER, BIT_STRING, OCTET_STRING, NULL, OID, SEQUENCE = 0x02, 0x03, 0x04, 0x05, 0x06, 0x30
RSA_ENCRYPTION = bytes.fromhex("300d06092a864886f70d0101010500")  # AlgorithmIdentifier of RFC 3279, 2.3.1


def wrap(tag: int, content: bytes) -> bytes:
    """Return one element."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    width = (size.bit_length() + 7) // 8
    return bytes((tag, 0x80 | width)) + size.to_bytes(width, "big") + content


def integer(value: int) -> bytes:
    """Return a non-negative INTEGER."""
    return wrap(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


class Reader:
    """Reads elements one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, tag: int) -> bytes:
        """Return the content of the next element, which must have this tag."""
        if self.data[self.at : self.at + 1] != bytes((tag,)):
            raise ValueError("another element was expected")
        size = self._length(self.at + 1)
        content = self.data[self.at : self.at + size]
        if len(content) != size:
            raise ValueError("element is cut off")
        self.at += size
        return content

    def _length(self, at: int) -> int:
        """Return the length that stands at ``at`` and move behind it."""
        first = self.data[at] if at < len(self.data) else 0xFF
        width = first - 0x80 if first >= 0x80 else 0
        size = int.from_bytes(self.data[at + 1 : at + 1 + width], "big") if width else first
        if width > 4 or (width and (size < 0x80 or size >> 8 * (width - 1) == 0)):
            raise ValueError("length is not minimal")
        self.at = at + 1 + width
        return size

    def integer(self) -> int:
        """Return the next element, a non-negative INTEGER."""
        content = self.take(INTEGER)
        if not content or content[0] >= 0x80 or (content[0] == 0 and len(content) > 1 and content[1] < 0x80):
            raise ValueError("INTEGER is negative or not minimal")
        return int.from_bytes(content, "big")

    def end(self) -> None:
        """Raises ``ValueError`` if anything is left."""
        if self.at != len(self.data):
            raise ValueError("octets after the end")


def open_sequence(data: bytes) -> Reader:
    """Return a reader of the content of the SEQUENCE that ``data`` is."""
    outer = Reader(data)
    content = outer.take(SEQUENCE)
    outer.end()
    return Reader(content)


def ecdsa_to_der(signature: bytes) -> bytes:
    """Return Ecdsa-Sig-Value (RFC 3279, 2.2.3) of ``r||s``."""
    half = len(signature) // 2
    r, s = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    return wrap(SEQUENCE, integer(r) + integer(s))


def ecdsa_from_der(der: bytes, order: int) -> bytes:
    """Return ``r||s`` of an Ecdsa-Sig-Value, both in [1, order - 1]."""
    reader = open_sequence(der)
    r, s = reader.integer(), reader.integer()
    reader.end()
    if not (0 < r < order and 0 < s < order):
        raise ValueError("r or s is out of range")
    size = (order.bit_length() + 7) // 8
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def rsa_public_to_der(n: int, e: int) -> bytes:
    """Return SubjectPublicKeyInfo (RFC 3279, 2.3.1)."""
    key = wrap(SEQUENCE, integer(n) + integer(e))
    return wrap(SEQUENCE, RSA_ENCRYPTION + wrap(BIT_STRING, b"\0" + key))


def rsa_public_from_der(der: bytes) -> tuple[int, int]:
    """Return (n, e) of a SubjectPublicKeyInfo."""
    outer = open_sequence(der)
    if wrap(SEQUENCE, outer.take(SEQUENCE)) != RSA_ENCRYPTION:
        raise ValueError("not an RSA key")
    bits = outer.take(BIT_STRING)
    outer.end()
    if bits[:1] != b"\0":
        raise ValueError("BIT STRING has unused bits")
    key = open_sequence(bits[1:])
    n, e = key.integer(), key.integer()
    key.end()
    return n, e


def rsa_private_to_der(numbers: list[int]) -> bytes:
    """Return PKCS #8 PrivateKeyInfo of (n, e, d, p, q, dp, dq, qi) (RFC 8017, A.1.2; RFC 5958)."""
    key = wrap(SEQUENCE, integer(0) + b"".join(map(integer, numbers)))
    return wrap(SEQUENCE, integer(0) + RSA_ENCRYPTION + wrap(OCTET_STRING, key))


def rsa_private_from_der(der: bytes) -> list[int]:
    """Return (n, e, d, p, q, dp, dq, qi) of a PKCS #8 PrivateKeyInfo."""
    outer = open_sequence(der)
    if outer.integer() != 0 or wrap(SEQUENCE, outer.take(SEQUENCE)) != RSA_ENCRYPTION:
        raise ValueError("not an RSA key")
    key = open_sequence(outer.take(OCTET_STRING))
    outer.end()
    version, *numbers = (key.integer() for _ in range(9))
    key.end()
    if version != 0:
        raise ValueError("more than two primes")
    return numbers
