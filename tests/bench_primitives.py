"""What a primitive costs beyond the same library called directly. Bound: 1 microsecond or 2 %, whichever is larger."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from typing import Any

from anka_flow import primitive
from anka_flow.errors import AnkaError

Pair = tuple[str, Callable[[], Any], Callable[[], Any]]
MESSAGE = os.urandom(1024)


def openssl() -> Iterator[Pair]:
    """cryptography, by the calls of its own documentation."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives import hmac as library_hmac
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    aead = primitive("aead", "AES-256-GCM", "openssl")
    key, nonce = os.urandom(32), bytes(12)
    handle, cipher = aead.decode_private(key).private, AESGCM(key)
    yield "AES-256-GCM seal 1 KiB", lambda: aead.seal(handle, nonce, MESSAGE, b""), lambda: cipher.encrypt(nonce, MESSAGE, b"")
    mac = primitive("mac", "HMAC-SHA256", "openssl")
    tagger = mac.decode_private(key).private

    def tag() -> bytes:
        context = library_hmac.HMAC(key, hashes.SHA256())
        context.update(MESSAGE)
        return context.finalize()

    yield "HMAC-SHA256 tag 1 KiB", lambda: mac.tag(tagger, MESSAGE), tag
    signer = primitive("signature", "P-256", "openssl")
    pair = signer.generate()
    private = ec.generate_private_key(ec.SECP256R1())
    scheme = ec.ECDSA(hashes.SHA256())

    def sign() -> bytes:
        r, s = decode_dss_signature(private.sign(MESSAGE, scheme))  # a JWS wants r||s
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    yield "ECDSA P-256 sign 1 KiB, r||s", lambda: signer.sign(pair.private, MESSAGE), sign
    kem = primitive("kem", "ML-KEM-768", "openssl")
    keys = kem.generate()
    encapsulate = keys.public.encapsulate
    yield "ML-KEM-768 encapsulate", lambda: kem.encapsulate(keys.public), encapsulate


def pqcrypto() -> Iterator[Pair]:
    """pqcrypto's modules."""
    from pqcrypto.kem import ml_kem_512

    kem = primitive("kem", "ML-KEM-512", "pqcrypto")
    keys = kem.generate()
    encaps = next(getattr(ml_kem_512, n) for n in ("encaps", "encrypt") if hasattr(ml_kem_512, n))
    yield "ML-KEM-512 encapsulate", lambda: kem.encapsulate(keys.public), lambda: encaps(keys.public)


def pycryptodome() -> Iterator[Pair]:
    """pycryptodome's documented call."""
    from Crypto.Hash import KMAC256

    key = os.urandom(32)
    mac = primitive("mac", "KMAC256", "pycryptodome")
    handle = mac.decode_private(key).private
    yield "KMAC256 tag 1 KiB", lambda: mac.tag(handle, MESSAGE), lambda: KMAC256.new(key=key, data=MESSAGE, mac_len=64).digest()


def liboqs() -> Iterator[Pair]:
    """The C functions by ctypes, with buffers made once."""
    from anka_flow.provider import providers

    kem = primitive("kem", "ML-KEM-768", "liboqs")
    keys = kem.generate()
    native: Any = providers().get("liboqs").native  # type: ignore[attr-defined]  # the provider's own library
    native.OQS_KEM_new.restype, native.OQS_KEM_new.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    encaps = native.OQS_KEM_encaps
    pointer = ctypes.c_void_p
    encaps.argtypes = [pointer, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p]
    kem_pointer = native.OQS_KEM_new(b"ML-KEM-768")
    ciphertext, secret = ctypes.create_string_buffer(1088), ctypes.create_string_buffer(32)
    public = bytes(keys.public)
    yield (
        "ML-KEM-768 encapsulate",
        lambda: kem.encapsulate(keys.public),
        lambda: encaps(kem_pointer, ciphertext, secret, public),
    )


def botan() -> Iterator[Pair]:
    """The C functions by ctypes, with objects and buffers made once."""
    mac = primitive("mac", "HMAC-SHA256", "botan")
    key = os.urandom(32)
    handle = mac.decode_private(key).private
    library: Any = mac.library  # type: ignore[union-attr]  # the provider's own binding
    owned = library.make("mac_init", "mac_destroy", b"HMAC(SHA-256)", 0)
    library.mac_set_key(owned.pointer, key, 32)
    out = ctypes.create_string_buffer(32)
    update, final, pointer = library.mac_update, library.mac_final, owned.pointer

    def tag() -> bytes:
        update(pointer, MESSAGE, 1024)
        final(pointer, out)
        return out.raw

    yield "HMAC-SHA256 tag 1 KiB", lambda: mac.tag(handle, MESSAGE), tag


def libcrypto() -> Iterator[Pair]:
    """The system's libcrypto, by C calls that are bound once."""
    aead = primitive("aead", "ARIA-256-CCM", "libcrypto")
    handle, nonce, out = aead.decode_private(os.urandom(32)).private, bytes(11), ctypes.create_string_buffer(1024 + 16)
    own: Any = aead
    context = own._keyed(handle, 1)
    pointer, count, place = context.pointer, ctypes.byref(ctypes.c_int()), ctypes.addressof(out)

    def seal() -> bytes:
        own._start(pointer, None, None, None, nonce, -1)
        own.update(pointer, None, count, None, 1024)
        own.update(pointer, place, count, MESSAGE, 1024)
        own._final(pointer, place + 1024, count)
        own._control(pointer, 0x10, 16, place + 1024)
        return out.raw

    yield "ARIA-256-CCM seal 1 KiB", lambda: aead.seal(handle, nonce, MESSAGE, b""), seal


def primitives() -> None:
    """Print the overhead for every native provider that is here."""
    from tests.bench import compare

    for source in (openssl, liboqs, botan, libcrypto, pqcrypto, pycryptodome):
        try:
            for name, ours, theirs in source():
                ratio, mine, direct = compare(ours, theirs)
                over = mine - direct
                verdict = "within" if over <= max(1000.0, 0.02 * direct) else "OVER"
                print(
                    f"{source.__name__}: {name:<32} {over:8.0f} ns beyond {direct:9.0f} ns ({ratio:.3f} x): {verdict}",
                    flush=True,
                )
        except AnkaError as error:
            print(f"{source.__name__}: not here: {error}", flush=True)
