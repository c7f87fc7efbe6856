"""KEMs of Botan: post-quantum ones, ephemeral-static ECDH, and RSA-OAEP as key transport."""

from __future__ import annotations

import ctypes
import os

from anka_flow.errors import Refused
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.providers.octets import address, fresh

from .keys import CurveKeys, Handle, Keys, OctetKeys, RsaKeys, Scheme
from .library import Library, Owned


def _taken(handle: Handle, library: Library, kind: str, *arguments: bytes | int) -> Owned:
    """Return an idle operation of the key, or a new one; it serves one call at a time."""
    try:
        return handle.idle.pop()
    except IndexError:
        return library.make(f"pk_op_{kind}_create", f"pk_op_{kind}_destroy", handle.owned.pointer, *arguments)


class BotanKem(Keys):
    """See ``primitives.Kem``."""

    def __init__(self, algorithm: Algorithm, scheme: Scheme, library: Library) -> None:
        super().__init__(algorithm, scheme, library)
        self.ciphertext_bytes, self.secret_bytes = algorithm.sizes["ciphertext"], algorithm.sizes["secret"]
        self._encapsulate = library.pk_op_kem_encrypt_create_shared_key
        self._decapsulate = library.pk_op_kem_decrypt_shared_key

    def encapsulate(self, public: Handle) -> tuple[bytes, bytes]:
        operation = _taken(public, self.library, "kem_encrypt", b"Raw")
        ciphertext, secret = fresh(self.ciphertext_bytes), fresh(self.secret_bytes)
        sizes, rng = (ctypes.c_size_t(len(secret)), ctypes.c_size_t(len(ciphertext))), self.library.rng.pointer
        places = ctypes.byref(sizes[0]), ctypes.byref(sizes[1])
        wanted = len(secret)
        if self._encapsulate(operation.pointer, rng, None, 0, wanted, secret, places[0], ciphertext, places[1]):
            raise Refused("the public key is not valid")
        public.idle.append(operation)
        return ciphertext, secret

    def decapsulate(self, private: Handle, ciphertext: Buffer) -> bytes:
        size, secret, length = len(ciphertext), fresh(self.secret_bytes), ctypes.c_size_t(self.secret_bytes)
        if size != self.ciphertext_bytes:
            raise Refused("the ciphertext does not open")
        operation, place = _taken(private, self.library, "kem_decrypt", b"Raw"), ctypes.byref(length)
        if self._decapsulate(operation.pointer, None, 0, address(ciphertext), size, len(secret), secret, place):
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
        length, size = ctypes.c_size_t(len(secret)), len(peer)
        place = ctypes.byref(length)
        if self.library.pk_op_key_agreement(operation.pointer, secret, place, address(peer), size, b"", 0):
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
        length = ctypes.c_size_t(len(out))
        place, data = ctypes.byref(length), address(content_key)
        if self.library.pk_op_encrypt(operation.pointer, rng, out, place, data, size):
            raise Refused("the content key does not fit")
        public.idle.append(operation)
        return out

    def unwrap(self, private: Handle, wrapped: Buffer) -> bytes:
        size = self.algorithm.sizes["ciphertext"]
        if len(wrapped) != size:
            raise Refused("the ciphertext does not open")
        operation = _taken(private, self.library, "decrypt", self.scheme.padding.encode(), 0)
        out, length = fresh(size), ctypes.c_size_t(size)
        if self.library.pk_op_decrypt(operation.pointer, out, ctypes.byref(length), address(wrapped), size):
            raise Refused("the ciphertext does not open")
        private.idle.append(operation)
        return out[: length.value]
