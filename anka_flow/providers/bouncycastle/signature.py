"""Signatures of BouncyCastle. Those of ECDSA, SM2 and GOST are ``r||s``."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair, Signing, Verifying
from anka_flow.providers.pieces import Pieces

from .jvm import Machine
from .keys import CurveKeys, GostKeys, Handle, HashKeys, Keys, OctetKeys, RsaKeys, SeedKeys, Sm2Keys
from .scheme import Scheme, tlv

_MOST_CONTEXT = 255  # FIPS 204, 5.2; FIPS 205, 10.2.1


class JavaSigner(Keys):
    """See ``primitives.Signer``."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        self.streams, self.name = scheme.streams, scheme.operation or algorithm.name
        self._context = machine.java("org.bouncycastle.jcajce.spec.ContextParameterSpec")
        self.contexts = algorithm.family in ("ML-DSA", "SLH-DSA")

    def _engine(self, context: bytes = b"") -> Any:
        engine = self.machine.instance("java.security.Signature", self.name, self.scheme.provider)
        if context:
            engine.setParameter(self._context(context))
        return engine

    def _check(self, context: bytes) -> None:
        if context and (not self.contexts or len(context) > _MOST_CONTEXT):
            raise Refused(f"{self.algorithm.name} takes no such context")

    def _signing(self, private: Any, context: bytes) -> Any:
        engine = self._engine(context)
        engine.initSign(private, self.machine.random)
        return engine

    def _verifying(self, public: Any, context: bytes) -> Any:
        engine = self._engine(context)
        engine.initVerify(public)
        return engine

    def signing(self, private: Handle, context: bytes = b"") -> Any:
        """Return an engine that is ready for a message's first octet."""
        return private.take(self._signing, private.java, context, context=context)

    def verifying(self, public: Handle, context: bytes = b"") -> Any:
        return public.take(self._verifying, public.java, context, context=context)

    def sign(self, private: Handle, message: Buffer, context: bytes = b"") -> bytes:
        self._check(context)
        engine = self.signing(private, context)
        self.machine.feed(engine.update, message)
        return self.finish_sign(private, engine, context)

    def finish_sign(self, private: Handle, engine: Any, context: bytes = b"") -> bytes:
        signature = bytes(self.machine.refuse("signing failed", engine.sign))
        private.give(engine, context)
        return signature

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        self._check(context)
        if not self.fits(signature):
            return False
        engine = self.verifying(public, context)
        self.machine.feed(engine.update, message)
        return self.finish_verify(public, engine, signature, context)

    def fits(self, signature: Buffer) -> bool:
        """Return whether the length can be a signature's: BouncyCastle passes over octets behind one of GOST."""
        sizes, length = self.algorithm.sizes, len(signature)
        return 0 < length <= sizes["signature_max"] if "signature_max" in sizes else length == sizes["signature"]

    def finish_verify(self, public: Handle, engine: Any, signature: Buffer, context: bytes = b"") -> bool:
        try:
            good = bool(engine.verify(self.machine.array(signature)))
        except self.machine.failure:
            return False  # not even the form of a signature; the engine is dropped
        public.give(engine, context)
        return good

    def start_sign(self, private: Handle) -> Signing:
        self._stream()
        engine = self.signing(private)
        return Pieces(partial(self.machine.feed, engine.update), partial(self.finish_sign, private, engine))

    def start_verify(self, public: Handle) -> Verifying:
        self._stream()
        engine = self.verifying(public)

        def finish(signature: Buffer) -> bool:
            return self.fits(signature) and self.finish_verify(public, engine, signature)

        return Pieces(partial(self.machine.feed, engine.update), finish)

    def _stream(self) -> None:
        if not self.streams:
            raise Unsupported(f"BouncyCastle keeps the whole message of {self.algorithm.name}")


class SeedSigner(SeedKeys, JavaSigner):
    """ML-DSA."""


class RsaSigner(RsaKeys, JavaSigner):
    """RSASSA-PSS with MGF1 of the same hash and a salt as long as the hash."""


class CurveSigner(CurveKeys, JavaSigner):
    """ECDSA."""


class OctetSigner(OctetKeys, JavaSigner):
    """EdDSA."""


class GostSigner(GostKeys, JavaSigner):
    """GOST R 34.10-2012."""


class Sm2Signer(Sm2Keys, JavaSigner):
    """SM2 with the default identity; BouncyCastle writes ``SEQUENCE {r, s}``."""

    def finish_sign(self, private: Handle, engine: Any, context: bytes = b"") -> bytes:
        sequence = super().finish_sign(private, engine, context)
        first = 4 + sequence[3]
        r, s = sequence[4:first], sequence[first + 2 :]
        return bytes(r[-32:].rjust(32, b"\0") + s[-32:].rjust(32, b"\0"))

    def finish_verify(self, public: Handle, engine: Any, signature: Buffer, context: bytes = b"") -> bool:
        numbers = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        content = b"".join(tlv(2, n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in numbers)
        return super().finish_verify(public, engine, tlv(0x30, content), context)


class State(Handle):
    """The one holder of a stateful private key; signing is one at a time, and handing the key over empties it."""

    __slots__ = ("lock",)

    def __init__(self, java: Any) -> None:
        super().__init__(java)
        self.lock = threading.Lock()


class StatefulSigner(HashKeys, JavaSigner):
    """XMSS and LMS. An index is spent before its signature is seen, and no state has two holders.

    BouncyCastle's LMS speaks HSS with one level; its four octets of level come and go, so that all is bare LMS.
    """

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        self.mark = bytes(4) if algorithm.family == "LMS" else b""

    def _pair(self, public: Any, private: Any) -> KeyPair:
        return KeyPair(super()._pair(public, private).public, State(private))

    def remaining(self, pair: KeyPair) -> int:
        """Return how many signatures the key has left."""
        return int(_held(pair.private).getUsagesRemaining())

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return public key and state, and take the state from this handle: what signs next is whoever decodes it."""
        with pair.private.lock:
            _held(pair.private)
            data = super().encode_private(pair)
            pair.private.java = None
        return data

    def decode_private(self, data: bytes) -> KeyPair:
        pair = super().decode_private(data)
        return KeyPair(pair.public, State(pair.private.java))

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes:
        self._check(context)
        with private.lock:
            if not int(_held(private).getUsagesRemaining()):
                raise Refused(f"the {self.algorithm.name} key is used up; make a new key")
            engine = self._signing(private.java, context)
            self.machine.feed(engine.update, message)
            signature = bytes(self.machine.refuse("signing failed", engine.sign))
        return signature[len(self.mark) :]

    def finish_verify(self, public: Handle, engine: Any, signature: Buffer, context: bytes = b"") -> bool:
        return super().finish_verify(public, engine, self.mark + bytes(signature), context)


def _held(state: State) -> Any:
    if state.java is None:
        raise Refused("the state of this key was handed over; sign with the key that was decoded from it")
    return state.java
