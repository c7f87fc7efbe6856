"""Composite encryption in steps, each to be measured apart: encapsulate and combine are the key's own, the rest is here.

Taken together they give what ``jwe_json.encrypt_general`` and ``decrypt_general`` give.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from anka_flow.errors import Refused
from anka_flow.keys import Key
from anka_flow.primitives import Aead, Buffer

from .composite_kem import Encapsulated
from .content import append_text
from .encoding import b64u_decode_payload, b64u_encode, dump_header, refusal
from .framing import Frame, frame, head_text, split, tail_text
from .jwe_json import GeneralJwe


@dataclass(frozen=True, slots=True)
class Sealed:
    """A ciphertext before it is written down: the encoded header, the nonce, ciphertext and tag in one."""

    protected: bytes
    nonce: bytes
    octets: memoryview
    tag_bytes: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """A token taken apart: its parts, and ciphertext and tag in one."""

    frame: Frame
    octets: bytearray


def seal(key: Key, content_key: bytes, payload: Buffer, content: Aead) -> Sealed:
    """Return the payload encrypted under the content key, bound to the header."""
    protected = b64u_encode(dump_header(key.primitive.header(content.algorithm.jose, key.kid)))
    nonce = os.urandom(content.nonce_bytes)
    octets = content.seal(content.decode_public(content_key), nonce, payload, protected)
    return Sealed(protected, nonce, memoryview(octets), content.tag_bytes)


def serialize(key: Key, encapsulated: Encapsulated, sealed: Sealed) -> GeneralJwe:
    """Return the General JSON of the parts."""
    token = GeneralJwe(head_text(sealed.protected, key.primitive.recipients(encapsulated.ciphertexts), sealed.nonce))
    cut = len(sealed.octets) - sealed.tag_bytes
    append_text(token, sealed.octets[:cut])
    token += tail_text(bytes(sealed.octets[cut:]))
    return token


def parse(token: Buffer) -> Parsed:
    """Return the parts of a token. Raises ``Refused``."""
    members, text = split(token)
    parts = frame(members)
    octets = b64u_decode_payload(text)
    octets += parts.tag
    return Parsed(parts, octets)


def decapsulate(key: Key, parsed: Parsed, content: Aead) -> Encapsulated:
    """Return both secrets of the token's two recipients. Raises ``Refused``."""
    key.spend()
    ciphertexts = key.primitive.ciphertexts_of(content.algorithm.jose, parsed.frame.protected, parsed.frame.recipients)
    return key.primitive.decapsulate_each(key.pair.private, ciphertexts)  # type: ignore[no-any-return]  # Key holds any primitive


def open_parsed(content_key: bytes, parsed: Parsed, content: Aead) -> bytes:
    """Return the payload. Raises ``Refused``."""
    try:
        return content.open(content.decode_public(content_key), parsed.frame.iv, parsed.octets, parsed.frame.aad)
    except Refused:
        raise refusal() from None
