"""Botan 3 through its C interface: ciphers of every nation, classical and post-quantum schemes, with SIMD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anka_flow.errors import Unsupported
from anka_flow.primitives import Algorithm, Primitive
from anka_flow.provider import Provider

from . import library
from .keys import Scheme

_CURVES = {"P-256": ("secp256r1", "SHA-256"), "P-384": ("secp384r1", "SHA-384"), "P-521": ("secp521r1", "SHA-512")}
_RSA = ("2048", "3072", "4096", "6144", "8192")
_MCELIECE = ("348864", "460896", "6688128", "6960119", "8192128")
_ML_DSA = {"44": "4x4", "65": "6x5", "87": "8x7"}

_KEMS: dict[str, Scheme] = (
    {f"RSA-{bits}": Scheme("RSA", bits, padding="OAEP(SHA-256)") for bits in _RSA}
    | {name: Scheme("ECDH", curve, "ecdh") for name, (curve, _) in _CURVES.items()}
    | {name: Scheme(name, "", name.lower()) for name in ("X25519", "X448")}
    | {f"ML-KEM-{n}": Scheme("ML-KEM", f"ML-KEM-{n}", "ml_kem") for n in ("512", "768", "1024")}
    | {f"FRODO-{n}": Scheme("FrodoKEM", f"eFrodoKEM-{n}-AES", "frodokem") for n in ("976", "1344")}
    | {f"Classic-McEliece-{n}": Scheme("ClassicMcEliece", n, "classic_mceliece") for n in _MCELIECE}
)
_SIGNATURES: dict[str, Scheme] = (
    {f"RSA-{bits}": Scheme("RSA", bits, padding="PSS(SHA-256,MGF1,32)", streams=True) for bits in _RSA}
    | {n: Scheme("ECDSA", curve, "ecdsa", padding=hash_, streams=True) for n, (curve, hash_) in _CURVES.items()}
    | {name: Scheme(name, "", name.lower(), padding="Pure") for name in ("Ed25519", "Ed448")}
    | {f"ML-DSA-{n}": Scheme("ML-DSA", f"ML-DSA-{own}", "ml_dsa", streams=True) for n, own in _ML_DSA.items()}
    | {
        f"SLH-DSA-SHA2-{n}": Scheme("SLH-DSA", f"SLH-DSA-SHA2-{n.lower()}", "slh_dsa")
        for n in ("128F", "128S", "192F", "192S", "256F", "256S")
    }
    | {
        "SM2": Scheme("SM2", "sm2p256v1", padding="1234567812345678,SM3", streams=True),
        "GOST-R34.10-2012-256": Scheme("GOST-34.10", "gost_256A", padding="Streebog-256", streams=True),
        "XMSS": Scheme("XMSS", "XMSS-SHA2_10_256", streams=True),
        "LMS": Scheme("HSS-LMS", "SHA-256,HW(10,4)"),
    }
)
_MACS = (
    {f"HMAC-SHA{bits}": f"HMAC(SHA-{bits})" for bits in ("256", "384", "512")}
    | {f"HMAC-SHA3-{bits}": f"HMAC(SHA-3({bits}))" for bits in ("256", "384", "512")}
    | {f"HMAC-{name}": f"HMAC({name})" for name in ("SM3", "Streebog-256", "Streebog-512")}
    | {"KMAC128": "KMAC-128(256)", "KMAC256": "KMAC-256(512)"}
    | {f"CMAC-AES-{bits}": f"CMAC(AES-{bits})" for bits in ("128", "192", "256")}
)
_SIZES = ("128", "192", "256")
_AEADS = (
    {f"{cipher}-{bits}-GCM": f"{cipher}-{bits}/GCM" for cipher in ("AES", "ARIA", "Camellia") for bits in _SIZES}
    | {f"{cipher}-{bits}-CCM": f"{cipher}-{bits}/CCM(16,4)" for cipher in ("AES", "ARIA") for bits in _SIZES}
    | {"SEED-GCM": "SEED/GCM", "SM4-GCM": "SM4/GCM", "SM4-CCM": "SM4/CCM(16,4)", "ChaCha20-Poly1305": "ChaCha20Poly1305"}
)


def _own_name(scheme: Scheme) -> str:
    return "/".join(part for part in (scheme.create, scheme.params, scheme.padding) if part)


class Botan(Provider):
    """See the module."""

    name = "botan"
    obtain = "run `anka-flow providers install botan`"
    mechanisms = (
        {f"kem:{name}": _own_name(scheme) for name, scheme in _KEMS.items()}
        | {f"signature:{name}": _own_name(scheme) for name, scheme in _SIGNATURES.items()}
        | {f"mac:{name}": own for name, own in _MACS.items()}
        | {f"aead:{name}": own for name, own in _AEADS.items()}
    )

    def unavailable(self) -> str | None:
        try:
            library.load()
        except Unsupported as error:
            return str(error)
        return None

    def version(self) -> str:
        from anka_flow.providers.octets import function

        numbers = [function(library.load().native, f"botan_version_{part}")() for part in ("major", "minor", "patch")]
        return "Botan " + ".".join(str(number) for number in numbers)

    def revision(self, algorithm: Algorithm) -> str:
        texts = {"FRODO": "FrodoKEM round 3 (ISO: eFrodoKEM), AES", "Classic-McEliece": "Classic McEliece round 4"}
        return texts.get(algorithm.family, "")

    def options(self) -> Mapping[str, str]:
        import ctypes

        from anka_flow.providers.octets import function

        native = library.load().native
        text = function(native, "botan_version_string", result=ctypes.c_char_p)()
        return {"build": text.decode(), "path": library.load().path}

    def implement(self, algorithm: Algorithm) -> Primitive:
        if algorithm.kind in ("kem", "signature"):
            return self._keyed(algorithm)
        from .aead import BotanAead
        from .mac import BotanMac

        mechanism = self.mechanism(algorithm)
        if mechanism is None:
            raise Unsupported(f"Botan does not offer {algorithm.name}")
        kinds: dict[str, Any] = {"aead": BotanAead, "mac": BotanMac}
        primitive: Primitive = kinds[algorithm.kind](algorithm, mechanism, library.load())
        return primitive

    def _keyed(self, algorithm: Algorithm) -> Primitive:
        schemes = {"kem": _KEMS, "signature": _SIGNATURES}.get(algorithm.kind, {})
        scheme = schemes.get(algorithm.name)
        if scheme is None:
            raise Unsupported(f"Botan does not offer {algorithm.name}")
        made: Any
        if algorithm.kind == "kem":
            from .kem import BotanKem, CurveKem, OctetKem, RsaKem

            made = {"RSA": RsaKem, "EC": CurveKem, "OKP": OctetKem}.get(algorithm.kty, BotanKem)
        else:
            from . import signature as own

            made = {
                "RSA": own.RsaSigner, "EC": own.CurveSigner, "OKP": own.OctetSigner, "SM2": own.Sm2Signer,
                "GOST-EC": own.GostSigner, "XMSS": own.XmssSigner, "LMS": own.LmsSigner,
            }.get(algorithm.kty, own.BotanSigner)  # fmt: skip
        primitive: Primitive = made(algorithm, scheme, library.load())
        return primitive


PROVIDER = Botan()
