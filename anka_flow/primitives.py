"""Algorithms as data, and the shapes of what providers make of them.

``Algorithm`` is a row of the catalog. ``Kem``, ``Signer``, ``Mac``, ``Aead`` and ``KeyWrap`` are what an operator sees; a
provider returns objects of these shapes. Keys are opaque handles, ready to use, so that no import of a key falls into a
timed window. Nothing here knows a library, a file or a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

Buffer: TypeAlias = bytes | bytearray | memoryview

KINDS = ("kem", "signature", "mac", "aead", "wrap")


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One catalog entry; the fields are described in docs/catalog.md.

    ``sizes`` holds octets where a standard fixes them: for a KEM ``public``, ``ciphertext``, ``secret``; for a signature
    ``public``, ``signature`` (or ``signature_max``); for a MAC ``key``, ``tag``; for an AEAD ``key``, ``nonce``, ``tag``.
    """

    name: str
    kind: str
    family: str
    kty: str
    level: int = 0
    level_source: str = ""
    source: str = ""
    status: str = "recommended"
    composite: bool = False
    quantum_safe: bool = False
    jose: str = ""
    jose_source: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    stateful: bool = False
    random_cost: bool = False
    prefer: tuple[str, ...] = ()
    mechanisms: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """``kind:name``: unique in a catalog, since P-256 is a KEM and a signature."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True, repr=False)
class KeyPair:
    """Handles of one key, in the provider's own form. For secret-key algorithms both are the same handle."""

    public: Any
    private: Any

    def __repr__(self) -> str:
        return "KeyPair(...)"


class Keyed(Protocol):
    """What every primitive with a key has.

    Public encodings are the standard's own: ``04||x||y`` for P-curves, raw octets for OKP and PQC keys, SubjectPublicKeyInfo
    DER for RSA, SM2 and GOST. Private encodings are the standard's where the library can (seed of ML-DSA and ML-KEM, scalar of
    a P-curve, PKCS #8 DER for RSA), else the provider's own; they load again in the same provider.
    ``decode_*`` raise ``Refused`` on anything that is not a valid key.
    """

    algorithm: Algorithm

    def generate(self) -> KeyPair: ...
    def encode_public(self, public: Any) -> bytes: ...
    def decode_public(self, data: bytes) -> Any: ...
    def encode_private(self, pair: KeyPair) -> bytes: ...
    def decode_private(self, data: bytes) -> KeyPair: ...


@runtime_checkable
class Kem(Keyed, Protocol):
    """A key encapsulation mechanism; ephemeral-static ECDH counts (ciphertext = ephemeral public key, secret = raw output)."""

    def encapsulate(self, public: Any) -> tuple[bytes, bytes]:
        """Return (ciphertext, shared secret)."""

    def decapsulate(self, private: Any, ciphertext: Buffer) -> bytes:
        """Return the shared secret. Implicitly rejecting KEMs return a wrong one; others raise ``Refused``."""


@runtime_checkable
class KeyWrap(Keyed, Protocol):
    """Carries a content key of the caller's: AES-KW, AES-GCMKW, RSA-OAEP. ``unwrap`` raises ``Refused``."""

    def wrap(self, public: Any, content_key: Buffer) -> bytes: ...
    def unwrap(self, private: Any, wrapped: Buffer) -> bytes: ...


class Signing(Protocol):
    """A signature over a message that arrives in pieces."""

    def update(self, data: Buffer) -> None: ...
    def finish(self) -> bytes: ...


class Verifying(Protocol):
    """A verification over a message that arrives in pieces."""

    def update(self, data: Buffer) -> None: ...
    def finish(self, signature: Buffer) -> bool: ...


@runtime_checkable
class Signer(Keyed, Protocol):
    """A signature scheme. ECDSA signatures are ``r||s`` (RFC 7518, 3.4); SM2 and GOST too.

    ``streams`` says whether the incremental form exists; without it ``start_*`` raise ``Unsupported``. ``context`` is for
    ML-DSA and SLH-DSA (FIPS 204, 205: at most 255 octets); other schemes refuse a non-empty one.
    """

    streams: bool

    def sign(self, private: Any, message: Buffer, context: bytes = b"") -> bytes: ...
    def verify(self, public: Any, message: Buffer, signature: Buffer, context: bytes = b"") -> bool: ...
    def start_sign(self, private: Any) -> Signing: ...
    def start_verify(self, public: Any) -> Verifying: ...


@runtime_checkable
class Mac(Keyed, Protocol):
    """A message authentication code; the key handle serves both sides."""

    def tag(self, key: Any, message: Buffer) -> bytes: ...
    def start_tag(self, key: Any) -> Signing: ...


class Sealer(Protocol):
    """An encryption in progress. ``out`` must hold at least ``len(data)`` + 16 octets; returns the octets written."""

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int: ...
    def finish(self) -> bytes:
        """Return the tag."""


class Opener(Protocol):
    """A decryption in progress. What it writes is unverified until ``finish`` returns; a wrong tag raises ``Refused``."""

    def update_into(self, data: Buffer, out: memoryview | bytearray) -> int: ...
    def finish(self, tag: Buffer) -> None: ...


@runtime_checkable
class Aead(Keyed, Protocol):
    """Authenticated encryption. ``seal`` returns ciphertext and tag in one; ``open`` takes them so and raises ``Refused``.

    ``streams`` says whether ``sealer`` and ``opener`` exist; without them they raise ``Unsupported``.
    """

    streams: bool
    key_bytes: int
    nonce_bytes: int
    tag_bytes: int

    def seal(self, key: Any, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes: ...
    def open(self, key: Any, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes: ...
    def sealer(self, key: Any, nonce: Buffer, aad: Buffer) -> Sealer: ...
    def opener(self, key: Any, nonce: Buffer, aad: Buffer) -> Opener: ...


Primitive: TypeAlias = Kem | KeyWrap | Signer | Mac | Aead
