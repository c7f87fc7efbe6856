"""Composite KEM keys, and the steps of their encryption apart (profile anka-kem-v1).

The keys serve every operator of ``jwe``. Apart: encapsulate, combine; then ``jwe.seal``, ``jwe.serialize``.
Back: ``jwe.parse``, decapsulate, combine; then ``jwe.open``.
"""

from __future__ import annotations

from anka_flow import Aead, Kem, Key, operator
from anka_flow.jose import jwe_steps
from anka_flow.jose.composite_kem import CompositeKem, Encapsulated
from anka_flow.jose.jwe_steps import Parsed


def _restore(data: bytes, classical: Kem, pqc: Kem, kdf: str = "HKDF-SHA256") -> Key:
    return Key.load(data, CompositeKem(classical, pqc, kdf))


@operator(restore=_restore)
def generate(classical: Kem, pqc: Kem, kdf: str = "HKDF-SHA256") -> Key:
    """Return a new key of the pair; ``kdf`` is HKDF-SHA256, HKDF-SHA384 or HKDF-SHA512."""
    pair = CompositeKem(classical, pqc, kdf)
    return Key(pair, pair.generate())


@operator
def encapsulate(key: Key) -> Encapsulated:
    """Return both ciphertexts and both secrets, not yet combined."""
    key.spend()
    both: Encapsulated = key.primitive.encapsulate_each(key.pair.public)
    return both


@operator
def decapsulate(key: Key, parsed: Parsed, content: Aead) -> Encapsulated:
    """Return both secrets of a token's recipients."""
    return jwe_steps.decapsulate(key, parsed, content)


@operator
def combine(key: Key, encapsulated: Encapsulated, content: Aead) -> bytes:
    """Return the content key that both secrets give."""
    content_key: bytes = key.primitive.combine(encapsulated, content.algorithm.jose, content.key_bytes)
    return content_key
