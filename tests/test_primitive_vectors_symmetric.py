"""Published vectors of AEADs, MACs and key wraps, for every provider that offers the algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from anka_flow.errors import Refused

from .offers import algorithm_of, pairs, primitive
from .vector_files import octets, rsp, vec, wycheproof
from .vectors import folder

_WYCHEPROOF_AEAD = {
    "AES-GCM": "aes_gcm", "AES-CCM": "aes_ccm", "ChaCha20-Poly1305": "chacha20_poly1305", "SM4-GCM": "sm4_gcm",
    "SM4-CCM": "sm4_ccm", "ARIA-GCM": "aria_gcm", "ARIA-CCM": "aria_ccm", "SEED-GCM": "seed_gcm",
}  # fmt: skip
_WYCHEPROOF_MAC = {
    "HMAC-SHA256": "hmac_sha256", "HMAC-SHA384": "hmac_sha384", "HMAC-SHA512": "hmac_sha512",
    "HMAC-SHA3-256": "hmac_sha3_256", "HMAC-SHA3-384": "hmac_sha3_384", "HMAC-SHA3-512": "hmac_sha3_512",
    "HMAC-SM3": "hmac_sm3", "KMAC128": "kmac128_no_customization", "KMAC256": "kmac256_no_customization",
    "CMAC-AES-128": "aes_cmac", "CMAC-AES-192": "aes_cmac", "CMAC-AES-256": "aes_cmac",
}  # fmt: skip
_BOTAN_MAC = {
    "HMAC-SHA256": ("hmac", "HMAC(SHA-256)"), "HMAC-SHA384": ("hmac", "HMAC(SHA-384)"),
    "HMAC-SHA512": ("hmac", "HMAC(SHA-512)"), "HMAC-SHA3-256": ("hmac", "HMAC(SHA-3(256))"),
    "HMAC-SHA3-384": ("hmac", "HMAC(SHA-3(384))"), "HMAC-SHA3-512": ("hmac", "HMAC(SHA-3(512))"),
    "CMAC-AES-128": ("cmac", "CMAC(AES-128)"), "CMAC-AES-192": ("cmac", "CMAC(AES-192)"),
    "CMAC-AES-256": ("cmac", "CMAC(AES-256)"), "KMAC128": ("kmac", "KMAC-128(256)"), "KMAC256": ("kmac", "KMAC-256(512)"),
}  # fmt: skip


class AeadCase(NamedTuple):
    """One vector; ``valid`` is what the publisher says."""

    name: str
    key: bytes
    nonce: bytes
    aad: bytes
    data: bytes
    sealed: bytes
    valid: bool = True


def _ids(kind: str, names: Any) -> list[str]:
    return [a.id for a in map(algorithm_of, _all(kind)) if a.name in names or a.family in names]


def _all(kind: str) -> list[str]:
    from .offers import CATALOG

    return [key for key in CATALOG.algorithms if key.startswith(kind)]


def _wycheproof_aead(algorithm: Any) -> Iterator[AeadCase]:
    for group, test in wycheproof(folder("wycheproof") / f"{_WYCHEPROOF_AEAD[algorithm.family]}_test.json"):
        if group["keySize"] != 8 * algorithm.sizes["key"] or group["tagSize"] != 128:
            continue
        key, nonce, aad, data = (octets(test[name]) for name in ("key", "iv", "aad", "msg"))
        sealed = octets(test["ct"] + test["tag"])
        yield AeadCase(f"wycheproof {test['tcId']}", key, nonce, aad, data, sealed, test["result"] == "valid")


def _botan_aead(algorithm: Any) -> Iterator[AeadCase]:
    mode = algorithm.name.rsplit("-", 1)[1].lower()
    cipher = algorithm.name.rsplit("-", 1)[0]
    wanted = {"gcm": (f"{cipher}/GCM",), "ccm": (f"{cipher}/CCM(16,{width})" for width in range(2, 9))}[mode]
    sections = set(wanted)
    for number, (section, record) in enumerate(vec(folder("aead") / f"{mode}.vec")):
        if section in sections and record.get("Nonce"):
            key, nonce, aad, data, sealed = (octets(record.get(n, "")) for n in ("Key", "Nonce", "AD", "In", "Out"))
            yield AeadCase(f"{mode}.vec {number}", key, nonce, aad, data, sealed)


def _holds(made: Any, case: AeadCase) -> bool:
    """Return whether sealing gives the published octets and opening gives the data back, or refuses an invalid case.

    A provider may refuse nonces of another length than the catalog's.
    """
    key = made.decode_private(case.key).private
    if not case.valid:
        with pytest.raises(Refused):
            made.open(key, case.nonce, case.sealed, case.aad)
        return True
    try:
        sealed = made.seal(key, case.nonce, case.data, case.aad)
    except Refused:
        return len(case.nonce) != made.nonce_bytes
    return sealed == case.sealed and made.open(key, case.nonce, case.sealed, case.aad) == case.data


@pytest.mark.parametrize(("provider", "algorithm"), pairs("aead", algorithms=_ids("aead", _WYCHEPROOF_AEAD)))
def test_aead_agrees_with_wycheproof(provider: str, algorithm: str) -> None:
    """Every Wycheproof case of the algorithm's key and tag size seals to its octets, or is refused."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    cases = list(_wycheproof_aead(row))
    assert [case.name for case in cases if not _holds(made, case)] == []
    assert sum(case.valid and len(case.nonce) == made.nonce_bytes for case in cases) >= 1


@pytest.mark.parametrize(("provider", "algorithm"), pairs("aead", algorithms=_ids("aead", ("AES-GCM", "ARIA-GCM", "SM4-GCM"))))
def test_gcm_agrees_with_nist_and_rfc_8998(provider: str, algorithm: str) -> None:
    """The GCM specification's cases, RFC 8998's for SM4 and OpenSSL's for ARIA."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    cases = list(_botan_aead(row))
    assert [case.name for case in cases if not _holds(made, case)] == []
    assert cases


@pytest.mark.parametrize(("provider", "algorithm"), pairs("aead", algorithms=["aead:AES-128-CCM", "aead:SM4-CCM"]))
def test_ccm_agrees_with_nist_and_rfc_8998(provider: str, algorithm: str) -> None:
    """The CCM cases that NIST and RFC 8998 publish with a tag of 16 octets, at the nonce lengths that the provider takes."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    cases = list(_botan_aead(row))
    assert [case.name for case in cases if not _holds(made, case)] == []
    assert cases


@pytest.mark.parametrize(("provider", "algorithm"), pairs("mac", algorithms=_ids("mac", _WYCHEPROOF_MAC)))
def test_mac_agrees_with_wycheproof(provider: str, algorithm: str) -> None:
    """Every valid Wycheproof tag of the algorithm's size is made, and no invalid one; shorter tags are the start of ours."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    wrong, valid = [], 0
    for group, test in wycheproof(folder("wycheproof") / f"{_WYCHEPROOF_MAC[row.name]}_test.json"):
        whole = group["tagSize"] == 8 * row.sizes["tag"]
        truncates = row.family != "KMAC"  # the length enters KMAC's tag
        if (row.family == "CMAC" and group["keySize"] != 8 * row.sizes["key"]) or not (whole or truncates):
            continue
        made_tag = made.tag(made.decode_private(octets(test["key"])).private, octets(test["msg"]))
        same = made_tag[: group["tagSize"] // 8] == octets(test["tag"])
        valid += same
        if same != (test["result"] == "valid"):
            wrong.append(test["tcId"])
    assert wrong == []
    assert valid >= 3


@pytest.mark.parametrize(("provider", "algorithm"), pairs("mac", algorithms=_ids("mac", _BOTAN_MAC)))
def test_mac_agrees_with_the_standards_examples(provider: str, algorithm: str) -> None:
    """The examples of RFC 4231, NIST's HMAC-SHA3, SP 800-38B and SP 800-185."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    file, section = _BOTAN_MAC[row.name]
    wrong, seen = [], 0
    for number, (at, record) in enumerate(vec(folder("mac") / f"{file}.vec")):
        if at == section and not record.get("Nonce") and not record.get("IV") and not record.get("Label"):
            seen += 1
            tag = made.tag(made.decode_private(octets(record["Key"])).private, octets(record["In"]))
            if tag != octets(record["Out"]):
                wrong.append(number)
    assert wrong == []
    assert seen


@pytest.mark.parametrize(("provider", "algorithm"), pairs("wrap", algorithms=_ids("wrap", ("AES-KW",))))
def test_key_wrap_agrees_with_rfc_3394(provider: str, algorithm: str) -> None:
    """RFC 3394's examples wrap and unwrap."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    seen = 0
    for record in rsp(folder("keywrap") / "rfc3394.vec"):
        if len(octets(record["KEK"])) == row.sizes["key"]:
            seen += 1
            key = made.decode_private(octets(record["KEK"])).private
            assert made.wrap(key, octets(record["Key"])) == octets(record["Output"])
            assert made.unwrap(key, octets(record["Output"])) == octets(record["Key"])
    assert seen


@pytest.mark.parametrize(("provider", "algorithm"), pairs("wrap", algorithms=_ids("wrap", ("AES-KW",))))
def test_key_wrap_agrees_with_wycheproof(provider: str, algorithm: str) -> None:
    """Valid Wycheproof wraps unwrap to their keys; invalid ones are refused."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    seen = 0
    for group, test in wycheproof(folder("wycheproof") / "aes_wrap_test.json"):
        if group["keySize"] != 8 * row.sizes["key"]:
            continue
        key, content, wrapped = made.decode_private(octets(test["key"])).private, octets(test["msg"]), octets(test["ct"])
        if test["result"] == "valid":
            seen += 1
            assert made.wrap(key, content) == wrapped
            assert made.unwrap(key, wrapped) == content
        elif test["result"] == "invalid":
            with pytest.raises(Refused):
                made.unwrap(key, wrapped)
    assert seen >= 3
