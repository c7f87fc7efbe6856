"""JWE General JSON serialization in memory: the form of composite keys, and of several recipients (RFC 7516, 7.2).

Reading takes General and Flattened tokens with members in any order; writing gives General ones.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from anka_flow.keys import Key
from anka_flow.primitives import Aead, Buffer

from .content import open_text, seal_text
from .encoding import b64u_encode, dump_header
from .framing import Frame, frame, head_text, split, tail_text
from .jwe import Facts, content_keys, header_facts, start
from .management import Conveyed, Mode, Recipient


class GeneralJwe(bytearray):
    """A JWE in General JSON serialization."""

    def facts(self) -> Facts:
        """Return what the token itself shows: ``alg``, ``enc``, and the octets of each part."""
        members, text = split(self)
        return frame_facts(frame(members), len(text) * 3 // 4)


def frame_facts(parts: Frame, payload_bytes: int) -> Facts:
    """Return what a token's parts show."""
    facts = header_facts(parts.protected, parts.recipients)
    return {**facts, "nonce": len(parts.iv), "tag": len(parts.tag), "payload": payload_bytes}


def encrypt_general(key: Key, payload: Buffer, content: Aead, *, aad: Buffer | None = None) -> GeneralJwe:
    """Return a General JWE for one key; a composite key makes two recipients of it, which belong together."""
    return seal_general(start(key, content.algorithm.jose, content.key_bytes), payload, content, aad=aad)


def seal_general(conveyed: Conveyed, payload: Buffer, content: Aead, *, aad: Buffer | None = None) -> GeneralJwe:
    """Return the token of a content key and the header that conveys it."""
    protected = b64u_encode(dump_header(conveyed.protected))
    nonce = os.urandom(content.nonce_bytes)
    bound = protected if aad is None else protected + b"." + b64u_encode(aad)
    token = GeneralJwe(head_text(protected, conveyed.recipients, nonce, aad))
    tag = seal_text(token, content, content.decode_public(conveyed.content_key), nonce, payload, bound)
    token += tail_text(tag)
    return token


def encrypt_for(keys: Sequence[Key], payload: Buffer, content: Aead, *, aad: Buffer | None = None) -> GeneralJwe:
    """Return a General JWE that any one of the keys opens. Raises ``Unsupported`` for a key that fixes the content key."""
    content_key = os.urandom(content.key_bytes)
    enc = content.algorithm.jose
    recipients = []
    for key in keys:
        key.spend()
        mode: Mode = key.primitive
        share = mode.share(key.pair.public, enc, content.key_bytes, content_key)
        recipients.append(Recipient({"alg": mode.alg, "kid": key.kid, **share.members}, share.encrypted_key))
    return seal_general(Conveyed(content_key, {"enc": enc}, recipients), payload, content, aad=aad)


def decrypt_general(key: Key, token: Buffer, content: Aead) -> bytes | bytearray:
    """Return the payload of a General or Flattened token. Raises ``Refused``."""
    members, text = split(token)
    parts = frame(members)
    keys = content_keys(key, content.algorithm.jose, content.key_bytes, parts.protected, parts.recipients)
    return open_text(content, keys, parts.iv, text, parts.tag, parts.aad)


def reencrypt_general(old: Key, new: Key, token: Buffer, content: Aead, new_content: Aead | None = None) -> GeneralJwe:
    """Return the payload under another key, once the token has been opened. The plaintext stays inside. Raises ``Refused``."""
    return encrypt_general(new, decrypt_general(old, token, content), new_content or content)
