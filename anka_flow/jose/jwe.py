"""JWE compact serialization: encrypt, decrypt, re-encrypt (RFC 7516). Nothing here reads a file.

The key's mode and the caller's content algorithm decide; a token whose header says anything else is refused. Whatever is wrong
with a token ends in the one error of ``encoding.refusal``. A compressed payload (``zip``) is always refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.keys import Key
from anka_flow.primitives import Aead, Buffer

from .content import open_text, seal_text
from .encoding import b64u_decode, b64u_encode, dump_header, parse_header, refusal
from .management import Conveyed, Recipient

Facts = dict[str, str | int | bool]


class CompactJwe(bytearray):
    """A JWE in compact serialization."""

    def facts(self) -> Facts:
        """Return what the token itself shows: ``alg``, ``enc``, and the octets of each part. Raises ``Refused``."""
        parts = bytes(self).split(b".")
        if len(parts) != 5:
            raise refusal()
        protected, encrypted_key, nonce, sealed, tag = parts
        header = parse_header(b64u_decode(protected))
        return {
            **header_facts(header, [Recipient(header, b64u_decode(encrypted_key))]),
            "nonce": len(b64u_decode(nonce)), "tag": len(b64u_decode(tag)), "payload": len(sealed) * 3 // 4,
        }  # fmt: skip


def header_facts(protected: Mapping[str, Any], recipients: Sequence[Recipient]) -> Facts:
    """Return what headers show: the algorithms, and the octets of the ciphertext of a KEM (of both, in a composite)."""
    try:
        names: Facts = {"enc": str(protected["enc"])}
        if "alg" in protected or "anka" in protected:
            names["alg"] = str(protected["alg"]) if "alg" in protected else "+".join(protected["anka"]["alg"])
        size = _ciphertext_bytes(protected, recipients)
    except (KeyError, TypeError, AttributeError, UnicodeError):
        raise refusal() from None
    return {**names, "ciphertext": size} if size else names


def _ciphertext_bytes(protected: Mapping[str, Any], recipients: Sequence[Recipient]) -> int:
    if "epk" in protected:
        sizes = [len(b64u_decode(protected["epk"][c].encode())) for c in ("x", "y") if c in protected["epk"]]
        return sum(sizes) + len(sizes) // 2  # 04||x||y, or x alone
    if "ek" in protected:
        return len(b64u_decode(protected["ek"].encode()))
    return sum(len(recipient.encrypted_key) for recipient in recipients)


def start(key: Key, enc: str, length: int) -> Conveyed:
    """Return a content key of ``length`` octets for ``enc`` and the header that conveys it; counts a use of the key."""
    key.spend()
    return key.primitive.convey(key.pair.public, enc, length, key.kid)  # type: ignore[no-any-return]  # Key holds any primitive


def encrypt_compact(key: Key, payload: Buffer, content: Aead) -> CompactJwe:
    """Return ``header.encrypted_key.iv.ciphertext.tag``.

    Raises ``Unsupported`` for a composite key: compact serialization has room for one encrypted key.
    """
    if not key.primitive.compact:
        raise Unsupported("a composite key needs the General JSON serialization")
    return seal_compact(start(key, content.algorithm.jose, content.key_bytes), payload, content)


def seal_compact(conveyed: Conveyed, payload: Buffer, content: Aead) -> CompactJwe:
    """Return the token of a content key and the header that conveys it."""
    protected = b64u_encode(dump_header(conveyed.protected))
    nonce = os.urandom(content.nonce_bytes)
    encrypted_key = conveyed.recipients[0].encrypted_key
    token = CompactJwe(b"".join((protected, b".", b64u_encode(encrypted_key), b".", b64u_encode(nonce), b".")))
    tag = seal_text(token, content, content.decode_public(conveyed.content_key), nonce, payload, protected)
    token += b"." + b64u_encode(tag)
    return token


def decrypt_compact(key: Key, token: Buffer, content: Aead) -> bytes | bytearray:
    """Return the payload. Raises ``Refused``."""
    if isinstance(token, memoryview):
        token = bytes(token)
    ends = _dots(token)
    view = memoryview(token)
    protected, encrypted_key, nonce, text, tag = (
        view[a:b] for a, b in zip((0, *(e + 1 for e in ends)), (*ends, None), strict=True)
    )
    header = parse_header(b64u_decode(protected))
    recipient = Recipient(header, b64u_decode(encrypted_key))
    keys = content_keys(key, content.algorithm.jose, content.key_bytes, header, [recipient])
    return open_text(content, keys, b64u_decode(nonce), text, b64u_decode(tag), protected)


def _dots(token: bytes | bytearray) -> tuple[int, int, int, int]:
    """Return where the parts end; a dot too many is left in a part, where base64url has no place for it."""
    first = token.find(b".")
    second = token.find(b".", first + 1)
    third = token.find(b".", second + 1)
    last = token.rfind(b".")
    if not 0 <= first < second < third < last:
        raise refusal()
    return first, second, third, last


def content_keys(
    key: Key, enc: str, length: int, protected: Mapping[str, Any], recipients: Sequence[Recipient]
) -> Iterator[bytes]:
    """Yield the content keys that the token may mean for this key; counts a use. Raises ``Refused``."""
    if "zip" in protected or (not key.primitive.compact and not protected):
        raise refusal()
    if key.pair.private is None:
        raise Refused("key has no private part")
    key.spend()
    return key.primitive.content_keys(key.pair.private, enc, length, protected, recipients)  # type: ignore[no-any-return]  # as above


def reencrypt_compact(old: Key, new: Key, token: Buffer, content: Aead, new_content: Aead | None = None) -> CompactJwe:
    """Return the payload under another key, once the token has been opened. The plaintext stays inside. Raises ``Refused``."""
    return encrypt_compact(new, decrypt_compact(old, token, content), new_content or content)
