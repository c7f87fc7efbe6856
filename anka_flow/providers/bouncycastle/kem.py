"""KEMs of BouncyCastle: post-quantum ones, ephemeral-static ECDH, and RSA-OAEP as key transport."""

from __future__ import annotations

import os
from typing import Any

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer

from .jvm import Java
from .keys import CurveKeys, Handle, HeadedKeys, Keys, OctetKeys, RsaKeys, Scheme, SeedKeys

REFUSED = "the ciphertext does not open"
_DIGESTS = {"SHA1": "SHA-1", "SHA256": "SHA-256", "SHA384": "SHA-384", "SHA512": "SHA-512"}


class _Kem(Keys):
    """See ``primitives.Kem``. The library is asked for the secret itself, without a key derivation function."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, java: Java) -> None:
        super().__init__(algorithm, scheme, java)
        self.ciphertext_bytes, self.secret_bytes = algorithm.sizes["ciphertext"], algorithm.sizes["secret"]
        self._generate_spec = java.type("org.bouncycastle.jcajce.spec.KEMGenerateSpec$Builder")
        self._extract_spec = java.type("org.bouncycastle.jcajce.spec.KEMExtractSpec$Builder")

    def _idle(self, handle: Handle) -> Any:
        try:
            return handle.idle[b""].pop()
        except IndexError:
            return self.java.instance("javax.crypto.KeyGenerator", self.scheme.keys, self.scheme.provider)

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        operation = self._idle(public)
        try:
            spec = self._generate_spec(public.key, "RAW", 8 * self.secret_bytes).withNoKdf().build()
            operation.init(spec, self.java.random)
            made = operation.generateKey()
        except self.java.fault:
            raise Refused("the public key is not valid") from None
        public.idle[b""].append(operation)
        return bytes(made.getEncapsulation()), bytes(made.getEncoded())

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        if len(ciphertext) != self.ciphertext_bytes:
            raise Refused(REFUSED)
        operation, octets = self._idle(private), self.java.array(ciphertext)
        try:
            operation.init(self._extract_spec(private.key, octets, "RAW", 8 * self.secret_bytes).withNoKdf().build())
            secret = bytes(operation.generateKey().getEncoded())
        except self.java.fault:
            raise Refused(REFUSED) from None
        private.idle[b""].append(operation)
        return secret


class SeedKem(_Kem, SeedKeys):
    """ML-KEM (FIPS 203)."""


class HeadedKem(_Kem, HeadedKeys):
    """HQC, BIKE, FrodoKEM, SABER, NTRU, Streamlined NTRU Prime and Classic McEliece.

    The library's classes take the octets of any parameter set of a family, so that lengths are the catalog's to hold.
    """


class _Agreement(Keys):
    """Ephemeral-static Diffie-Hellman as a KEM; the secret is the raw output (SP 800-56A r3, 5.7)."""

    def _agreement(self, private: Any) -> Any:
        made = self.java.instance("javax.crypto.KeyAgreement", self.scheme.operation)
        made.init(private)
        return made

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        try:
            ephemeral = self._new()
            operation = self._agreement(ephemeral.getPrivate())
            operation.doPhase(public.key, True)
            return self._show(ephemeral.getPublic()), bytes(operation.generateSecret())
        except self.java.fault:
            raise Refused("the public key is not valid") from None

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        idle = private.idle[b""]
        try:
            peer = self._peer(ciphertext)
            operation = idle.pop() if idle else self._agreement(private.key)
            operation.doPhase(peer, True)
            secret = bytes(operation.generateSecret())
        except (ValueError, self.java.fault):
            raise Refused(REFUSED) from None
        idle.append(operation)
        return secret

    def _peer(self, ciphertext: Buffer) -> Any:
        """Return the public key that the ciphertext is."""
        return self._load(bytes(ciphertext))


class CurveKem(_Agreement, CurveKeys):
    """ECDH over a P-curve. Loading checks that the point is on the curve (SP 800-56A r3, 5.6.2.3)."""


class OctetKem(_Agreement, OctetKeys):
    """X25519 and X448 (RFC 7748, 6). The library refuses the all-zero secret of a small-order point."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, java: Java) -> None:
        super().__init__(algorithm, scheme, java)
        self._raw_spec = java.type("org.bouncycastle.jcajce.spec.RawEncodedKeySpec")
        self._size = algorithm.sizes["public"]

    def _show(self, public: Any) -> bytes:
        return bytes(public.getUEncoding())

    def _load(self, data: bytes) -> Any:
        if len(data) != self._size:
            raise ValueError
        return self.factory.generatePublic(self._raw_spec(self.java.octets(data)))


class RsaOaep(RsaKeys):
    """RSAES-OAEP (RFC 8017, 7.1), MGF1 with the same hash, no label: transports a fresh secret or the caller's key."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, java: Java) -> None:
        super().__init__(algorithm, scheme, java)
        digest = _DIGESTS[scheme.operation]
        generation = java.type("java.security.spec.MGF1ParameterSpec")(digest)
        label = java.type("javax.crypto.spec.PSource$PSpecified").DEFAULT
        self._spec = java.type("javax.crypto.spec.OAEPParameterSpec")(digest, "MGF1", generation, label)
        self._secret_bytes = algorithm.sizes.get("secret", 32)
        self._name = f"RSA/ECB/OAEPWith{scheme.operation}AndMGF1Padding"
        cipher = java.type("javax.crypto.Cipher")
        self._encrypt, self._decrypt = cipher.ENCRYPT_MODE, cipher.DECRYPT_MODE

    def _cipher(self, handle: Handle, mode: int) -> Any:
        """Return the call of a cipher that holds the key, idle or new."""
        try:
            return handle.idle[b""].pop()
        except IndexError:
            made = self.java.instance("javax.crypto.Cipher", self._name)
            made.init(mode, handle.key, self._spec, self.java.random)
            return made.doFinal

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        secret = os.urandom(self._secret_bytes)
        return self.wrap(public, secret), secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        return self.unwrap(private, ciphertext)

    def wrap(self, public: Handle, content_key: Buffer) -> bytes:
        operation = self._cipher(public, self._encrypt)
        try:
            wrapped = bytes(operation(self.java.octets(content_key)))
        except self.java.fault:
            raise Refused("the content key is too long for this key") from None
        public.idle[b""].append(operation)
        return wrapped

    def unwrap(self, private: Handle, wrapped: Buffer) -> bytes:
        if len(wrapped) != (private.key.getModulus().bitLength() + 7) // 8:
            raise Refused(REFUSED)
        operation = self._cipher(private, self._decrypt)
        try:
            content_key = bytes(operation(self.java.octets(wrapped)))
        except self.java.fault:
            raise Refused(REFUSED) from None
        private.idle[b""].append(operation)
        return content_key
