"""Key management modes of JWE (RFC 7516, 2): how one key conveys the content key. Nothing here knows a serialization.

A mode *is* the primitive of a JWE key: it has the keys of the primitive below it, and its ``alg`` is the only one that the key
accepts. Lengths are in octets.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Aead, Algorithm, Kem, KeyPair, KeyWrap

from .encoding import b64u_decode, b64u_encode, refusal
from .jwk import ephemeral_jwk, ephemeral_octets
from .kdf import Kmac, concat_kdf, kmac_kdf

MAX_RECIPIENTS = 32
Members = dict[str, Any]


class Recipient(NamedTuple):
    """One entry of ``recipients``: its header and the octets of its encrypted key. On reading, the header is the joined one."""

    header: Mapping[str, Any]
    encrypted_key: bytes


class Conveyed(NamedTuple):
    """A content key and what tells it to the recipients."""

    content_key: bytes
    protected: Members
    recipients: Sequence[Recipient]


class Share(NamedTuple):
    """What one recipient needs: the content key, header members beside alg, the octets of the encrypted key."""

    content_key: bytes
    members: Members
    encrypted_key: bytes


class Management(Protocol):
    """What the primitive of a JWE key does. ``compact`` tells whether one header and one encrypted key suffice.

    ``content`` is the content algorithm where the key itself fixes it (``dir``).
    """

    algorithm: Algorithm
    alg: str
    compact: bool
    content: Aead | None

    def generate(self) -> KeyPair: ...
    def encode_public(self, public: Any) -> bytes: ...
    def decode_public(self, data: bytes) -> Any: ...
    def encode_private(self, pair: KeyPair) -> bytes: ...
    def decode_private(self, data: bytes) -> KeyPair: ...

    def convey(self, public: Any, enc: str, length: int, kid: str) -> Conveyed:
        """Return a content key of ``length`` octets for ``enc``, and the header that goes with it."""

    def content_keys(
        self, private: Any, enc: str, length: int, protected: Mapping[str, Any], recipients: Sequence[Recipient]
    ) -> Iterator[bytes]:
        """Yield every content key that the token may mean for this key. Raises ``Refused`` where there can be none."""


class Mode(ABC):
    """A key management mode of one algorithm, over the primitive that does the work."""

    compact = True
    content: Aead | None = None
    alg: str

    def __init__(self, primitive: Any, alg: str) -> None:
        self.primitive, self.alg = primitive, alg
        self.algorithm: Algorithm = primitive.algorithm
        self.generate = primitive.generate
        self.encode_public = primitive.encode_public
        self.decode_public = primitive.decode_public
        self.encode_private = primitive.encode_private
        self.decode_private = primitive.decode_private

    @abstractmethod
    def share(self, public: Any, enc: str, length: int, content_key: bytes | None = None) -> Share:
        """Return a fresh content key, or the given one, for one recipient. Raises ``Unsupported`` if it cannot carry one."""

    @abstractmethod
    def recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        """Return the content key. Raises ``Refused``."""

    def convey(self, public: Any, enc: str, length: int, kid: str) -> Conveyed:
        content_key, members, encrypted_key = self.share(public, enc, length)
        protected = {"alg": self.alg, "enc": enc, "kid": kid, **members}
        return Conveyed(content_key, protected, (Recipient({}, encrypted_key),))

    def content_keys(
        self, private: Any, enc: str, length: int, protected: Mapping[str, Any], recipients: Sequence[Recipient]
    ) -> Iterator[bytes]:
        mine = [r for r in recipients if r.header.get("alg") == self.alg and r.header.get("enc") == enc]
        if not mine or len(recipients) > MAX_RECIPIENTS or "crit" in protected:
            raise refusal()
        for header, encrypted_key in mine:
            yield self._recover(private, enc, length, header, encrypted_key)

    def _recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        """Return the content key, or a random one: a failure must not show before the tag does (RFC 7516, 11.5)."""
        try:
            content_key = self.recover(private, enc, length, header, encrypted_key)
        except Refused:
            return os.urandom(length)
        return content_key if len(content_key) == length else os.urandom(length)


class Direct(Mode):
    """``dir``: the shared key is the content key (RFC 7518, 4.5)."""

    def __init__(self, primitive: Aead) -> None:
        super().__init__(primitive, "dir")
        self.content = primitive

    def share(self, public: Any, enc: str, length: int, content_key: bytes | None = None) -> Share:
        _no_given(content_key, self.alg)
        return Share(self.primitive.encode_public(public), {}, b"")

    def recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        _no_encrypted_key(encrypted_key)
        return self.primitive.encode_public(private)  # type: ignore[no-any-return]  # a secret key has one handle for both


class Wrapping(Mode):
    """The content key goes under the recipient's key: A*KW (RFC 7518, 4.4), RSA-OAEP* (4.3)."""

    def __init__(self, primitive: KeyWrap) -> None:
        super().__init__(primitive, primitive.algorithm.jose)

    def share(self, public: Any, enc: str, length: int, content_key: bytes | None = None) -> Share:
        content_key = content_key or os.urandom(length)
        return Share(content_key, {}, self.primitive.wrap(public, content_key))

    def recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        return self.primitive.unwrap(private, encrypted_key)  # type: ignore[no-any-return]  # KeyWrap, seen through Mode


class GcmWrapping(Mode):
    """A*GCMKW (RFC 7518, 4.7): nonce and tag are header members. The primitive wraps to nonce, encrypted key, tag in one."""

    def __init__(self, primitive: KeyWrap) -> None:
        super().__init__(primitive, primitive.algorithm.jose)

    def share(self, public: Any, enc: str, length: int, content_key: bytes | None = None) -> Share:
        content_key = content_key or os.urandom(length)
        wrapped = self.primitive.wrap(public, content_key)
        return Share(content_key, {"iv": _text(wrapped[:12]), "tag": _text(wrapped[-16:])}, wrapped[12:-16])

    def recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        iv, tag = _octets(header, "iv"), _octets(header, "tag")
        if len(iv) != 12 or len(tag) != 16:
            raise refusal()
        return self.primitive.unwrap(private, iv + encrypted_key + tag)  # type: ignore[no-any-return]  # as above


class _Derived(Mode):
    """What direct key agreement and key agreement with key wrapping share; ``wrap`` makes it the second."""

    def __init__(self, primitive: Kem, alg: str, wrap: KeyWrap | None) -> None:
        super().__init__(primitive, f"{alg}+{wrap.algorithm.jose}" if wrap else alg)
        self.wrap = wrap

    @abstractmethod
    def derive(self, secret: bytes, algorithm_id: str, length: int, header: Mapping[str, Any]) -> bytes:
        """Return the key that the shared secret gives."""

    @abstractmethod
    def show(self, ciphertext: bytes) -> Members:
        """Return the ciphertext as header members."""

    @abstractmethod
    def read(self, header: Mapping[str, Any]) -> bytes:
        """Return the ciphertext that the header shows. Raises ``Refused``."""

    def share(self, public: Any, enc: str, length: int, content_key: bytes | None = None) -> Share:
        ciphertext, secret = self.primitive.encapsulate(public)
        if self.wrap is None:
            _no_given(content_key, self.alg)
            return Share(self.derive(secret, enc, length, {}), self.show(ciphertext), b"")
        key = self._wrapping_key(self.wrap, secret, {})
        content_key = content_key or os.urandom(length)
        return Share(content_key, self.show(ciphertext), self.wrap.wrap(key, content_key))

    def recover(self, private: Any, enc: str, length: int, header: Mapping[str, Any], encrypted_key: bytes) -> bytes:
        secret = self.primitive.decapsulate(private, self.read(header))
        if self.wrap is None:
            _no_encrypted_key(encrypted_key)
            return self.derive(secret, enc, length, header)
        return self.wrap.unwrap(self._wrapping_key(self.wrap, secret, header), encrypted_key)

    def _wrapping_key(self, wrap: KeyWrap, secret: bytes, header: Mapping[str, Any]) -> Any:
        return wrap.decode_public(self.derive(secret, self.alg, wrap.algorithm.sizes["key"], header))


class Agreement(_Derived):
    """ECDH-ES and ECDH-ES+A*KW (RFC 7518, 4.6; RFC 8037, 3.2): Concat KDF, the ephemeral key as ``epk``."""

    def __init__(self, primitive: Kem, wrap: KeyWrap | None = None) -> None:
        super().__init__(primitive, primitive.algorithm.jose, wrap)

    def derive(self, secret: bytes, algorithm_id: str, length: int, header: Mapping[str, Any]) -> bytes:
        apu, apv = (_octets(header, name) if name in header else b"" for name in ("apu", "apv"))
        return concat_kdf(secret, algorithm_id, length, apu=apu, apv=apv)

    def show(self, ciphertext: bytes) -> Members:
        return {"epk": ephemeral_jwk(self.algorithm.name, ciphertext)}

    def read(self, header: Mapping[str, Any]) -> bytes:
        return ephemeral_octets(self.algorithm.name, header.get("epk"))


class Encapsulation(_Derived):
    """A KEM as a recipient (draft-ietf-jose-pqc-kem-05): KMAC256, the KEM ciphertext as ``ek``; +A*KW wraps a content key.

    KEMs that the draft does not have go the same way under a private ``alg``.
    """

    def __init__(self, primitive: Kem, kmac: Kmac, wrap: KeyWrap | None = None) -> None:
        super().__init__(primitive, primitive.algorithm.jose, wrap)
        self.kmac = kmac

    def derive(self, secret: bytes, algorithm_id: str, length: int, header: Mapping[str, Any]) -> bytes:
        return kmac_kdf(self.kmac, secret, algorithm_id, length)

    def show(self, ciphertext: bytes) -> Members:
        return {"ek": _text(ciphertext)}

    def read(self, header: Mapping[str, Any]) -> bytes:
        return _octets(header, "ek")


def mode_of(primitive: Kem | Aead | KeyWrap, kmac: Kmac, wrap: KeyWrap | None = None) -> Mode:
    """Return the key management mode of an algorithm, by its kind and family; ``wrap`` makes a KEM's one of key wrapping."""
    algorithm: Any = primitive.algorithm
    one: Any = primitive
    if algorithm.kind == "aead":
        return Direct(one)
    if algorithm.family == "AES-GCMKW":
        return GcmWrapping(one)
    if algorithm.kind == "wrap" or algorithm.family == "RSA":
        return Wrapping(one)
    return Agreement(one, wrap) if algorithm.family == "ECDH" else Encapsulation(one, kmac, wrap)


def _no_given(content_key: bytes | None, alg: str) -> None:
    if content_key is not None:
        raise Unsupported(f"'{alg}' fixes the content key, so it cannot be one of several recipients; use a wrapping mode")


def _no_encrypted_key(encrypted_key: bytes) -> None:
    if encrypted_key:
        raise refusal()  # RFC 7516, 5.2, step 10


def _text(octets: bytes) -> str:
    return b64u_encode(octets).decode("ascii")


def _octets(header: Mapping[str, Any], name: str) -> bytes:
    value = header.get(name)
    if type(value) is not str or not value.isascii():
        raise refusal()
    return b64u_decode(value.encode("ascii"))
