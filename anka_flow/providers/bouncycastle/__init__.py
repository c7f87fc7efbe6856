"""BouncyCastle through JPype: nearly everything in one library, in Java. The machine starts on first use only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anka_flow.errors import Unsupported
from anka_flow.primitives import Algorithm, Primitive
from anka_flow.provider import Provider

from . import jvm
from .scheme import AEADS, KEMS, MACS, SIGNATURES, WRAPS, Scheme

_TABLES: Mapping[str, Mapping[str, Any]] = {
    "kem": KEMS,
    "signature": SIGNATURES,
    "mac": MACS,
    "aead": AEADS,
    "wrap": WRAPS,
}
_CUT = {"BIKE-L1": 16, "BIKE-L3": 24}


def _own_name(scheme: Scheme | str) -> str:
    if isinstance(scheme, str):
        return scheme
    return "/".join(part for part in (scheme.algorithm, scheme.spec[1], scheme.operation) if part)


MECHANISMS = {f"{kind}:{name}": _own_name(own) for kind, table in _TABLES.items() for name, own in table.items()}


class BouncyCastle(Provider):
    """See the module."""

    name = "bouncycastle"
    obtain = "run `anka-flow providers install bouncycastle`"
    mechanisms = MECHANISMS
    jit = True  # its first hundred calls are 2 to 6 times slower than the rest

    def unavailable(self) -> str | None:
        return jvm.missing()

    def version(self) -> str:
        running = jvm.machine()
        return f"BouncyCastle {running.provider('BC').getVersionStr()} (Java {running.property('java.version')})"

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
        if algorithm.name in _CUT:
            return f"BouncyCastle cuts the secret of {algorithm.name} to {_CUT[algorithm.name]} octets; BIKE 5.1 has 32"
        return None

    def options(self) -> Mapping[str, str]:
        running = jvm.machine()
        names = {"java": "java.runtime.version", "machine": "java.vm.name", "home": "java.home"}
        return {key: running.property(name) for key, name in names.items()} | {"jar": str(jvm.jar())}

    def implement(self, algorithm: Algorithm) -> Primitive:
        own = _TABLES[algorithm.kind].get(algorithm.name) or self.mechanism(algorithm)
        if own is None:
            raise Unsupported(f"BouncyCastle does not offer {algorithm.name}")
        made, running = _class(algorithm), jvm.machine()
        try:
            primitive: Primitive = made(algorithm, own, running)
        except (running.failure, TypeError, AttributeError) as error:
            raise Unsupported(f"this BouncyCastle does not have {algorithm.name}: {error}") from None
        return primitive


def _class(algorithm: Algorithm) -> Any:
    """Return what makes the algorithm usable; the modules are imported with the first algorithm of their kind."""
    if algorithm.kind == "kem":
        return _kem(algorithm)
    if algorithm.kind == "signature":
        return _signer(algorithm)
    if algorithm.kind == "mac":
        from .mac import JavaMac

        return JavaMac
    if algorithm.family == "AES-CBC-HMAC":
        from .composed import CbcHmac

        return CbcHmac
    if algorithm.kind == "aead":
        from .aead import JavaAead

        return JavaAead
    from . import kem, wrap

    return {"AES-KW": wrap.AesKw, "AES-GCMKW": wrap.AesGcmKw, "RSA-OAEP": kem.RsaOaep}[algorithm.family]


def _kem(algorithm: Algorithm) -> Any:
    from .kem import CurveKem, OctetKem, RsaOaep, SeedKem, SubmissionKem

    return {"RSA": RsaOaep, "EC": CurveKem, "OKP": OctetKem, "ML-KEM": SeedKem}.get(algorithm.kty, SubmissionKem)


def _signer(algorithm: Algorithm) -> Any:
    from . import signature as own

    return {
        "RSA": own.RsaSigner, "EC": own.CurveSigner, "OKP": own.OctetSigner, "SM2": own.Sm2Signer, "GOST-EC": own.GostSigner,
        "ML-DSA": own.SeedSigner, "XMSS": own.StatefulSigner, "LMS": own.StatefulSigner,
    }.get(algorithm.kty, own.JavaSigner)  # fmt: skip


PROVIDER = BouncyCastle()
