"""What BouncyCastle calls each algorithm: JCA names, parameter sets, and the heads of its public keys. Data only."""

from __future__ import annotations

from dataclasses import dataclass

_GENERAL = "org.bouncycastle.jcajce.spec."
_LATER = "org.bouncycastle.pqc.jcajce.spec."
_BC_ARC = "060b2b0601040181b01a05"  # BouncyCastle's own arc, 1.3.6.1.4.1.22554.5
_NIST = "060960864801650304"
_ISO = "060828818c71020207"


@dataclass(frozen=True)
class Scheme:
    """A JCA algorithm and its provider; ``spec`` is the class and field of the parameter set.

    A public key is a SubjectPublicKeyInfo: ``head`` is its algorithm identifier's content, ``inner`` the DER wrappers (30, 04)
    around the octets within the bit string, ``prefix`` octets before the standard's own. ``private`` is the length of a private
    key in the standard's octets, or of each part where PKCS #8 has them apart. ``operation`` names the signature or
    cipher where it differs from the key's algorithm.
    """

    algorithm: str
    provider: str = "BC"
    spec: tuple[str, str] = ("", "")
    head: str = ""
    inner: str = ""
    prefix: str = ""
    operation: str = ""
    private: tuple[int, ...] = ()
    streams: bool = False


def _own(algorithm: str, spec: str, field: str, head: str, *private: int, inner: str = "", provider: str = "BCPQC") -> Scheme:
    package = _LATER if provider == "BCPQC" else _GENERAL
    return Scheme(algorithm, provider, (package + spec, field), head, inner, private=private)


_HQC = {
    f"HQC-{n}": _own("HQC", "HQCParameterSpec", f"hqc{n}", f"{_BC_ARC}090{end}", private)
    for end, n, private in ((1, 128, 2321), (2, 192, 4602), (3, 256, 7333))
}
_FRODO = {
    f"FRODO-{n}": _own("FRODOKEM", "FrodoKEMParameterSpec", f"efrodokem{n}aes", _ISO + end, private, provider="BC")
    for n, end, private in ((976, "07", 31296), (1344, "08", 43088))
}
_BIKE = {
    f"BIKE-L{level}": _own("BIKE", "BIKEParameterSpec", f"bike{n}", f"{_BC_ARC}080{end}", private)
    for end, level, n, private in ((1, 1, 128, 3114), (2, 3, 192, 6198), (3, 5, 256, 10276))
}
_SABER = {
    f"SABER-{name}": _own("SABER", "SABERParameterSpec", f"{name.lower()}kem256r3", f"{_BC_ARC}030{e}", private, inner="3004")
    for name, e, private in (("LightSaber", 7, 1568), ("Saber", 8, 2304), ("FireSaber", 9, 3040))
}
_NTRU = {
    f"NTRU-{name}": _own("NTRU", "NTRUParameterSpec", f"ntru{name.lower()}", f"{_BC_ARC}050{end}", private)
    for end, name, private in ((1, "HPS2048509", 935), (2, "HPS2048677", 1234), (3, "HPS4096821", 1590), (4, "HRSS701", 1450))
}
_PRIME = {
    f"sntrup{n}": _own(
        "SNTRUPRIME", "SNTRUPrimeParameterSpec", f"sntrup{n}", f"060c{_BC_ARC[4:]}07020{end}", s, s, public, s, 32, inner="04"
    )
    for end, n, s, public in ((1, 653, 164, 994), (2, 761, 191, 1158), (3, 857, 215, 1322))
}
_MCELIECE = {
    f"Classic-McEliece-{n}": _own("CMCE", "CMCEParameterSpec", f"mceliece{n}", _ISO[:-2] + "06" + end, private, provider="BC")
    for n, end, private in (
        ("460896", "01", 13608), ("6688128", "05", 13932), ("6960119", "09", 13948), ("8192128", "0d", 14120)
    )
}  # fmt: skip
_ML_KEM = {
    f"ML-KEM-{n}": _own("ML-KEM", "MLKEMParameterSpec", f"ml_kem_{n}", f"{_NIST}040{i}", provider="BC")
    for i, n in enumerate((512, 768, 1024), 1)
}
_RSA = ("2048", "3072", "4096", "6144", "8192")
_CURVES = {
    "P-256": ("secp256r1", "06072a8648ce3d020106082a8648ce3d030107", "SHA256"),
    "P-384": ("secp384r1", "06072a8648ce3d020106052b81040022", "SHA384"),
    "P-521": ("secp521r1", "06072a8648ce3d020106052b81040023", "SHA512"),
}
_CURVE = "java.security.spec.ECGenParameterSpec"

KEMS: dict[str, Scheme] = {
    **{f"RSA-{n}": Scheme("RSA", spec=("RSA", n), operation="SHA-256") for n in _RSA},
    **{name: Scheme("EC", "BC", (_CURVE, own), head, operation="ECDH") for name, (own, head, _) in _CURVES.items()},
    "X25519": Scheme("X25519", head="06032b656e", operation="X25519"),
    "X448": Scheme("X448", head="06032b656f", operation="X448"),
    **_ML_KEM, **_HQC, **_FRODO, **_BIKE, **_SABER, **_NTRU, **_PRIME, **_MCELIECE,
}  # fmt: skip

SIGNATURES: dict[str, Scheme] = {
    **{f"RSA-{n}": Scheme("RSA", spec=("RSA", n), operation="SHA256WITHRSAANDMGF1", streams=True) for n in _RSA},
    **{
        name: Scheme("EC", "BC", (_CURVE, own), head, operation=f"{digest}WITHPLAIN-ECDSA", streams=True)
        for name, (own, head, digest) in _CURVES.items()
    },
    "Ed25519": Scheme("Ed25519", head="06032b6570", operation="Ed25519"),
    "Ed448": Scheme("Ed448", head="06032b6571", operation="Ed448"),
    "SM2": Scheme("EC", "BC", (_CURVE, "sm2p256v1"), operation="SM3WITHSM2", streams=True),
    "GOST-R34.10-2012-256": Scheme(
        "ECGOST3410-2012", "BC", (_CURVE, "GostR3410-2001-CryptoPro-A"), operation="ECGOST3410-2012-256", streams=True
    ),
    **{
        f"ML-DSA-{n}": Scheme(
            "ML-DSA", "BC", (_GENERAL + "MLDSAParameterSpec", f"ml_dsa_{n}"), f"{_NIST}031{end}", streams=True
        )
        for n, end in (("44", 1), ("65", 2), ("87", 3))
    },
    **{
        f"FALCON-{n}": _own("FALCON", "FalconParameterSpec", f"falcon_{n}", f"06052bce0f030{end}")
        for n, end in (("512", "b"), ("1024", "e"))
    },
    **{
        f"SLH-DSA-SHA2-{n}": _own("SLH-DSA", "SLHDSAParameterSpec", f"slh_dsa_sha2_{n.lower()}", f"{_NIST}03{e}", provider="BC")
        for n, e in (("128S", "14"), ("128F", "15"), ("192S", "16"), ("192F", "17"), ("256S", "18"), ("256F", "19"))
    },
    "XMSS": Scheme("XMSS", "BCPQC", (_LATER + "XMSSParameterSpec", "SHA2_10_256"), "06082b06010505070622", operation="XMSS"),
    "LMS": Scheme("LMS", "BCPQC", ("", "LMS"), "060b2a864886f70d0109100311", prefix="00000001", operation="LMS"),
}  # fmt: skip

MACS: dict[str, str] = {
    **{f"HMAC-{name}": f"HMAC{name}" for name in ("SHA256", "SHA384", "SHA512", "SHA3-256", "SHA3-384", "SHA3-512", "SM3")},
    **{f"HMAC-Streebog-{bits}": f"HMACGOST3411-2012-{bits}" for bits in ("256", "512")},
    "KMAC128": "KMAC128",
    "KMAC256": "KMAC256",
    **{f"CMAC-AES-{bits}": "AESCMAC" for bits in ("128", "192", "256")},
}

AEADS: dict[str, str] = {
    **{f"{c}-{bits}-GCM": f"{c}/GCM/NoPadding" for c in ("AES", "ARIA", "Camellia") for bits in ("128", "192", "256")},
    **{f"{c}-{bits}-CCM": f"{c}/CCM/NoPadding" for c in ("AES", "ARIA") for bits in ("128", "192", "256")},
    **{name: name.replace("-", "/") + "/NoPadding" for name in ("SEED-GCM", "SM4-GCM", "SM4-CCM")},
    "ChaCha20-Poly1305": "CHACHA20-POLY1305",
    "AES-128-CBC-HMAC-SHA256": "AES/CBC/PKCS7Padding HMACSHA256",
    "AES-192-CBC-HMAC-SHA384": "AES/CBC/PKCS7Padding HMACSHA384",
    "AES-256-CBC-HMAC-SHA512": "AES/CBC/PKCS7Padding HMACSHA512",
}

WRAPS: dict[str, Scheme | str] = {
    **{f"AES-{bits}-KW": "AESWRAP" for bits in ("128", "192", "256")},
    **{f"AES-{bits}-GCMKW": "AES/GCM/NoPadding" for bits in ("128", "192", "256")},
    "RSA-OAEP": Scheme("RSA", spec=("RSA", "any"), operation="SHA-1"),
    **{f"RSA-OAEP-{bits}": Scheme("RSA", spec=("RSA", "any"), operation=f"SHA-{bits}") for bits in ("256", "384", "512")},
}


def tlv(tag: int, content: bytes) -> bytes:
    """Return a DER value."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def public_info(scheme: Scheme, raw: bytes) -> bytes:
    """Return the SubjectPublicKeyInfo of a public key's octets."""
    content = bytes.fromhex(scheme.prefix) + raw
    for tag in reversed(bytes.fromhex(scheme.inner)):
        content = tlv(tag, content)
    return tlv(0x30, tlv(0x30, bytes.fromhex(scheme.head)) + tlv(0x03, b"\0" + content))
