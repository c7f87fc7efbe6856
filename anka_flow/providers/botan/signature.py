"""Signatures of Botan. Those of ECDSA, SM2 and GOST are ``r||s``."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair, Signing, Verifying
from anka_flow.providers.octets import address, fresh
from anka_flow.providers.pieces import Pieces

from .keys import CurveKeys, GostKeys, Handle, HeadedKeys, Keys, OctetKeys, RsaKeys, Scheme, Sm2Keys
from .library import Library, Operation, Owned


class BotanSigner(Keys):
    """See ``primitives.Signer``. Botan's C interface takes no context of FIPS 204 and 205."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, library: Library) -> None:
        super().__init__(algorithm, scheme, library)
        self.streams, self.padding = scheme.streams, scheme.padding.encode()
        self.signature_bytes = algorithm.sizes["signature"]
        self._rng = library.rng.pointer
        self._sign_update, self._sign_finish = library.pk_op_sign_update, library.pk_op_sign_finish
        self._verify_update, self._verify_finish = library.pk_op_verify_update, library.pk_op_verify_finish

    def signing(self, private: Handle) -> Operation:
        """Return an operation that is ready for a message's first octet."""
        try:
            return private.idle.pop()
        except IndexError:
            return self.library.begin("pk_op_sign", "create", private.owned.pointer, self.padding, 0)

    def verifying(self, public: Handle) -> Operation:
        try:
            return public.idle.pop()
        except IndexError:
            return self.library.begin("pk_op_verify", "create", public.owned.pointer, self.padding, 0)

    def sign(self, private: Handle, message: Buffer, context: bytes = b"") -> bytes:
        if context:
            self._no_context()
        operation = self.signing(private)
        if self._sign_update(operation.pointer, address(message), len(message)):
            raise Refused("signing failed")
        return self.finish_sign(private, operation)

    def finish_sign(self, private: Handle, operation: Operation) -> bytes:
        signature, length = fresh(self.signature_bytes), operation.first
        length.value = self.signature_bytes
        if self._sign_finish(operation.pointer, self._rng, signature, operation.at[0]) or length.value != self.signature_bytes:
            raise Refused("signing failed")
        private.idle.append(operation)
        return signature

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if context:
            self._no_context()
        operation = self.verifying(public)
        if self._verify_update(operation.pointer, address(message), len(message)):
            return False
        return self.finish_verify(public, operation, signature)

    def finish_verify(self, public: Handle, operation: Operation, signature: Buffer) -> bool:
        code = self._verify_finish(operation.pointer, address(signature), len(signature))
        if code >= 0:  # on an error the operation may still hold the message
            public.idle.append(operation)
        return bool(code == 0)

    def _no_context(self) -> None:
        if self.algorithm.family in ("ML-DSA", "SLH-DSA"):
            raise Unsupported(f"Botan's C interface has no context for {self.algorithm.name}")
        raise Refused(f"{self.algorithm.name} takes no context")

    def start_sign(self, private: Handle) -> Signing:
        self._stream()
        operation = self.signing(private)
        return Pieces(partial(self._feed, self._sign_update, operation), partial(self.finish_sign, private, operation))

    def start_verify(self, public: Handle) -> Verifying:
        self._stream()
        operation = self.verifying(public)
        return Pieces(partial(self._feed, self._verify_update, operation), partial(self.finish_verify, public, operation))

    def _feed(self, update: Any, operation: Operation, data: Buffer) -> None:
        self.library.check(update(operation.pointer, address(data), len(data)))

    def _stream(self) -> None:
        if not self.streams:
            raise Unsupported(f"Botan keeps the whole message of {self.algorithm.name}")


class RsaSigner(BotanSigner, RsaKeys):
    """RSASSA-PSS."""


class CurveSigner(BotanSigner, CurveKeys):
    """ECDSA."""


class OctetSigner(BotanSigner, OctetKeys):
    """EdDSA."""


class Sm2Signer(BotanSigner, Sm2Keys):
    """SM2 with the default identity."""


class GostSigner(BotanSigner, GostKeys):
    """GOST R 34.10-2012."""


class State(Handle):
    """The one holder of a stateful private key; signing is one at a time, and handing the key over empties it."""

    __slots__ = ("gone", "lock")

    def __init__(self, owned: Owned) -> None:
        super().__init__(owned)
        self.gone, self.lock = False, threading.Lock()


class StatefulSigner(BotanSigner, HeadedKeys):
    """XMSS and LMS. An index is spent before its signature is seen, and no state has two holders."""

    def _pair(self, private: Owned) -> KeyPair:
        pair = super()._pair(private)
        return KeyPair(pair.public, State(private))

    def remaining(self, pair: KeyPair) -> int:
        """Return how many signatures the key has left."""
        return self.library.size("privkey_remaining_operations", pair.private.owned)

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return the state, and take it from this handle: what signs next is whoever decodes it."""
        with pair.private.lock:
            self._held(pair.private)
            pair.private.gone = True
            return super().encode_private(pair)

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        with private.lock:
            self._ready(private)
            return super().sign(private, message, context)

    def _ready(self, private: Any) -> None:
        self._held(private)
        if not self.library.size("privkey_remaining_operations", private.owned):
            raise Refused(f"the {self.algorithm.name} key is used up; make a new key")

    def _held(self, private: Any) -> None:
        if private.gone:
            raise Refused("the state of this key was handed over; sign with the key that was decoded from it")


class XmssSigner(StatefulSigner):
    """XMSS; the key's octets are those of RFC 8391, 4.1.7: type, root, seed."""

    wrapper = bytes.fromhex("3056300b060904007f000f01010d00034700" + "0444")
    kind, public_bytes = bytes.fromhex("00000001"), 68  # RFC 8391, 5.3: XMSS-SHA2_10_256


class LmsSigner(StatefulSigner):
    """LMS. Botan speaks HSS with one level (RFC 8554, 6); its four octets of level come and go, so that all is bare LMS."""

    inner = bytes.fromhex("00000001")
    wrapper = bytes.fromhex("304e300d060b2a864886f70d0109100311033d00")
    kind, public_bytes = bytes.fromhex("0000000600000003"), 56  # RFC 8554, 5.1: H10; 4.1: W4
    mark = bytes(4)

    def __init__(self, algorithm: Algorithm, scheme: Scheme, library: Library) -> None:
        super().__init__(algorithm, scheme, library)
        self.signature_bytes += len(self.mark)

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        return super().sign(private, message, context)[len(self.mark) :]

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        return super().verify(public, message, self.mark + bytes(signature), context)
