"""Signatures of BouncyCastle. Those of ECDSA, SM2 and GOST are ``r||s``."""

from __future__ import annotations

import threading
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair

from .keys import CurveKeys, GostKeys, Handle, HashKeys, Keys, OctetKeys, RsaKeys, SeedKeys, Sm2Keys
from .jvm import Machine
from .scheme import Scheme, tlv


class JavaSigner(Keys):
    """See ``primitives.Signer``."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        self.streams, self.name = scheme.streams, scheme.operation or algorithm.name
        self.java_signature = machine.java("java.security.Signature")
        self.contexts = algorithm.family in ("ML-DSA", "SLH-DSA")

    def _engine(self, context: bytes = b"") -> Any:
        engine = self.java_signature.getInstance(self.name, self.machine.provider(self.scheme.provider))
        if context:
            if not self.contexts or len(context) > 255:
                raise Refused(f"{self.algorithm.name} takes no such context")
            spec = self.machine.java("org.bouncycastle.jcajce.spec.ContextParameterSpec")
            engine.setParameter(spec(self.machine.array(context)))
        return engine

    def signing(self, private: Handle, context: bytes = b"") -> Any:
        """Return an engine that is ready for a message's first octet."""
        if private.idle and not context:
            return private.idle.pop()
        engine = self._engine(context)
        engine.initSign(private.java, self.machine.random)
        return engine

    def verifying(self, public: Handle, context: bytes = b"") -> Any:
        if public.idle and not context:
            return public.idle.pop()
        engine = self._engine(context)
        engine.initVerify(public.java)
        return engine

    def sign(self, private: Handle, message: Buffer, context: bytes = b"") -> bytes:
        engine = self.signing(private, context)
        self.machine.feed(engine.update, message)
        return self.finish_sign(private, engine, reuse=not context)

    def finish_sign(self, private: Handle, engine: Any, *, reuse: bool = True) -> bytes:
        try:
            signature = bytes(engine.sign())
        except self.machine.failure:
            raise Refused("signing failed") from None
        if reuse:
            private.idle.append(engine)
        return signature

    def verify(self, public: Handle, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if not self.fits(signature):
            return False
        engine = self.verifying(public, context)
        self.machine.feed(engine.update, message)
        return self.finish_verify(public, engine, signature, reuse=not context)

    def fits(self, signature: Buffer) -> bool:
        """Return whether the length can be a signature's: BouncyCastle passes over octets behind one of GOST."""
        sizes, length = self.algorithm.sizes, len(signature)
        return 0 < length <= sizes["signature_max"] if "signature_max" in sizes else length == sizes["signature"]

    def finish_verify(self, public: Handle, engine: Any, signature: Buffer, *, reuse: bool = True) -> bool:
        try:
            good = bool(engine.verify(self.machine.array(signature)))
        except self.machine.failure:
            return False  # not even the form of a signature; the engine is dropped
        if reuse:
            public.idle.append(engine)
        return good

    def start_sign(self, private: Handle) -> Signing:
        self._stream()
        return Signing(self, private)

    def start_verify(self, public: Handle) -> Verifying:
        self._stream()
        return Verifying(self, public)

    def _stream(self) -> None:
        if not self.streams:
            raise Unsupported(f"BouncyCastle keeps the whole message of {self.algorithm.name}")


class Signing:
    """See ``primitives.Signing``."""

    def __init__(self, signer: JavaSigner, private: Handle) -> None:
        self.signer, self.private, self.engine = signer, private, signer.signing(private)

    def update(self, data: Buffer) -> None:
        self.signer.machine.feed(self.engine.update, data)

    def finish(self) -> bytes:
        return self.signer.finish_sign(self.private, self.engine)


class Verifying:
    """See ``primitives.Verifying``."""

    def __init__(self, signer: JavaSigner, public: Handle) -> None:
        self.signer, self.public, self.engine = signer, public, signer.verifying(public)

    def update(self, data: Buffer) -> None:
        self.signer.machine.feed(self.engine.update, data)

    def finish(self, signature: Buffer) -> bool:
        return self.signer.fits(signature) and self.signer.finish_verify(self.public, self.engine, signature)


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

    def finish_sign(self, private: Handle, engine: Any, *, reuse: bool = True) -> bytes:
        sequence = super().finish_sign(private, engine, reuse=reuse)
        first = 4 + sequence[3]
        r, s = sequence[4:first], sequence[first + 2 :]
        return bytes(r[-32:].rjust(32, b"\0") + s[-32:].rjust(32, b"\0"))

    def finish_verify(self, public: Handle, engine: Any, signature: Buffer, *, reuse: bool = True) -> bool:
        numbers = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        content = b"".join(tlv(2, n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in numbers)
        return super().finish_verify(public, engine, tlv(0x30, content), reuse=reuse)


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
        with private.lock:
            if not int(_held(private).getUsagesRemaining()):
                raise Refused(f"the {self.algorithm.name} key is used up; make a new key")
            engine = self._engine(context)
            engine.initSign(private.java, self.machine.random)
            self.machine.feed(engine.update, message)
            return self.finish_sign(private, engine, reuse=False)[len(self.mark) :]

    def finish_verify(self, public: Handle, engine: Any, signature: Buffer, *, reuse: bool = True) -> bool:
        return super().finish_verify(public, engine, self.mark + bytes(signature), reuse=reuse)


def _held(state: State) -> Any:
    if state.java is None:
        raise Refused("the state of this key was handed over; sign with the key that was decoded from it")
    return state.java
