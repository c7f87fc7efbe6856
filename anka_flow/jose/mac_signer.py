"""A MAC in the shape of a signer, so that JWS has one path for both. Nothing here knows JWS."""

from __future__ import annotations

import hmac
from typing import Any, cast

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Buffer, KeyPair, Mac, Signer, Signing, Verifying


def as_signer(primitive: Signer | Mac) -> Signer:
    """Return the primitive itself, or a MAC as a signer."""
    return cast("Signer", primitive) if hasattr(primitive, "sign") else MacSigner(primitive)


class MacSigner:
    """``sign`` is ``tag``; ``verify`` makes the tag anew and compares it in constant time."""

    streams = True

    def __init__(self, mac: Mac) -> None:
        self.mac, self.algorithm = mac, mac.algorithm

    def generate(self) -> KeyPair:
        return self.mac.generate()

    def encode_public(self, public: Any) -> bytes:
        """A MAC key has no public part; whoever asks for one is refused. Raises ``Unsupported``."""
        raise Unsupported(f"{self.algorithm.name} has no public key")

    def decode_public(self, data: bytes) -> Any:
        """Raises ``Unsupported``, as ``encode_public`` does."""
        raise Unsupported(f"{self.algorithm.name} has no public key")

    def encode_private(self, pair: KeyPair) -> bytes:
        return self.mac.encode_private(pair)

    def decode_private(self, data: bytes) -> KeyPair:
        return self.mac.decode_private(data)

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            raise Refused(f"{self.algorithm.name} takes no context")
        return self.mac.tag(private, message)

    def verify(self, public: Any, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        return hmac.compare_digest(self.sign(public, message, context), signature)

    def start_sign(self, private: Any) -> Signing:
        return self.mac.start_tag(private)

    def start_verify(self, public: Any) -> Verifying:
        return _Comparing(self.mac.start_tag(public))


class _Comparing:
    """A tag in the making, compared at its end."""

    def __init__(self, tagging: Signing) -> None:
        self.tagging = tagging

    def update(self, data: Buffer) -> None:
        self.tagging.update(data)

    def finish(self, signature: Buffer) -> bool:
        return hmac.compare_digest(self.tagging.finish(), signature)
