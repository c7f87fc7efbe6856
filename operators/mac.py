"""Message authentication codes over the payload as it is, without JOSE around them."""

from __future__ import annotations

import hmac

from anka_flow import CheckFailed, IdentityFailed, Key, Mac, operator
from anka_flow.jose import damage


def _restore(data: bytes, algorithm: Mac) -> Key:
    return Key.load(data, algorithm)


@operator(restore=_restore)
def generate(algorithm: Mac) -> Key:
    """Return a new key."""
    return Key(algorithm, algorithm.generate())


@operator
def tag(key: Key, payload: bytes) -> bytes:
    """Return the tag."""
    key.spend()
    made: bytes = key.primitive.tag(key.pair.private, payload)
    return made


@operator
def verify(key: Key, payload: bytes, tag: bytes) -> bool:
    """Return whether the tag is that of the payload, compared in constant time."""
    key.spend()
    return hmac.compare_digest(key.primitive.tag(key.pair.private, payload), tag)


@operator
def check_refusals(key: Key, other: Key, payload: bytes, tag: bytes) -> None:
    """Another key and a changed payload give another tag; the size is the standard's."""
    if len(tag) != key.primitive.algorithm.sizes["tag"]:
        raise IdentityFailed(f"{key.primitive.algorithm.name} does not have tags of {len(tag)} octets")
    for what, holder, message in (("another key", other, payload), ("a flipped payload bit", key, damage.flip(payload))):
        if holder.primitive.tag(holder.pair.private, message) == tag:
            raise CheckFailed(f"{what} gave the same tag")
