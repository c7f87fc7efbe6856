"""Composite signatures: a classical signer and ML-DSA as one signer (draft-ietf-jose-pq-composite-sigs-04).

Both halves sign M', which holds the pre-hash of the message, so that every pair streams. Of the 11 pairs, 6 are in the JOSE
draft, 2 have a label and an OID of draft-ietf-lamps-pq-composite-sigs-19 alone, 3 are this project's own: ``status`` says
which. Nothing here knows JWS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair, Signer

from . import der
from .encoding import lp

PREFIX = b"CompositeAlgorithmSignatures2025"
SEED_BYTES = 32
DRAFT, LAMPS, PRIVATE = "JOSE draft", "LAMPS label", "private"
_SOURCES = {
    DRAFT: "draft-ietf-jose-pq-composite-sigs-04",
    LAMPS: "draft-ietf-lamps-pq-composite-sigs-19",
    PRIVATE: "construction of draft-ietf-jose-pq-composite-sigs-04, label of this project",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """What the pair is called in JOSE, what its signatures are bound to, and how the message is hashed."""

    alg: str
    label: str
    prehash: str
    status: str


def _pair(alg: str, label: str, prehash: str, status: str = DRAFT) -> Pair:
    return Pair(alg if status == DRAFT else f"urn:anka-flow:{alg}", f"{label}-{prehash}", prehash, status)


PAIRS: Mapping[tuple[str, str], Pair] = {
    ("Ed25519", "ML-DSA-44"): _pair("ML-DSA-44-Ed25519", "COMPSIG-MLDSA44-Ed25519", "SHA512"),
    ("Ed25519", "ML-DSA-65"): _pair("ML-DSA-65-Ed25519", "COMPSIG-MLDSA65-Ed25519", "SHA512"),
    ("Ed448", "ML-DSA-65"): _pair("ML-DSA-65-Ed448", "X-COMPSIG-MLDSA65-Ed448", "SHAKE256", PRIVATE),
    ("Ed448", "ML-DSA-87"): _pair("ML-DSA-87-Ed448", "COMPSIG-MLDSA87-Ed448", "SHAKE256"),
    ("P-256", "ML-DSA-44"): _pair("ML-DSA-44-ES256", "COMPSIG-MLDSA44-ECDSA-P256", "SHA256"),
    ("P-256", "ML-DSA-65"): _pair("ML-DSA-65-ES256", "COMPSIG-MLDSA65-ECDSA-P256", "SHA512"),
    ("P-384", "ML-DSA-44"): _pair("ML-DSA-44-ES384", "X-COMPSIG-MLDSA44-ECDSA-P384", "SHA512", PRIVATE),
    ("P-384", "ML-DSA-65"): _pair("ML-DSA-65-ES384", "COMPSIG-MLDSA65-ECDSA-P384", "SHA512", LAMPS),
    ("P-384", "ML-DSA-87"): _pair("ML-DSA-87-ES384", "COMPSIG-MLDSA87-ECDSA-P384", "SHA512"),
    ("P-521", "ML-DSA-65"): _pair("ML-DSA-65-ES512", "X-COMPSIG-MLDSA65-ECDSA-P521", "SHA512", PRIVATE),
    ("P-521", "ML-DSA-87"): _pair("ML-DSA-87-ES512", "COMPSIG-MLDSA87-ECDSA-P521", "SHA512", LAMPS),
}


class Hash(Protocol):
    """A hash in progress."""

    def update(self, data: Buffer, /) -> None: ...
    def digest(self) -> bytes: ...


class _Shake256:
    """SHAKE256 with 64 octets of output."""

    def __init__(self) -> None:
        self._hash = hashlib.shake_256()
        self.update = self._hash.update

    def digest(self) -> bytes:
        return self._hash.digest(64)


_HASHES: Mapping[str, Callable[[], Hash]] = {"SHA256": hashlib.sha256, "SHA512": hashlib.sha512, "SHAKE256": _Shake256}


class _RawHalf:
    """The classical half of an EdDSA pair: keys and signatures as RFC 8032 has them."""

    def __init__(self, public: int, private: int, signature: int) -> None:
        self.public, self.private, self.signature, self.signature_min = public, private, signature, signature

    def encode_signature(self, raw: bytes) -> bytes:
        return raw

    def decode_signature(self, data: bytes) -> bytes:
        return data

    def encode_private(self, raw: bytes) -> bytes:
        return raw

    def decode_private(self, data: bytes) -> bytes:
        return data


class _CurveHalf:
    """The classical half of an ECDSA pair: DER as LAMPS has it (Ecdsa-Sig-Value; ECPrivateKey without the public key)."""

    def __init__(self, head: str, tail: str, order: str, signature: int) -> None:
        self._head, self._tail, self._order = bytes.fromhex(head), bytes.fromhex(tail), int(order, 16)
        octets = (self._order.bit_length() + 7) // 8
        self.public, self.private = 2 * octets + 1, len(self._head) + octets + len(self._tail)
        self.signature, self.signature_min = signature, 8

    def encode_signature(self, raw: bytes) -> bytes:
        return der.ecdsa_to_der(raw)

    def decode_signature(self, data: bytes) -> bytes:
        return der.ecdsa_from_der(data, self._order)

    def encode_private(self, raw: bytes) -> bytes:
        return self._head + raw + self._tail

    def decode_private(self, data: bytes) -> bytes:
        raw = data[len(self._head) : len(data) - len(self._tail)]
        if len(data) != self.private or self.encode_private(raw) != data:
            raise Refused("composite private key is not valid")
        return raw


_HALVES: Mapping[str, _RawHalf | _CurveHalf] = {
    "Ed25519": _RawHalf(public=32, private=32, signature=64),
    "Ed448": _RawHalf(public=57, private=57, signature=114),
    "P-256": _CurveHalf(
        "30310201010420",
        "a00a06082a8648ce3d030107",
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
        signature=72,
    ),
    "P-384": _CurveHalf(
        "303e0201010430",
        "a00706052b81040022",
        "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
        signature=104,
    ),
    "P-521": _CurveHalf(
        "30500201010442",
        "a00706052b81040023",
        "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa"
        "51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
        signature=139,
    ),
}


class CompositeSigner:
    """A signer over two signers. A key's handles are pairs of handles: (ML-DSA, classical), in the order of the encodings.

    Encodings: ``mldsaPK || tradPK`` and ``seed || tradSK`` (draft section 4.1). Signature: ``ML-DSA || classical``.
    """

    streams = True

    def __init__(self, classical: Signer, pqc: Signer) -> None:
        """Raises ``Unsupported`` for a pair that is not one of ``PAIRS``."""
        names = (classical.algorithm.name, pqc.algorithm.name)
        if names not in PAIRS:
            raise Unsupported(f"{'+'.join(names)} is no composite signature; the pairs are those of docs/jws.md")
        self.classical, self.pqc, self.pair = classical, pqc, PAIRS[names]
        self._half, self._label = _HALVES[names[0]], self.pair.label.encode()
        self._cut = pqc.algorithm.sizes["signature"]
        self.private_bytes = SEED_BYTES + self._half.private
        self.algorithm = self._describe()

    @property
    def status(self) -> str:
        """``JOSE draft``, ``LAMPS label`` or ``private``."""
        return self.pair.status

    def _describe(self) -> Algorithm:
        classical, pqc, half = self.classical.algorithm, self.pqc.algorithm, self._half
        fixed = "signature" if half.signature == half.signature_min else "signature_max"
        return Algorithm(
            name=f"{classical.name}+{pqc.name}",
            kind="signature",
            family="composite",
            kty="AKP",
            level=max(classical.level, pqc.level),
            level_source="the higher of both parts: a forger must break both",
            source=_SOURCES[self.status],
            status=self.status,
            quantum_safe=True,
            random_cost=True,
            jose=self.pair.alg,
            jose_source=_SOURCES[self.status],
            sizes={
                "public": pqc.sizes["public"] + half.public,
                "private": self.private_bytes,
                fixed: self._cut + half.signature,
            },
            notes={"label": self.pair.label},
        )

    def generate(self) -> KeyPair:
        return _join(self.pqc.generate(), self.classical.generate())

    def encode_public(self, public: Any) -> bytes:
        return self.pqc.encode_public(public[0]) + self.classical.encode_public(public[1])

    def decode_public(self, data: bytes) -> tuple[Any, Any]:
        """Raises ``Refused`` unless both parts are valid and of their exact length."""
        cut = self.pqc.algorithm.sizes["public"]
        if len(data) != cut + self._half.public:
            raise Refused("composite public key is not valid")
        return self.pqc.decode_public(data[:cut]), self.classical.decode_public(data[cut:])

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return the draft's form, or, where the library has no ML-DSA seed to give, both parts in the library's own form."""
        first = self.pqc.encode_private(KeyPair(pair.public[0], pair.private[0]))
        second = self.classical.encode_private(KeyPair(pair.public[1], pair.private[1]))
        standard = first + self._half.encode_private(second)
        return standard if len(first) == SEED_BYTES and len(standard) == self.private_bytes else lp(first) + second

    def decode_private(self, data: bytes) -> KeyPair:
        """Raises ``Refused`` unless both parts are valid and of their exact length."""
        if len(data) == self.private_bytes:
            first, second = data[:SEED_BYTES], self._half.decode_private(data[SEED_BYTES:])
        else:
            cut = 4 + int.from_bytes(data[:4], "big")
            first, second = data[4:cut], data[cut:]
        return _join(self.pqc.decode_private(first), self.classical.decode_private(second))

    def start_hash(self) -> Hash:
        """Return the pre-hash PH, ready for the message."""
        return _HASHES[self.pair.prehash]()

    def representative(self, hashed: Hash, context: bytes = b"") -> bytes:
        """Return M' = Prefix || Label || len(ctx) || ctx || PH(M) (section 4.2); JOSE's ctx is empty."""
        if len(context) > 255:
            raise Refused("context is longer than 255 octets")
        return b"".join((PREFIX, self._label, bytes((len(context),)), context, hashed.digest()))

    def sign_pqc(self, private: tuple[Any, Any], representative: bytes) -> bytes:
        """Return the ML-DSA half: pure ML-DSA with the label as its own context."""
        return self.pqc.sign(private[0], representative, self._label)

    def sign_classical(self, private: tuple[Any, Any], representative: bytes) -> bytes:
        """Return the classical half in its composite encoding."""
        return self._half.encode_signature(self.classical.sign(private[1], representative))

    def sign(self, private: tuple[Any, Any], message: Buffer, context: bytes = b"") -> bytes:
        hashed = self.start_hash()
        hashed.update(message)
        return self._sign(private, self.representative(hashed, context))

    def _sign(self, private: tuple[Any, Any], representative: bytes) -> bytes:
        return self.sign_pqc(private, representative) + self.sign_classical(private, representative)

    def verify(self, public: tuple[Any, Any], message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        hashed = self.start_hash()
        hashed.update(message)
        return self._verify(public, self.representative(hashed, context), signature)

    def _verify(self, public: tuple[Any, Any], representative: bytes, signature: Buffer) -> bool:
        """Both halves are always checked, so that neither time nor answer tells which one failed."""
        size = len(signature) - self._cut
        if not self._half.signature_min <= size <= self._half.signature:
            return False
        view = memoryview(signature)
        try:
            classical = self._half.decode_signature(bytes(view[self._cut :]))
        except ValueError:
            return False
        first = self.pqc.verify(public[0], representative, view[: self._cut], self._label)
        second = self.classical.verify(public[1], representative, classical)
        return first and second

    def start_sign(self, private: tuple[Any, Any]) -> _Signing:
        return _Signing(self, private)

    def start_verify(self, public: tuple[Any, Any]) -> _Verifying:
        return _Verifying(self, public)


class _Signing:
    """One pass of the pre-hash, then both halves."""

    def __init__(self, signer: CompositeSigner, private: tuple[Any, Any]) -> None:
        self._signer, self._private, self._hash = signer, private, signer.start_hash()
        self.update = self._hash.update

    def finish(self) -> bytes:
        return self._signer._sign(self._private, self._signer.representative(self._hash))


class _Verifying:
    """One pass of the pre-hash, then both halves."""

    def __init__(self, signer: CompositeSigner, public: tuple[Any, Any]) -> None:
        self._signer, self._public, self._hash = signer, public, signer.start_hash()
        self.update = self._hash.update

    def finish(self, signature: Buffer) -> bool:
        return self._signer._verify(self._public, self._signer.representative(self._hash), signature)


def _join(pqc: KeyPair, classical: KeyPair) -> KeyPair:
    return KeyPair((pqc.public, classical.public), (pqc.private, classical.private))
