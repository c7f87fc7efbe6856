"""Signatures over the payload as it is, without JOSE around them."""

from __future__ import annotations

from anka_flow import CheckFailed, IdentityFailed, Key, Signer, operator
from anka_flow.jose import damage, jwk


def _restore(data: bytes, algorithm: Signer) -> Key:
    return Key.load(data, algorithm)


@operator(restore=_restore)
def generate(algorithm: Signer) -> Key:
    """Return a new key."""
    return jwk.generate(algorithm)


@operator
def sign(key: Key, payload: bytes) -> bytes:
    """Return the signature."""
    key.spend()
    signature: bytes = key.primitive.sign(key.pair.private, payload)
    return signature


@operator
def verify(key: Key, payload: bytes, signature: bytes) -> bool:
    """Return whether the signature is valid."""
    key.spend()
    valid: bool = key.primitive.verify(key.pair.public, payload, signature)
    return valid


@operator
def check_refusals(key: Key, other: Key, payload: bytes, signature: bytes) -> None:
    """Another key, another payload and a changed, cut or lengthened signature are refused; the size is the standard's."""
    octets = len(signature)
    sizes = key.primitive.algorithm.sizes
    if octets != sizes.get("signature", octets) or octets > sizes.get("signature_max", octets):
        raise IdentityFailed(f"{key.primitive.algorithm.name} does not have signatures of {octets} octets")
    for what, holder, message, value in (
        ("another key", other, payload, signature),
        ("a flipped payload bit", key, damage.flip(payload), signature),
        ("a flipped signature bit", key, payload, damage.flip(signature)),
        ("a truncated signature", key, payload, signature[:-1]),
        ("an extended signature", key, payload, signature + b"\0"),
    ):
        if holder.primitive.verify(holder.pair.public, message, value):
            raise CheckFailed(f"a signature with {what} was accepted")
