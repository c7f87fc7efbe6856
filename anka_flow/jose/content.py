"""Content encryption together with the text form of its ciphertext, in memory (RFC 7516, 5.1 steps 14 to 17, 5.2 step 16).

A large payload goes through cipher and base64url piece by piece, each piece in the processor's cache, so that neither the whole
ciphertext nor its whole text exists twice. Nothing here knows a serialization.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anka_flow.errors import Refused
from anka_flow.primitives import Aead, Buffer
from anka_flow.streams import CHUNK_BYTES

from .encoding import b64u_decode_payload, b64u_encode, refusal
from .text import TextWriter

_TEXT_BYTES = CHUNK_BYTES // 3 * 4


def seal_text(token: bytearray, content: Aead, key: Any, nonce: bytes, payload: Buffer, aad: Buffer) -> bytes:
    """Append the text of the ciphertext to the token, in place, and return the tag."""
    if len(payload) > CHUNK_BYTES and content.streams:
        return _seal_pieces(token, content, key, nonce, payload, aad)
    sealed = memoryview(content.seal(key, nonce, payload, aad))
    cut = len(sealed) - content.tag_bytes
    append_text(token, sealed[:cut])
    return bytes(sealed[cut:])


def append_text(token: bytearray, octets: memoryview) -> None:
    """Append base64url of ``octets`` to the token, in place."""
    for start in range(0, len(octets), CHUNK_BYTES):
        token += b64u_encode(octets[start : start + CHUNK_BYTES])


def _seal_pieces(token: bytearray, content: Aead, key: Any, nonce: bytes, payload: Buffer, aad: Buffer) -> bytes:
    sealer = content.sealer(key, nonce, aad)
    update, view = sealer.update_into, memoryview(payload)
    out = memoryview(bytearray(CHUNK_BYTES + 16))
    text = TextWriter(token.extend)
    for start in range(0, len(view), CHUNK_BYTES):
        text.write(out[: update(view[start : start + CHUNK_BYTES], out)])
    text.finish()
    return sealer.finish()


def open_text(
    content: Aead, keys: Iterator[bytes], nonce: bytes, text: memoryview, tag: bytes, aad: Buffer
) -> bytes | bytearray:
    """Return the plaintext under the first of the keys that opens it. Raises ``Refused``."""
    if len(nonce) != content.nonce_bytes or len(tag) != content.tag_bytes:
        raise refusal()
    for content_key in keys:
        try:
            return _open(content, content.decode_public(content_key), nonce, text, tag, aad)
        except Refused:
            continue
    raise refusal()


def _open(content: Aead, key: Any, nonce: bytes, text: memoryview, tag: bytes, aad: Buffer) -> bytes | bytearray:
    if len(text) > _TEXT_BYTES and content.streams:
        return _open_pieces(content, key, nonce, text, tag, aad)
    sealed = b64u_decode_payload(text)
    sealed += tag
    return content.open(key, nonce, sealed, aad)


def _open_pieces(content: Aead, key: Any, nonce: bytes, text: memoryview, tag: bytes, aad: Buffer) -> bytearray:
    """Decrypt piece by piece; what is gathered is handed out only once the tag has been verified."""
    opener = content.opener(key, nonce, aad)
    update = opener.update_into
    out = memoryview(bytearray(CHUNK_BYTES + 16))
    plaintext = bytearray()
    for start in range(0, len(text), _TEXT_BYTES):
        plaintext += out[: update(b64u_decode_payload(text[start : start + _TEXT_BYTES]), out)]
    opener.finish(tag)
    return plaintext
