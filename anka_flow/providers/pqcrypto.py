"""Provider ``pqcrypto``: post-quantum algorithms from one wheel. Its calls take ``bytes`` alone and hold the interpreter lock.

A mechanism is the library's module. Its ML-DSA signs an order of magnitude slower than others, so it comes late there.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Algorithm, Buffer, KeyPair, Primitive, Signing, Verifying
from anka_flow.provider import Provider, RawKeys

_SLH_DSA = ("128f", "128s", "192f", "192s", "256f", "256s")

MECHANISMS = {
    **{f"kem:ML-KEM-{size}": f"kem.ml_kem_{size}" for size in (512, 768, 1024)},
    **{f"kem:HQC-{size}": f"kem.hqc_{size}" for size in (128, 192, 256)},
    **{f"kem:sntrup{size}": f"kem.sntrup_{size}" for size in (653, 761, 857)},
    **{f"kem:Classic-McEliece-{s}": f"kem.mceliece_{s}" for s in ("348864", "460896", "6688128", "6960119", "8192128")},
    **{f"signature:ML-DSA-{size}": f"sign.ml_dsa_{size}" for size in (44, 65, 87)},
    **{f"signature:SLH-DSA-SHA2-{size.upper()}": f"sign.slh_dsa_sha2_{size}" for size in _SLH_DSA},
}


class _Keys(RawKeys):
    """Raw octets as the library has them, of the library's lengths."""

    def __init__(self, algorithm: Algorithm, library: Any) -> None:
        self.algorithm = algorithm
        self._keygen = library.keygen
        self._public_bytes, self._private_bytes = library.PUBLIC_KEY_SIZE, library.SECRET_KEY_SIZE

    def generate(self) -> KeyPair:
        return KeyPair(*self._keygen())

    def decode_public(self, data: bytes) -> bytes:
        if len(data) != self._public_bytes:
            raise Refused(f"not a public key of {self.algorithm.name}")
        return bytes(data)

    def decode_private(self, data: bytes) -> KeyPair:
        pair = super().decode_private(data)
        if (len(pair.public), len(pair.private)) != (self._public_bytes, self._private_bytes):
            raise Refused(f"not a private key of {self.algorithm.name}")
        return pair


class PqKem(_Keys):
    """A key encapsulation mechanism of the library."""

    def __init__(self, algorithm: Algorithm, library: Any) -> None:
        super().__init__(algorithm, library)
        self._encaps, self._decaps = library.encaps, library.decaps

    def encapsulate(self, public: bytes) -> tuple[bytes, bytes]:
        try:
            return self._encaps(public)  # type: ignore[no-any-return]  # the library has no types
        except ValueError:
            raise Refused(f"not a public key of {self.algorithm.name}") from None

    def decapsulate(self, private: bytes, ciphertext: Buffer) -> bytes:
        try:
            return self._decaps(private, bytes(ciphertext))  # type: ignore[no-any-return]  # the library has no types
        except ValueError:
            raise Refused("ciphertext is not valid for this key") from None


class PqSigner(_Keys):
    """ML-DSA (FIPS 204) or SLH-DSA (FIPS 205), pure, over whole messages."""

    streams = False

    def __init__(self, algorithm: Algorithm, library: Any) -> None:
        super().__init__(algorithm, library)
        self._sign, self._verify = library.sign, library.verify

    def sign(self, private: bytes, message: Buffer, context: bytes = b"") -> bytes:
        try:
            return self._sign(private, bytes(message), context)  # type: ignore[no-any-return]  # the library has no types
        except ValueError:
            if len(context) > 255:
                raise Refused("context is longer than 255 octets") from None
            # ML-DSA of 1.0.0 signs up to 1 MiB, though it verifies more
            raise Unsupported(f"pqcrypto signs no message of {len(message):,} octets with {self.algorithm.name}") from None

    def verify(self, public: bytes, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        if len(context) > 255:
            raise Refused("context is longer than 255 octets")
        try:
            self._verify(public, bytes(message), bytes(signature), context)
        except ValueError:
            return False
        return True

    def start_sign(self, private: bytes) -> Signing:
        raise Unsupported("pqcrypto signs whole messages only")

    def start_verify(self, public: bytes) -> Verifying:
        raise Unsupported("pqcrypto verifies whole messages only")


class PqCrypto(Provider):
    """The package ``pqcrypto`` (Rust and C behind one extension module)."""

    name = "pqcrypto"
    obtain = "pip install pqcrypto"
    mechanisms = MECHANISMS

    def unavailable(self) -> str | None:
        if find_spec("pqcrypto") is None:
            return "the Python package 'pqcrypto' is not installed"
        return None

    def version(self) -> str:
        return f"pqcrypto {version('pqcrypto')}"

    def implement(self, algorithm: Algorithm) -> Primitive:
        import pqcrypto

        group, _, name = (self.mechanism(algorithm) or "").partition(".")
        library = getattr(import_module(f"pqcrypto.{group}"), name, None) if group in ("kem", "sign") else None
        if library is None:
            raise Unsupported(f"pqcrypto {pqcrypto.__version__} has no module '{group}.{name}' for {algorithm.name}")
        return PqKem(algorithm, library) if group == "kem" else PqSigner(algorithm, library)

    def revision(self, algorithm: Algorithm) -> str:
        revisions = {"HQC": "HQC 5.0.0 of 2025-08-22", "NTRUPRIME": "round 3", "Classic-McEliece": "round 4"}
        return revisions.get(algorithm.family, "")


PROVIDER = PqCrypto()
