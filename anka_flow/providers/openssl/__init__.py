"""Provider ``openssl``: pyca/cryptography, which carries its own OpenSSL. What people deploy, so it comes first.

A mechanism is a construction and its arguments, e.g. ``HMAC SHA256`` or ``ECDSA secp256r1 SHA256``: a catalog row that names
one for this provider needs no code. The constructions are in the modules beside this one, which import the library.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import cast

from anka_flow.errors import Unsupported
from anka_flow.primitives import Algorithm, Primitive
from anka_flow.provider import Provider

_RSA_BITS = (2048, 3072, 4096, 6144, 8192)
_AES_BITS = (128, 192, 256)
_CURVES = {"P-256": ("secp256r1", "SHA256"), "P-384": ("secp384r1", "SHA384"), "P-521": ("secp521r1", "SHA512")}
_HASHES = {
    "SHA256": "SHA256", "SHA384": "SHA384", "SHA512": "SHA512",
    "SHA3-256": "SHA3_256", "SHA3-384": "SHA3_384", "SHA3-512": "SHA3_512", "SM3": "SM3",
}  # fmt: skip

MECHANISMS = {
    **{f"kem:RSA-{bits}": f"RSA-OAEP {bits} SHA256" for bits in _RSA_BITS},
    **{f"kem:{name}": f"ECDH {curve}" for name, (curve, _) in _CURVES.items()},
    "kem:X25519": "X25519",
    "kem:X448": "X448",
    "kem:ML-KEM-768": "ML-KEM 768",
    "kem:ML-KEM-1024": "ML-KEM 1024",
    **{f"signature:RSA-{bits}": f"RSA-PSS {bits} SHA256" for bits in _RSA_BITS},
    **{f"signature:{name}": f"ECDSA {curve} {digest}" for name, (curve, digest) in _CURVES.items()},
    "signature:Ed25519": "Ed25519",
    "signature:Ed448": "Ed448",
    **{f"signature:ML-DSA-{size}": f"ML-DSA {size}" for size in (44, 65, 87)},
    **{f"mac:HMAC-{name}": f"HMAC {own}" for name, own in _HASHES.items()},
    **{f"mac:CMAC-AES-{bits}": "CMAC AES" for bits in _AES_BITS},
    **{f"aead:AES-{bits}-GCM": "AESGCM" for bits in _AES_BITS},
    **{f"aead:AES-{bits}-CCM": "AESCCM" for bits in _AES_BITS},
    "aead:ChaCha20-Poly1305": "ChaCha20Poly1305",
    "aead:SM4-GCM": "GCM SM4",
    "aead:SM4-CCM": "CCM SM4",
    "aead:AES-128-CBC-HMAC-SHA256": "CBC-HMAC SHA256",
    "aead:AES-192-CBC-HMAC-SHA384": "CBC-HMAC SHA384",
    "aead:AES-256-CBC-HMAC-SHA512": "CBC-HMAC SHA512",
    **{f"wrap:AES-{bits}-KW": "AES-KW" for bits in _AES_BITS},
    **{f"wrap:AES-{bits}-GCMKW": "AES-GCMKW" for bits in _AES_BITS},
    "wrap:RSA-OAEP": "RSA-OAEP any SHA1",
    "wrap:RSA-OAEP-256": "RSA-OAEP any SHA256",
    "wrap:RSA-OAEP-384": "RSA-OAEP any SHA384",
    "wrap:RSA-OAEP-512": "RSA-OAEP any SHA512",
}

# Construction -> (module, class). Each class takes the algorithm and the mechanism's arguments.
_CONSTRUCTIONS = {
    "RSA-OAEP": ("kem", "RsaOaep"),
    "ECDH": ("kem", "Ecdh"),
    "X25519": ("kem", "X25519"),
    "X448": ("kem", "X448"),
    "ML-KEM": ("kem", "MlKem"),
    "RSA-PSS": ("signature", "RsaPss"),
    "ECDSA": ("signature", "Ecdsa"),
    "Ed25519": ("signature", "Ed25519"),
    "Ed448": ("signature", "Ed448"),
    "ML-DSA": ("signature", "MlDsa"),
    "HMAC": ("mac", "Hmac"),
    "CMAC": ("mac", "Cmac"),
    "AESGCM": ("aead", "AesGcm"),
    "AESCCM": ("aead", "AesCcm"),
    "ChaCha20Poly1305": ("aead", "ChaCha20Poly1305"),
    "GCM": ("aead", "Gcm"),
    "CCM": ("aead_composed", "Ccm"),
    "CBC-HMAC": ("aead_composed", "CbcHmac"),
    "AES-KW": ("wrap", "AesKw"),
    "AES-GCMKW": ("wrap", "AesGcmKw"),
}


class OpenSsl(Provider):
    """pyca/cryptography with the OpenSSL inside its wheel."""

    name = "openssl"
    obtain = "pip install cryptography"
    mechanisms = MECHANISMS

    def unavailable(self) -> str | None:
        if find_spec("cryptography") is None:
            return "the Python package 'cryptography' is not installed"
        return None

    def version(self) -> str:
        from cryptography.hazmat.backends.openssl import backend

        openssl = " ".join(backend.openssl_version_text().split()[:2])
        return f"cryptography {version('cryptography')} ({openssl})"

    def implement(self, algorithm: Algorithm) -> Primitive:
        construction, *arguments = (self.mechanism(algorithm) or "none").split()
        if construction not in _CONSTRUCTIONS:
            raise Unsupported(f"openssl: no construction '{construction}' for {algorithm.name}")
        module, name = _CONSTRUCTIONS[construction]
        make = cast(Callable[..., Primitive], getattr(import_module(f"{__name__}.{module}"), name))
        return make(algorithm, *arguments)


PROVIDER = OpenSsl()
