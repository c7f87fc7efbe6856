"""A classical and a post-quantum KEM as one (profile anka-kem-v1). Nothing here knows a serialization.

The content key is the combiner's output, bound to both ciphertexts, both public keys and the names of everything in use, in
the order of SP 800-227, 4.6. Decryption policy ALL: both halves must be right, and both are always computed before any
error shows. In a JWE the two KEMs are two recipients that belong together, which ``crit`` tells to other libraries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from anka_flow.errors import Refused
from anka_flow.primitives import Aead, Algorithm, Buffer, Kem, KeyPair

from .encoding import lp, refusal
from .kdf import HASHES, bits, hkdf
from .management import Conveyed, Recipient

MODE = "COMPOSITE_KEM_COMBINE"
_ZERO_IS_WRONG = ("X25519", "X448")  # RFC 7748, 6: an all-zero secret means a point of small order
Two = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True, repr=False)
class Half:
    """Both handles of one side of a composite key, and what enters the combiner of the public keys."""

    classical: Any
    pqc: Any
    bound: bytes

    def __repr__(self) -> str:
        return "Half(...)"


class Encapsulated(NamedTuple):
    """Both ciphertexts and both shared secrets, classical first, and the bound public keys."""

    ciphertexts: Two
    secrets: Two
    bound: bytes

    def __repr__(self) -> str:
        return "Encapsulated(...)"


class CompositeKem:
    """Two KEMs as one, and the key management mode of its JWE. Used as a plain KEM, its secret is a key for ``enc``.

    Public and private encodings are the two of the halves, each behind its length (uint32), classical first. Both KEMs must
    have fixed sizes in the catalog.
    """

    compact = False
    content: Aead | None = None

    def __init__(self, classical: Kem, pqc: Kem, kdf: str = "HKDF-SHA256", *, enc: str = "A256GCM", length: int = 32) -> None:
        if kdf not in HASHES:
            raise ValueError(f"unknown KDF token '{kdf}'; known are {', '.join(HASHES)}")
        self.classical, self.pqc, self.kdf = classical, pqc, kdf
        self.enc, self.length = enc, length
        self.names = (classical.algorithm.name, pqc.algorithm.name)
        self.algorithm = _algorithm(classical.algorithm, pqc.algorithm, length)
        self.alg = self.algorithm.name
        self.anka = {"v": 1, "mode": MODE, "kdf": kdf, "alg": list(self.names)}
        self._domains: dict[str, bytes] = {}

    def generate(self) -> KeyPair:
        return self._pair(self.classical.generate(), self.pqc.generate())

    def _pair(self, classical: KeyPair, pqc: KeyPair) -> KeyPair:
        public = self._public(classical.public, pqc.public)
        return KeyPair(public, Half(classical.private, pqc.private, public.bound))

    def _public(self, classical: Any, pqc: Any) -> Half:
        return Half(classical, pqc, lp(self.classical.encode_public(classical)) + lp(self.pqc.encode_public(pqc)))

    def encode_public(self, public: Half) -> bytes:
        return public.bound

    def decode_public(self, data: bytes) -> Half:
        first, second = _split(data)
        _check_sizes((first, second), self._sizes("public"))
        return self._public(self.classical.decode_public(first), self.pqc.decode_public(second))

    def encode_private(self, pair: KeyPair) -> bytes:
        halves = ((self.classical, "classical"), (self.pqc, "pqc"))
        pairs = [(kem, KeyPair(getattr(pair.public, name), getattr(pair.private, name))) for kem, name in halves]
        return b"".join(lp(kem.encode_private(half)) for kem, half in pairs)

    def decode_private(self, data: bytes) -> KeyPair:
        first, second = _split(data)
        return self._pair(self.classical.decode_private(first), self.pqc.decode_private(second))

    def encapsulate(self, public: Half) -> tuple[bytes, bytes]:
        """Return both ciphertexts in one, classical first, and the combined secret."""
        result = self.encapsulate_each(public)
        return b"".join(result.ciphertexts), self.combine(result, self.enc, self.length)

    def decapsulate(self, private: Half, ciphertext: Buffer) -> bytes:
        cut = self.classical.algorithm.sizes["ciphertext"]
        ciphertexts = bytes(ciphertext[:cut]), bytes(ciphertext[cut:])
        return self.combine(self.decapsulate_each(private, ciphertexts), self.enc, self.length)

    def encapsulate_each(self, public: Half) -> Encapsulated:
        """Return the result of both KEMs, not yet combined."""
        first, secret = self.classical.encapsulate(public.classical)
        second, other_secret = self.pqc.encapsulate(public.pqc)
        return self._checked(Encapsulated((first, second), (secret, other_secret), public.bound))

    def decapsulate_each(self, private: Half, ciphertexts: Two) -> Encapsulated:
        """Return both secrets. Raises ``Refused``, after both decapsulations have run."""
        first = _attempt(self.classical, private.classical, ciphertexts[0])
        second = _attempt(self.pqc, private.pqc, ciphertexts[1])
        if first is None or second is None:
            raise refusal()
        return self._checked(Encapsulated(ciphertexts, (first, second), private.bound))

    def _checked(self, result: Encapsulated) -> Encapsulated:
        _check_sizes(result.ciphertexts, self._sizes("ciphertext"))
        _check_sizes(result.secrets, self._sizes("secret"))
        if self.names[0] in _ZERO_IS_WRONG and not any(result.secrets[0]):
            raise refusal()
        return result

    def _sizes(self, what: str) -> tuple[int, int]:
        return self.classical.algorithm.sizes[what], self.pqc.algorithm.sizes[what]

    def domain(self, enc: str) -> bytes:
        """Return the domain: project, mode, both algorithms, KDF and content encryption, each behind its length."""
        if enc not in self._domains:
            parts = ("anka-flow", f"{MODE}/v1", *self.names, self.kdf, enc)
            self._domains[enc] = b"".join(lp(part.encode()) for part in parts)
        return self._domains[enc]

    def combine(self, result: Encapsulated, enc: str, length: int) -> bytes:
        """Return the content key: KDF(ss_classical || ss_pqc) over FixedInfo."""
        first, second = result.ciphertexts
        info = b"".join((lp(first), lp(second), result.bound, lp(self.domain(enc)), bits(length)))
        return hkdf(self.kdf, b"".join(result.secrets), info, length)

    def header(self, enc: str, kid: str) -> dict[str, Any]:
        """Return the protected header."""
        return {"enc": enc, "crit": ["anka"], "anka": self.anka, "kid": kid}

    def recipients(self, ciphertexts: Two) -> tuple[Recipient, Recipient]:
        first, second = (Recipient({"alg": f"CKEM-{n}"}, c) for n, c in zip(self.names, ciphertexts, strict=True))
        return first, second

    def convey(self, public: Half, enc: str, length: int, kid: str) -> Conveyed:
        result = self.encapsulate_each(public)
        return Conveyed(self.combine(result, enc, length), self.header(enc, kid), self.recipients(result.ciphertexts))

    def ciphertexts_of(self, enc: str, protected: Mapping[str, Any], recipients: Sequence[Recipient]) -> Two:
        """Return the two ciphertexts of a token. Raises ``Refused`` unless its headers are exactly this key's."""
        if protected.get("enc") != enc or protected.get("crit") != ["anka"] or not _same(protected.get("anka"), self.anka):
            raise refusal()
        if "alg" in protected or [r.header.get("alg") for r in recipients] != [f"CKEM-{name}" for name in self.names]:
            raise refusal()
        first, second = (r.encrypted_key for r in recipients)
        _check_sizes((first, second), self._sizes("ciphertext"))
        return first, second

    def content_keys(
        self, private: Half, enc: str, length: int, protected: Mapping[str, Any], recipients: Sequence[Recipient]
    ) -> Iterator[bytes]:
        ciphertexts = self.ciphertexts_of(enc, protected, recipients)
        try:
            yield self.combine(self.decapsulate_each(private, ciphertexts), enc, length)
        except Refused:
            yield os.urandom(length)  # RFC 7516, 11.5: a failure must not show before the tag does


def _attempt(kem: Kem, private: Any, ciphertext: Buffer) -> bytes | None:
    try:
        return kem.decapsulate(private, ciphertext)
    except Refused:
        return None


def _check_sizes(found: Two, wanted: tuple[int, int]) -> None:
    if (len(found[0]), len(found[1])) != wanted:
        raise refusal()


def _same(found: Any, wanted: Mapping[str, Any]) -> bool:
    """Tell whether two JSON objects are equal in value and type: Python takes 1, 1.0 and true for the same."""
    return type(found) is dict and found == wanted and type(found["v"]) is int


def _split(data: Buffer) -> Two:
    """Return the two parts of ``lp(a) || lp(b)``. Raises ``Refused`` for anything else."""
    cut = 4 + int.from_bytes(data[:4], "big")
    first, second = bytes(data[4:cut]), bytes(data[cut + 4 :])
    if lp(first) + lp(second) != data:
        raise refusal()
    return first, second


def _algorithm(classical: Algorithm, pqc: Algorithm, secret: int) -> Algorithm:
    public = 8 + classical.sizes["public"] + pqc.sizes["public"]  # each behind its length
    ciphertext = classical.sizes["ciphertext"] + pqc.sizes["ciphertext"]
    return Algorithm(
        name=f"{classical.name}+{pqc.name}",
        kind="kem",
        family="COMPOSITE",
        kty="COMPOSITE",
        level=max(classical.level, pqc.level),
        source="profile anka-kem-v1 (SP 800-227, 4.6)",
        quantum_safe=pqc.quantum_safe,
        sizes={"public": public, "ciphertext": ciphertext, "secret": secret},
    )
