"""Keys of BouncyCastle: made, loaded and written by JCA, in the encodings that every provider shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, KeyPair

from .jvm import VERSION, Machine
from .scheme import Scheme, public_info, tlv

_MIN_RSA_BITS = 2048
_UNCOMPRESSED = 4  # SEC 1, 2.3.3
_BAD_PUBLIC, _BAD_PRIVATE = "the public key is not valid", "the private key is not valid"


class Handle:
    """A Java key, the public key's encoding where it is one, and the JCA engines set up with it that are idle, by context."""

    __slots__ = ("idle", "java", "raw")

    def __init__(self, java: Any, raw: bytes = b"") -> None:
        self.java, self.raw = java, raw
        self.idle: dict[bytes, list[Any]] = {b"": []}

    def __repr__(self) -> str:
        return "Handle(...)"

    def take(self, make: Callable[..., Any], *arguments: Any, context: bytes = b"") -> Any:
        """Return an idle engine, or a new one; it serves one call at a time."""
        try:
            return self.idle[context].pop()
        except (KeyError, IndexError):
            return make(*arguments)

    def give(self, engine: Any, context: bytes = b"") -> None:
        """Take back an engine that is ready for its next call."""
        self.idle.setdefault(context, []).append(engine)


class Keys:
    """Keys that JCA writes as SubjectPublicKeyInfo and PKCS #8; the head of the former is data of the scheme.

    A private key is written as uint32 length of the public key, public key, PKCS #8.
    """

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        self.algorithm, self.scheme, self.machine = algorithm, scheme, machine
        java, own = machine.java, machine.provider(scheme.provider)
        self.factory = java("java.security.KeyFactory").getInstance(scheme.algorithm, own)
        self.maker = java("java.security.KeyPairGenerator").getInstance(scheme.algorithm, own)
        self._public_spec = java("java.security.spec.X509EncodedKeySpec")
        self._private_spec = java("java.security.spec.PKCS8EncodedKeySpec")
        blank = bytes(algorithm.sizes.get("public", 0))
        self._head = public_info(scheme, blank)[: -len(blank)] if blank else b""
        self.ready = False

    def _parameters(self) -> Any:
        """Return the parameter set; BouncyCastle picks another than the one meant when it is left to a name (HQC-256)."""
        name, field = self.scheme.spec
        return getattr(self.machine.java(name), field)

    def make(self) -> Any:
        """Return a new Java key pair."""
        if not self.ready:
            self.maker.initialize(self._parameters(), self.machine.random)
            self.ready = True
        return self.maker.generateKeyPair()

    def generate(self) -> KeyPair:
        made = self.make()
        return self._pair(made.getPublic(), made.getPrivate())

    def _pair(self, public: Any, private: Any) -> KeyPair:
        return KeyPair(Handle(public, self._show(bytes(public.getEncoded()))), Handle(private))

    def _show(self, info: bytes) -> bytes:
        """Return a public key's octets. Raises ``Unsupported`` if this BouncyCastle writes them in another way."""
        if not info.startswith(self._head):
            raise Unsupported(f"this BouncyCastle writes keys of {self.algorithm.name} in another way than {VERSION}")
        return info[len(self._head) :]

    def encode_public(self, public: Handle) -> bytes:
        return public.raw

    def decode_public(self, data: bytes) -> Handle:
        if len(data) != self.algorithm.sizes.get("public", len(data)) or not data:
            raise Refused("the public key has a wrong length")
        data = bytes(data)
        return Handle(self.load(data), data)

    def load(self, data: bytes) -> Any:
        """Return the Java key of a public key's octets, which have the right number. Raises ``Refused``."""
        return self._java_public(self._head + data)

    def _java_public(self, info: bytes) -> Any:
        spec = self._public_spec(self.machine.array(info))
        return self.machine.refuse(_BAD_PUBLIC, self.factory.generatePublic, spec)

    def _java_private(self, info: bytes) -> Any:
        spec = self._private_spec(self.machine.array(info))
        return self.machine.refuse(_BAD_PRIVATE, self.factory.generatePrivate, spec)

    def encode_private(self, pair: KeyPair) -> bytes:
        public: bytes = pair.public.raw
        return len(public).to_bytes(4, "big") + public + bytes(pair.private.java.getEncoded())

    def decode_private(self, data: bytes) -> KeyPair:
        cut = 4 + int.from_bytes(data[:4], "big")
        if not 4 < cut < len(data):
            raise Refused(_BAD_PRIVATE)
        public, private = self.decode_public(data[4:cut]), self._java_private(data[cut:])
        try:
            matching = self._matching(public.java, private)
        except (AttributeError, self.machine.failure):  # a key that lacks what keys of this algorithm have
            matching = False
        if not matching:
            raise Refused("the private key is of another algorithm")
        return KeyPair(public, Handle(private))

    def _matching(self, public: Any, private: Any) -> bool:
        """Return whether both keys are of one parameter set. May raise ``AttributeError`` or a Java exception."""
        return str(public.getParameterSpec().getName()) == str(private.getParameterSpec().getName())


class SeedKeys(Keys):
    """ML-KEM and ML-DSA: a private key is its seed (FIPS 203, 7.1: ``d || z``; FIPS 204, 5.1)."""

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.java.getSeed())

    def decode_private(self, data: bytes) -> KeyPair:
        family = self.scheme.algorithm.replace("-", "")
        if len(data) != {"MLKEM": 64, "MLDSA": 32}[family]:
            raise Refused("the private key has a wrong length")
        java = self.machine.java
        spec = java(f"org.bouncycastle.jcajce.spec.{family}PrivateKeySpec")
        made = spec(self._parameters(), self.machine.array(data))
        private = self.machine.refuse(_BAD_PRIVATE, self.factory.generatePrivate, made)
        return self._pair(private.getPublicKey(), private)


class SubmissionKeys(Keys):
    """Post-quantum KEMs but ML-KEM: a private key is written as public and private key in the submission's octets."""

    def encode_private(self, pair: KeyPair) -> bytes:
        info = bytes(pair.private.java.getEncoded())
        parts, end = [], len(info)
        for size in reversed(self.scheme.private):
            parts.append(info[end - size : end])
            end -= len(tlv(4, bytes(size)))
        octets = b"".join(reversed(parts))
        if self._info(octets) != info:
            raise Unsupported(f"this BouncyCastle writes keys of {self.algorithm.name} in another way than {VERSION}")
        return bytes(pair.public.raw) + octets

    def decode_private(self, data: bytes) -> KeyPair:
        cut = self.algorithm.sizes["public"]
        if len(data) != cut + sum(self.scheme.private):
            raise Refused("the private key has a wrong length")
        return KeyPair(self.decode_public(data[:cut]), Handle(self._java_private(self._info(bytes(data[cut:])))))

    def _info(self, octets: bytes) -> bytes:
        """Return the PKCS #8 of a private key's octets."""
        inner, start = b"", 0
        for size in self.scheme.private:
            inner += tlv(4, octets[start : start + size])
            start += size
        if len(self.scheme.private) > 1:
            inner = tlv(0x30, inner)
        return tlv(0x30, tlv(2, b"\0") + tlv(0x30, bytes.fromhex(self.scheme.head)) + tlv(4, inner))


class RsaKeys(Keys):
    """RSA: SubjectPublicKeyInfo and PKCS #8, of the modulus that the algorithm names, or (``any``) of 2048 bits and more."""

    def _parameters(self) -> Any:
        exponent = self.machine.java("java.math.BigInteger").valueOf(65537)
        bits = _MIN_RSA_BITS if self.scheme.spec[1] == "any" else int(self.scheme.spec[1])
        return self.machine.java("java.security.spec.RSAKeyGenParameterSpec")(bits, exponent)

    def _show(self, info: bytes) -> bytes:
        return info

    def load(self, data: bytes) -> Any:
        key = super().load(data)
        self._fit(key)
        return key

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.java.getEncoded())

    def decode_private(self, data: bytes) -> KeyPair:
        private = self._java_private(data)
        self._fit(private)
        if not hasattr(private, "getPrimeP") or not self.machine.refuse(_BAD_PRIVATE, self._consistent, private):
            raise Refused(_BAD_PRIVATE)
        spec = self.machine.java("java.security.spec.RSAPublicKeySpec")(private.getModulus(), private.getPublicExponent())
        return self._pair(self.machine.refuse(_BAD_PRIVATE, self.factory.generatePublic, spec), private)

    def _fit(self, key: Any) -> None:
        bits, wanted = key.getModulus().bitLength(), self.scheme.spec[1]
        if bits < _MIN_RSA_BITS or wanted not in ("any", str(bits)):
            raise Refused("the key has another modulus length than the algorithm")

    def _consistent(self, private: Any) -> bool:
        """Return whether the parts of the key belong together (SP 800-56B r2, 6.2.1); no prime is tested."""
        p, q, one = private.getPrimeP(), private.getPrimeQ(), self.machine.java("java.math.BigInteger").ONE
        inverse = private.getPrivateExponent().multiply(private.getPublicExponent())
        exact = bool(p.multiply(q).equals(private.getModulus())) and p.compareTo(one) > 0 and q.compareTo(one) > 0
        return exact and all(inverse.mod(prime.subtract(one)).equals(one) for prime in (p, q))


class CurveKeys(Keys):
    """ECDH and ECDSA: ``04||x||y`` and the scalar (SEC 1)."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        self.curve = machine.java("org.bouncycastle.jce.ECNamedCurveTable").getParameterSpec(scheme.spec[1])
        self._point_spec = machine.java("org.bouncycastle.jce.spec.ECPublicKeySpec")
        self._scalar_spec = machine.java("org.bouncycastle.jce.spec.ECPrivateKeySpec")
        self._number = machine.java("java.math.BigInteger")
        self._point, self._load = self.curve.getCurve().decodePoint, self.factory.generatePublic

    def _parameters(self) -> Any:
        name, curve = self.scheme.spec
        return self.machine.java(name)(curve)

    def encode_private(self, pair: KeyPair) -> bytes:
        scalar = int(str(pair.private.java.getD().toString(16)), 16)
        return scalar.to_bytes((self.algorithm.sizes["public"] - 1) // 2, "big")

    def decode_private(self, data: bytes) -> KeyPair:
        if len(data) != (self.algorithm.sizes["public"] - 1) // 2:
            raise Refused("the private key has a wrong length")
        scalar = self._number(1, bytes(data))
        if scalar.signum() < 1 or scalar.compareTo(self.curve.getN()) >= 0:
            raise Refused(_BAD_PRIVATE)
        public = self._load(self._point_spec(self.curve.getG().multiply(scalar), self.curve))
        return self._pair(public, self.factory.generatePrivate(self._scalar_spec(scalar, self.curve)))

    def load(self, data: bytes) -> Any:
        """Return the Java key; decoding checks that the point is on the curve (SP 800-56A r3, 5.6.2.3.3)."""
        if data[0] != _UNCOMPRESSED:  # the library would take compressed and hybrid points too
            raise Refused(_BAD_PUBLIC)
        try:
            return self._load(self._point_spec(self._point(data), self.curve))
        except self.machine.failure:
            raise Refused(_BAD_PUBLIC) from None


class OctetKeys(Keys):
    """X25519, X448, Ed25519, Ed448: raw octets and PKCS #8 of RFC 8410, of which only the octets are written."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        self._octet_spec = machine.java("org.bouncycastle.jcajce.spec.RawEncodedKeySpec")

    def make(self) -> Any:
        return self.maker.generateKeyPair()

    def load(self, data: bytes) -> Any:
        return self.machine.refuse(_BAD_PUBLIC, self.factory.generatePublic, self._octet_spec(data))

    def encode_private(self, pair: KeyPair) -> bytes:
        head, info = bytes.fromhex(self.scheme.head), bytes(pair.private.java.getEncoded())
        start = info.index(head) + len(head) + 4
        return info[start : start + self.algorithm.sizes["public"]]

    def decode_private(self, data: bytes) -> KeyPair:
        if len(data) != self.algorithm.sizes["public"]:
            raise Refused("the private key has a wrong length")
        head = tlv(2, b"\0") + tlv(0x30, bytes.fromhex(self.scheme.head))
        private = self._java_private(tlv(0x30, head + tlv(4, tlv(4, bytes(data)))))
        return self._pair(private.getPublicKey(), private)


class InfoKeys(Keys):
    """SM2 and GOST: SubjectPublicKeyInfo of one form, in which only the last 64 octets differ from key to key."""

    head_octets = b""

    def _parameters(self) -> Any:
        name, curve = self.scheme.spec
        return self.machine.java(name)(curve)

    def _show(self, info: bytes) -> bytes:
        if not info.startswith(self.head_octets):
            raise Unsupported(f"this BouncyCastle writes keys of {self.algorithm.name} in another way than {VERSION}")
        return info

    def load(self, data: bytes) -> Any:
        if not data.startswith(self.head_octets) or len(data) != len(self.head_octets) + 64:
            raise Refused(_BAD_PUBLIC)
        return self._java_public(data)

    def _matching(self, public: Any, private: Any) -> bool:
        return bool(public.getParameters().getN().equals(private.getParameters().getN()))


class Sm2Keys(InfoKeys):
    """SM2, with id-ecPublicKey and the curve's OID."""

    head_octets = bytes.fromhex("3059301306072a8648ce3d020106082a811ccf5501822d03420004")


class GostKeys(InfoKeys):
    """GOST R 34.10-2012 (RFC 9215), with CryptoPro-A and Streebog-256."""

    head_octets = bytes.fromhex("3066301f06082a85030701010101301306072a85030202230106082a850307010102020343000440")


class HashKeys(Keys):
    """XMSS and LMS: no parameter set can be asked of a key; its type stands in the public key's octets."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, machine: Machine) -> None:
        super().__init__(algorithm, scheme, machine)
        # RFC 8391, 5.3; RFC 8554, 5.1: length and type of a public key.
        self._size, self._type = {"XMSS": (68, b"\0\0\0\1"), "LMS": (56, b"\0\0\0\6")}[scheme.algorithm]
        self._head = public_info(scheme, bytes(self._size))[: -self._size]

    def load(self, data: bytes) -> Any:
        if len(data) != self._size or not data.startswith(self._type):
            raise Refused(_BAD_PUBLIC)
        return super().load(data)

    def _matching(self, public: Any, private: Any) -> bool:
        return str(public.getAlgorithm()) == str(private.getAlgorithm())

    def _parameters(self) -> Any:
        if self.scheme.algorithm == "XMSS":
            return super()._parameters()
        java, package = self.machine.java, "org.bouncycastle.pqc.crypto.lms."
        spec = java("org.bouncycastle.pqc.jcajce.spec.LMSKeyGenParameterSpec")
        return spec(java(package + "LMSigParameters").lms_sha256_n32_h10, java(package + "LMOtsParameters").sha256_n32_w4)
