"""KEMs of BouncyCastle: post-quantum ones, ephemeral-static ECDH, and RSA-OAEP as key transport."""

from __future__ import annotations

import os
from typing import Any

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer

from .jvm import Machine
from .keys import CurveKeys, Handle, Keys, OctetKeys, RsaKeys, SeedKeys, SubmissionKeys
from .scheme import Scheme

_REFUSED = "the ciphertext does not open"
_BAD_PUBLIC = "the public key is not valid"


class JavaKem(Keys):
    """See ``primitives.Kem``. The library is asked for the secret itself, without a key derivation function."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        self.ciphertext_bytes, self.secret_bits = algorithm.sizes["ciphertext"], 8 * algorithm.sizes["secret"]
        self._give = machine.java("org.bouncycastle.jcajce.spec.KEMGenerateSpec$Builder")
        self._take = machine.java("org.bouncycastle.jcajce.spec.KEMExtractSpec$Builder")
        self._engine()

    def _engine(self) -> Any:
        return self.machine.instance("javax.crypto.KeyGenerator", self.scheme.algorithm, self.scheme.provider)

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        engine = public.take(self._engine)
        try:
            engine.init(self._give(public.java, "RAW", self.secret_bits).withNoKdf().build(), self.machine.random)
            made = engine.generateKey()
        except self.machine.failure:
            raise Refused(_BAD_PUBLIC) from None
        public.give(engine)
        return bytes(made.getEncapsulation()), bytes(made.getEncoded())

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        if len(ciphertext) != self.ciphertext_bytes:
            raise Refused(_REFUSED)
        engine = private.take(self._engine)
        octets = self.machine.array(ciphertext)
        try:
            engine.init(self._take(private.java, octets, "RAW", self.secret_bits).withNoKdf().build())
            secret = bytes(engine.generateKey().getEncoded())
        except self.machine.failure:
            raise Refused(_REFUSED) from None
        private.give(engine)
        return secret


class SeedKem(SeedKeys, JavaKem):
    """ML-KEM."""


class SubmissionKem(SubmissionKeys, JavaKem):
    """HQC, BIKE, FrodoKEM, SABER, NTRU, Streamlined NTRU Prime and Classic McEliece."""


class _Agreement(Keys):
    """Ephemeral-static Diffie-Hellman as a KEM; the secret is the raw output (SP 800-56A r3, 5.7).

    Loading checks that a peer's point is on the curve (5.6.2.3); the all-zero secret of a small-order point is refused.
    """

    def _agreeing(self, private: Any) -> Any:
        engine = self.machine.instance("javax.crypto.KeyAgreement", self.scheme.operation)
        engine.init(private)
        return engine

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        ephemeral = self.make()
        try:
            engine = self._agreeing(ephemeral.getPrivate())
            engine.doPhase(public.java, True)
            return self._show(bytes(ephemeral.getPublic().getEncoded())), bytes(engine.generateSecret())
        except self.machine.failure:
            raise Refused(_BAD_PUBLIC) from None

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        if len(ciphertext) != self.algorithm.sizes["ciphertext"]:
            raise Refused(_REFUSED)
        peer = self.load(bytes(ciphertext))
        try:
            engine = private.take(self._agreeing, private.java)
            engine.doPhase(peer, True)
            secret = bytes(engine.generateSecret())
        except self.machine.failure:
            raise Refused(_REFUSED) from None
        private.give(engine)
        return secret


class CurveKem(CurveKeys, _Agreement):
    """ECDH over a P-curve."""


class OctetKem(OctetKeys, _Agreement):
    """X25519 and X448 (RFC 7748, 6)."""


class RsaOaep(RsaKeys):
    """RSAES-OAEP (RFC 8017, 7.1), MGF1 with the same hash, no label: transports a fresh secret or the caller's key."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        java, digest = machine.java, scheme.operation
        label = java("javax.crypto.spec.PSource$PSpecified").DEFAULT
        self._padding = java("javax.crypto.spec.OAEPParameterSpec")(
            digest, "MGF1", java("java.security.spec.MGF1ParameterSpec")(digest), label
        )
        self._secret_bytes = algorithm.sizes.get("secret", 32)
        cipher = java("javax.crypto.Cipher")
        self._encrypt, self._decrypt = cipher.ENCRYPT_MODE, cipher.DECRYPT_MODE

    def _call(self, key: Any, mode: int) -> Any:
        """Return the call of a cipher that holds the key."""
        name = f"RSA/NONE/OAEPWith{self.scheme.operation}AndMGF1Padding"
        engine = self.machine.instance("javax.crypto.Cipher", name)
        engine.init(mode, key, self._padding, self.machine.random)
        return engine.doFinal

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        secret = os.urandom(self._secret_bytes)
        return self.wrap(public, secret), secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        return self.unwrap(private, ciphertext)

    def wrap(self, public: Handle, content_key: Buffer) -> bytes:
        call = public.take(self._call, public.java, self._encrypt)
        wrapped = bytes(self.machine.refuse("the content key is too long for this key", call, content_key))
        public.give(call)
        return wrapped

    def unwrap(self, private: Handle, wrapped: Buffer) -> bytes:
        if len(wrapped) != (private.java.getModulus().bitLength() + 7) // 8:
            raise Refused(_REFUSED)
        call = private.take(self._call, private.java, self._decrypt)
        content_key = bytes(self.machine.refuse(_REFUSED, call, self.machine.array(wrapped)))
        private.give(call)
        return content_key
