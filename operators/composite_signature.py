"""Composite signatures: keys of a pair, and the steps of signing apart (draft-ietf-jose-pq-composite-sigs-04).

The keys serve every operator of ``jws``. Apart: prehash, sign_pqc, sign_classical, assemble; then ``jws.assemble``.
"""

from __future__ import annotations

from anka_flow import Key, Signer, operator
from anka_flow.jose import jwk
from anka_flow.jose.composite_signature import CompositeSigner


def _restore(data: bytes, classical: Signer, pqc: Signer) -> Key:
    return Key.load(data, CompositeSigner(classical, pqc))


@operator(restore=_restore)
def generate(classical: Signer, pqc: Signer) -> Key:
    """Return a new key of the pair."""
    return jwk.generate(CompositeSigner(classical, pqc))


@operator
def prehash(key: Key, message: bytes) -> bytes:
    """Return M', what both halves sign: it holds the hash of the message."""
    hashed = key.primitive.start_hash()
    hashed.update(message)
    representative: bytes = key.primitive.representative(hashed)
    return representative


@operator
def sign_pqc(key: Key, representative: bytes) -> bytes:
    """Return the ML-DSA half."""
    half: bytes = key.primitive.sign_pqc(key.pair.private, representative)
    return half


@operator
def sign_classical(key: Key, representative: bytes) -> bytes:
    """Return the classical half."""
    half: bytes = key.primitive.sign_classical(key.pair.private, representative)
    return half


@operator
def assemble(pqc: bytes, classical: bytes) -> bytes:
    """Return the composite signature of both halves."""
    return pqc + classical


@operator
def verify(key: Key, message: bytes, signature: bytes) -> bool:
    """Return whether both halves are valid."""
    key.spend()
    valid: bool = key.primitive.verify(key.pair.public, message, signature)
    return valid
