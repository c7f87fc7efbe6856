"""liboqs through liboqs-python: post-quantum KEMs and signatures in C with SIMD.

liboqs-python finds and loads the library and describes its structures; the calls themselves go to the C functions with
prototypes of their own, since the package's objects copy every key and message first. Importing it without a library would
clone a repository and end the interpreter, so the library is looked for before.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from anka_flow.errors import Unsupported
from anka_flow.primitives import Algorithm, Primitive
from anka_flow.provider import Provider
from anka_flow.providers.octets import function
from anka_flow.providers.place import provider_folder, shared_object

_P, _SIZE = ctypes.c_void_p, ctypes.c_size_t

_KEMS = {
    "ML-KEM-512": "ML-KEM-512",
    "ML-KEM-768": "ML-KEM-768",
    "ML-KEM-1024": "ML-KEM-1024",
    "FRODO-976": "FrodoKEM-976-AES",
    "FRODO-1344": "FrodoKEM-1344-AES",
    "BIKE-L1": "BIKE-L1",
    "BIKE-L3": "BIKE-L3",
    "BIKE-L5": "BIKE-L5",
    "sntrup761": "sntrup761",
    "Classic-McEliece-348864": "Classic-McEliece-348864",
    "Classic-McEliece-460896": "Classic-McEliece-460896",
    "Classic-McEliece-6688128": "Classic-McEliece-6688128",
    "Classic-McEliece-6960119": "Classic-McEliece-6960119",
    "Classic-McEliece-8192128": "Classic-McEliece-8192128",
}
_SIGNATURES = {
    "ML-DSA-44": "ML-DSA-44",
    "ML-DSA-65": "ML-DSA-65",
    "ML-DSA-87": "ML-DSA-87",
    "FALCON-512": "Falcon-512",
    "FALCON-1024": "Falcon-1024",
    "XMSS": "XMSS-SHA2_10_256",
    "LMS": "LMS_SHA256_H10_W4",
}
_REVISIONS = {
    "FRODO": "FrodoKEM round 3 (ISO: eFrodoKEM), AES",
    "BIKE": "BIKE 5.1",
    "NTRUPRIME": "NTRU Prime round 3",
    "Classic-McEliece": "Classic McEliece round 4",
    "FALCON": "Falcon round 3",
}
_EARLIER = {
    "HQC": "liboqs has the HQC of 2023-04-30, another algorithm than the one of 2025-08-22",
    "SLH-DSA": "liboqs has SPHINCS+ r3.1, another algorithm than SLH-DSA of FIPS 205",
}


class LibOqs(Provider):
    """See the module."""

    name = "liboqs"
    obtain = "run `anka-flow providers install liboqs`"
    mechanisms = {f"kem:{name}": own for name, own in _KEMS.items()} | {f"signature:{n}": own for n, own in _SIGNATURES.items()}

    def unavailable(self) -> str | None:
        try:
            self.oqs.native()  # loading is the test: a library may be there and of another processor
        except Unsupported as error:
            return str(error)
        return None

    def version(self) -> str:
        from importlib.metadata import version

        return f"liboqs {self.oqs.oqs_version()} (liboqs-python {version('liboqs-python')})"

    def revision(self, algorithm: Algorithm) -> str:
        return _REVISIONS.get(algorithm.family, "")

    def refusal(self, algorithm: Algorithm) -> str | None:
        """ML-DSA of 0.13 in AVX2 does not hold ``z`` to its norm (FIPS 204, algorithm 8, line 13), which Wycheproof finds."""
        if algorithm.family == "ML-DSA" and self._lenient:
            return "liboqs 0.13 with AVX2 takes signatures that FIPS 204 refuses (no check of the norm of z)"
        return _EARLIER.get(algorithm.family)

    @cached_property
    def _lenient(self) -> bool:
        try:
            return bool(self.oqs.oqs_version().startswith("0.13.") and "AVX2" in self.options()["cpu"].split())
        except Unsupported:
            return False

    def options(self) -> Mapping[str, str]:
        """Return which instruction sets the library found, and where it lies."""
        has = function(self.native, "OQS_CPU_has_extension", ctypes.c_int)
        present = [name for name, number in (("AES", 2), ("AVX", 3), ("AVX2", 4), ("AVX512", 5)) if has(number)]
        return {"cpu": " ".join(present), "path": str(_prefix() or ctypes.util.find_library("oqs"))}

    def implement(self, algorithm: Algorithm) -> Primitive:
        mechanism = self.mechanism(algorithm)
        if mechanism is None:
            raise Unsupported(f"liboqs does not offer {algorithm.name}")
        from .stateful import StatefulSigner
        from .stateless import Kem, Signer

        made: dict[str, type[Any]] = {"kem": Kem, "signature": StatefulSigner if algorithm.stateful else Signer}
        primitive: Primitive = made[algorithm.kind](algorithm, mechanism, self.oqs)
        return primitive

    @cached_property
    def oqs(self) -> ModuleType:
        """Return liboqs-python, loaded on the library that was found. Raises ``Unsupported`` if there is none."""
        if reason := _absence():
            raise Unsupported(reason)
        with _quiet(_prefix()):
            try:
                import oqs
            except (SystemExit, AttributeError, OSError, RuntimeError) as error:
                raise Unsupported(f"liboqs-python cannot load the library liboqs: {error}") from None
        module: ModuleType = oqs.oqs
        return module

    @property
    def native(self) -> ctypes.CDLL:
        library: ctypes.CDLL = self.oqs.native()
        return library


def _absence() -> str | None:
    """Return what is missing, or None. Looks only; importing liboqs-python without a library would end the interpreter."""
    if importlib.util.find_spec("oqs") is None:
        return "the Python package liboqs-python is missing"
    return None if _prefix() or ctypes.util.find_library("oqs") else "the library liboqs is missing"


def _prefix() -> Path | None:
    """Return the first folder that holds the library, or None; a library of the system is looked for elsewhere."""
    named = os.environ.get("OQS_INSTALL_PATH")
    places = [Path(named)] if named else [provider_folder("liboqs"), Path.home() / "_oqs"]
    return next((place for place in places if shared_object(place, "oqs")), None)


@contextmanager
def _quiet(prefix: Path | None) -> Iterator[None]:
    """Let liboqs-python be imported on the library in ``prefix``, without its line on stdout and its version warning.

    It would prefer a library of the system, and asks a compiler for it at every import; with a prefix it is told of none.
    """
    logging.getLogger("oqs.oqs").disabled = True
    find, named = ctypes.util.find_library, os.environ.get("OQS_INSTALL_PATH")
    if prefix:
        os.environ["OQS_INSTALL_PATH"] = str(prefix)
        ctypes.util.find_library = lambda name: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        ctypes.util.find_library = find
        if prefix and named is None:
            del os.environ["OQS_INSTALL_PATH"]


PROVIDER = LibOqs()
