"""Provider ``pycryptodome``: small C kernels under Python. It brings KMAC, and ChaCha20-Poly1305 in pieces.

A mechanism is a construction and its arguments, e.g. ``HMAC SHA256``. The constructions are in the modules beside this one,
which import the library. ML-KEM is left out: the library has it for HPKE alone, with no public call to encapsulate.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import cast

from anka_flow.errors import Unsupported
from anka_flow.primitives import Algorithm, Primitive
from anka_flow.provider import Provider

_RSA_BITS = (2048, 3072, 4096, 6144, 8192)
_AES_BITS = (128, 192, 256)
_CURVES = {"P-256": "SHA256", "P-384": "SHA384", "P-521": "SHA512"}
_HASHES = {
    "SHA256": "SHA256", "SHA384": "SHA384", "SHA512": "SHA512",
    "SHA3-256": "SHA3_256", "SHA3-384": "SHA3_384", "SHA3-512": "SHA3_512",
}  # fmt: skip

MECHANISMS = {
    **{f"kem:RSA-{bits}": f"RSA-OAEP {bits} SHA256" for bits in _RSA_BITS},
    **{f"kem:{name}": f"ECDH {name}" for name in _CURVES},
    "kem:X25519": "ECDH Curve25519",
    "kem:X448": "ECDH Curve448",
    **{f"signature:RSA-{bits}": f"RSA-PSS {bits} SHA256" for bits in _RSA_BITS},
    **{f"signature:{name}": f"ECDSA {name} {digest}" for name, digest in _CURVES.items()},
    "signature:Ed25519": "EdDSA Ed25519",
    "signature:Ed448": "EdDSA Ed448",
    **{f"signature:ML-DSA-{size}": f"ML-DSA {size}" for size in (44, 65, 87)},
    **{f"mac:HMAC-{name}": f"HMAC {own}" for name, own in _HASHES.items()},
    **{f"mac:CMAC-AES-{bits}": "CMAC AES" for bits in _AES_BITS},
    "mac:KMAC128": "KMAC KMAC128",
    "mac:KMAC256": "KMAC KMAC256",
    **{f"aead:AES-{bits}-GCM": "AES-GCM" for bits in _AES_BITS},
    **{f"aead:AES-{bits}-CCM": "AES-CCM" for bits in _AES_BITS},
    "aead:ChaCha20-Poly1305": "ChaCha20-Poly1305",
    **{f"wrap:AES-{bits}-KW": "AES-KW" for bits in _AES_BITS},
}

# Construction -> (module, class). Each class takes the algorithm and the mechanism's arguments.
_CONSTRUCTIONS = {
    "RSA-OAEP": ("kem", "RsaOaep"),
    "ECDH": ("kem", "Ecdh"),
    "RSA-PSS": ("signature", "RsaPss"),
    "ECDSA": ("signature", "Ecdsa"),
    "EdDSA": ("signature", "EdDsa"),
    "ML-DSA": ("signature", "MlDsa"),
    "HMAC": ("mac", "Hmac"),
    "CMAC": ("mac", "Cmac"),
    "KMAC": ("mac", "Kmac"),
    "AES-GCM": ("aead", "AesGcm"),
    "AES-CCM": ("aead", "AesCcm"),
    "ChaCha20-Poly1305": ("aead", "ChaCha20Poly1305"),
    "AES-KW": ("aead", "AesKw"),
}
_SLOW_RSA_BITS = 4096


class PyCryptodome(Provider):
    """The package ``pycryptodome``."""

    name = "pycryptodome"
    obtain = "pip install pycryptodome"
    mechanisms = MECHANISMS

    def unavailable(self) -> str | None:
        if find_spec("Crypto") is None:
            return "the Python package 'pycryptodome' is not installed"
        try:
            version("pycryptodome")
        except PackageNotFoundError:
            return "the module 'Crypto' here is not pycryptodome's"
        return None

    def version(self) -> str:
        return f"pycryptodome {version('pycryptodome')}"

    def implement(self, algorithm: Algorithm) -> Primitive:
        construction, *arguments = (self.mechanism(algorithm) or "none").split()
        if construction not in _CONSTRUCTIONS:
            raise Unsupported(f"pycryptodome: no construction '{construction}' for {algorithm.name}")
        module, name = _CONSTRUCTIONS[construction]
        make = cast(Callable[..., Primitive], getattr(import_module(f"{__name__}.{module}"), name))
        return make(algorithm, *arguments)

    def refusal(self, algorithm: Algorithm) -> str | None:
        words = (self.mechanism(algorithm) or "").split()
        if words[:1] and words[0].startswith("RSA") and int(words[1]) > _SLOW_RSA_BITS:
            return "its RSA key generation is pure Python and takes minutes at this length"
        return None


PROVIDER = PyCryptodome()
