"""KEMs of Botan: post-quantum ones, ephemeral-static ECDH, and RSA-OAEP as key transport."""

from __future__ import annotations

import ctypes
import os

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.providers.octets import address, fresh

from .keys import CurveKeys, Handle, Keys, OctetKeys, RsaKeys, Scheme
from .library import Library, Operation


def _taken(handle: Handle, library: Library, kind: str, *arguments: bytes | int) -> Operation:
    """Return an idle operation of the key, or a new one; it serves one call at a time."""
    try:
        return handle.idle.pop()
    except IndexError:
        return library.begin(f"pk_op_{kind}", "create", handle.owned.pointer, *arguments)


class BotanKem(Keys):
    """See ``primitives.Kem``."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, library: Library) -> None:
        super().__init__(algorithm, scheme, library)
        self.ciphertext_bytes, self.secret_bytes = algorithm.sizes["ciphertext"], algorithm.sizes["secret"]
        self._rng = library.rng.pointer
        self._encapsulate = library.pk_op_kem_encrypt_create_shared_key
        self._decapsulate = library.pk_op_kem_decrypt_shared_key

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        operation = _taken(public, self.library, "kem_encrypt", b"Raw")
        ciphertext, secret = fresh(self.ciphertext_bytes), fresh(self.secret_bytes)
        operation.first.value, operation.second.value, (at, beside) = self.secret_bytes, self.ciphertext_bytes, operation.at
        if self._encapsulate(operation.pointer, self._rng, None, 0, self.secret_bytes, secret, at, ciphertext, beside):
            raise Refused("the public key is not valid")
        public.idle.append(operation)
        return ciphertext, secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        size, wanted = len(ciphertext), self.secret_bytes
        if size != self.ciphertext_bytes:
            raise Refused("the ciphertext does not open")
        operation, secret = _taken(private, self.library, "kem_decrypt", b"Raw"), fresh(wanted)
        operation.first.value = wanted
        if self._decapsulate(operation.pointer, None, 0, address(ciphertext), size, wanted, secret, operation.at[0]):
            raise Refused("the ciphertext does not open")
        private.idle.append(operation)
        return secret


class _Agreement(Keys):
    """Ephemeral-static Diffie-Hellman as a KEM; the secret is the raw output (SP 800-56A r3, 5.7)."""

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        library = self.library
        create, rng = self.scheme.create.encode(), library.rng.pointer
        ephemeral = Handle(library.make("privkey_create", "privkey_destroy", create, self.params, rng))
        ciphertext = fresh(self.algorithm.sizes["ciphertext"])
        length = ctypes.c_size_t(len(ciphertext))
        library.check(library.pk_op_key_agreement_export_public(ephemeral.owned.pointer, ciphertext, ctypes.byref(length)))
        return ciphertext, self._agree(ephemeral, public.raw)

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        if len(ciphertext) != self.algorithm.sizes["ciphertext"]:
            raise Refused("the ciphertext does not open")
        return self._agree(private, ciphertext)

    def _agree(self, private: Handle, peer: Buffer) -> bytes:
        operation = _taken(private, self.library, "key_agreement", b"Raw", 0)
        secret = fresh(self.algorithm.sizes["secret"])
        operation.first.value, size, at = len(secret), len(peer), operation.at[0]
        if self.library.pk_op_key_agreement(operation.pointer, secret, at, address(peer), size, b"", 0):
            raise Refused("the ciphertext does not open")
        private.idle.append(operation)
        return secret


class CurveKem(_Agreement, CurveKeys):
    """ECDH over a P-curve."""

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        if len(ciphertext) and ciphertext[0] != 4:  # Botan also reads hybrid points, of the same length
            raise Refused("the ciphertext does not open")
        return super().decapsulate(private, ciphertext)


class OctetKem(_Agreement, OctetKeys):
    """X25519 and X448."""


class RsaKem(RsaKeys):
    """RSA-OAEP: ``encapsulate`` wraps a fresh secret; ``wrap`` and ``unwrap`` carry one of the caller's."""

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        secret = os.urandom(self.algorithm.sizes["secret"])
        return self.wrap(public, secret), secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        secret = self.unwrap(private, ciphertext)
        if len(secret) != self.algorithm.sizes["secret"]:
            raise Refused("the ciphertext does not open")
        return secret

    def wrap(self, public: Handle, content_key: Buffer) -> bytes:
        operation = _taken(public, self.library, "encrypt", self.scheme.padding.encode(), 0)
        out, rng, size = fresh(self.algorithm.sizes["ciphertext"]), self.library.rng.pointer, len(content_key)
        operation.first.value, at, data = len(out), operation.at[0], address(content_key)
        if self.library.pk_op_encrypt(operation.pointer, rng, out, at, data, size):
            raise Refused("the content key does not fit")
        public.idle.append(operation)
        return out

    def unwrap(self, private: Handle, wrapped: Buffer) -> bytes:
        size = self.algorithm.sizes["ciphertext"]
        if len(wrapped) != size:
            raise Refused("the ciphertext does not open")
        operation = _taken(private, self.library, "decrypt", self.scheme.padding.encode(), 0)
        out, operation.first.value = fresh(size), size
        if self.library.pk_op_decrypt(operation.pointer, out, operation.at[0], address(wrapped), size):
            raise Refused("the ciphertext does not open")
        private.idle.append(operation)
        return out[: operation.first.value]
