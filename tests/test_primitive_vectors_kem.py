"""Published vectors of key encapsulation, for every provider that offers the algorithm.

No provider takes the randomness of an encapsulation, so vectors run in the direction of decapsulation. A provider whose
private keys have a form of their own is skipped where the vectors have another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from anka_flow.errors import Refused
from anka_flow.primitives import KeyPair

from .offers import algorithm_of, pairs, primitive
from .vector_files import octets, rsp, unbase64url, wycheproof
from .vectors import folder

_ML_KEM = [f"kem:ML-KEM-{size}" for size in (512, 768, 1024)]
_RSP = {
    "HQC-128": "hqc/HQC-1.2025-08", "HQC-192": "hqc/HQC-3.2025-08",
    "sntrup653": "ntruprime/sntrup653", "sntrup761": "ntruprime/sntrup761", "sntrup857": "ntruprime/sntrup857",
    "NTRU-HPS2048509": "ntru/ntruhps2048509", "NTRU-HPS2048677": "ntru/ntruhps2048677",
    "NTRU-HPS4096821": "ntru/ntruhps4096821", "NTRU-HRSS701": "ntru/ntruhrss701",
    "SABER-LightSaber": "saber/lightsaber", "SABER-Saber": "saber/saber", "SABER-FireSaber": "saber/firesaber",
    "BIKE-L1": "bike/BIKE-L1", "BIKE-L3": "bike/BIKE-L3", "BIKE-L5": "bike/BIKE-L5",
}  # fmt: skip
_WITH_RSP = [f"kem:{name}" for name in _RSP]
_OAEP = {
    "kem:RSA-2048": "rsa_oaep_2048_sha256_mgf1sha256", "kem:RSA-3072": "rsa_oaep_3072_sha256_mgf1sha256",
    "wrap:RSA-OAEP": "rsa_oaep_2048_sha1_mgf1sha1", "wrap:RSA-OAEP-256": "rsa_oaep_3072_sha256_mgf1sha256",
    "wrap:RSA-OAEP-512": "rsa_oaep_4096_sha512_mgf1sha512",
}  # fmt: skip
_ECDH = {
    "kem:P-256": "ecdh_secp256r1_webcrypto", "kem:P-384": "ecdh_secp384r1_webcrypto", "kem:P-521": "ecdh_secp521r1_webcrypto",
    "kem:X25519": "x25519_jwk", "kem:X448": "x448_jwk",
}  # fmt: skip


def loaded(made: Any, public: bytes, private: bytes, seed: bytes = b"") -> KeyPair:
    """Return the published key in the provider's own encoding (seed, private alone, or both keys in one), or skip."""
    forms = [seed] if seed else []
    forms += [len(public).to_bytes(4, "big") + public + private, public + private, private]
    for form in forms:
        try:
            pair: KeyPair = made.decode_private(form)
        except Refused:
            continue
        if made.encode_public(pair.public) == public:
            return pair
    pytest.skip("the provider loads no private key of the published form")


def _decapsulated(made: Any, private: Any, ciphertext: bytes) -> bytes | None:
    try:
        return bytes(made.decapsulate(private, ciphertext))
    except Refused:
        return None


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=_WITH_RSP))
def test_reference_answers_decapsulate(provider: str, algorithm: str) -> None:
    """The known answers of the submission decapsulate to their secrets, and the published public key belongs to the private."""
    made = primitive(provider, algorithm)
    seen = 0
    for record in rsp(folder("kat") / f"{_RSP[algorithm_of(algorithm).name]}.rsp"):
        public, private, ciphertext, secret = (octets(record[name]) for name in ("pk", "sk", "ct", "ss"))
        pair = loaded(made, public, private)
        assert made.decapsulate(pair.private, ciphertext) == secret
        seen += 1
    assert seen


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=["kem:HQC-128", "kem:HQC-192"]))
def test_keys_of_the_old_hqc_are_refused(provider: str, algorithm: str) -> None:
    """Keys of HQC as it was in round 4 do not load: the revision of 2025-08 has other sizes."""
    made = primitive(provider, algorithm)
    for record in rsp(folder("kat") / f"hqc/{algorithm_of(algorithm).name}.round4.rsp"):
        with pytest.raises(Refused):
            made.decode_public(octets(record["pk"]))


class MlKemCase(NamedTuple):
    """One decapsulation; ``secret`` is None where the publisher says that it must fail."""

    name: str
    public: bytes
    private: bytes
    seed: bytes
    ciphertext: bytes
    secret: bytes | None


def _expanded(name: str, seed: bytes) -> tuple[bytes, bytes]:
    """Return public and expanded private key of a seed, for providers that load no seed."""
    from Crypto.PublicKey import MLKEM

    key = MLKEM.construct(param_set=MLKEM.ParamSet(name), seed=seed)
    return key.ek, key.expanded_dk


def _acvp_decapsulations(name: str) -> Iterator[MlKemCase]:
    for group in json.loads((folder("acvp") / "ML-KEM-encapDecap.json").read_text())["testGroups"]:
        if group["parameterSet"] != name:
            continue
        for test in group["tests"]:
            private = octets(test.get("dk") or group.get("dk") or "")
            if private:
                public = private[len(private) // 2 - 48 : -64]  # dk = dk_pke || ek || H(ek) || z (FIPS 203, algorithm 16)
                yield MlKemCase(str(test["tcId"]), public, private, b"", octets(test["c"]), octets(test["k"]))


def _wycheproof_decapsulations(name: str) -> Iterator[MlKemCase]:
    size = name.rsplit("-", 1)[1]
    for _, test in wycheproof(folder("wycheproof") / f"mlkem_{size}_test.json"):
        seed = octets(test["seed"])
        if len(seed) == 64:
            public, private = _expanded(name, seed)
            secret = octets(test["K"]) if test["result"] == "valid" else None
            yield MlKemCase(str(test["tcId"]), public, private, seed, octets(test["c"]), secret)


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=_ML_KEM))
@pytest.mark.parametrize("source", [_acvp_decapsulations, _wycheproof_decapsulations])
def test_ml_kem_decapsulates(provider: str, algorithm: str, source: Any) -> None:
    """NIST's and Wycheproof's ciphertexts, valid or implicitly rejected, give their secrets; bad lengths are refused."""
    made = primitive(provider, algorithm)
    wrong, seen = [], 0
    for case in source(algorithm_of(algorithm).name):
        pair = loaded(made, case.public, case.private, case.seed)
        seen += 1
        if _decapsulated(made, pair.private, case.ciphertext) != case.secret:
            wrong.append(case.name)
    assert wrong == []
    assert seen >= 3


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=_ML_KEM))
def test_ml_kem_seeds_make_the_published_keys(provider: str, algorithm: str) -> None:
    """NIST's and Wycheproof's seeds expand to the published public keys."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    keys = [(octets(t["seed"]), octets(t["ek"])) for _, t in wycheproof(_wycheproof_file(row.name, "keygen_seed"))]
    for group in json.loads((folder("acvp") / "ML-KEM-keyGen.json").read_text())["testGroups"]:
        if group["parameterSet"] == row.name:
            keys += [(octets(test["d"] + test["z"]), octets(test["ek"])) for test in group["tests"]]
    for seed, public in keys:
        try:
            pair = made.decode_private(seed)
        except Refused:
            pytest.skip("the provider's private keys are no seeds")
        assert made.encode_public(pair.public) == public
    assert len(keys) >= 4


def _wycheproof_file(name: str, what: str) -> Any:
    return folder("wycheproof") / f"mlkem_{name.rsplit('-', 1)[1]}_{what}_test.json"


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=_ML_KEM))
def test_ml_kem_refuses_public_keys_past_the_modulus(provider: str, algorithm: str) -> None:
    """A public key with a coefficient past the modulus is refused (FIPS 203, 7.2), a valid one is taken."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    wrong = []
    for _, test in wycheproof(_wycheproof_file(row.name, "encaps")):
        try:
            made.encapsulate(made.decode_public(octets(test["ek"])))
            taken = True
        except Refused:
            taken = False
        if taken != (test["result"] == "valid"):
            wrong.append(test["tcId"])
    assert wrong == []


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=_ML_KEM))
def test_ml_kem_expanded_keys_decapsulate(provider: str, algorithm: str) -> None:
    """Expanded private keys that are whole decapsulate; those of a wrong length or hash are refused (FIPS 203, 7.3)."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    wrong, seen = [], 0
    for _, test in wycheproof(_wycheproof_file(row.name, "semi_expanded_decaps")):
        private, public = octets(test["dk"]), octets(test["ek"]) if test.get("ek") else b""
        if test["result"] == "valid":
            pair = loaded(made, public, private)
            seen += 1
            if _decapsulated(made, pair.private, octets(test["c"])) != octets(test["K"]):
                wrong.append(test["tcId"])
        elif _taken(made, row.sizes["public"], private, octets(test["c"])):
            wrong.append(test["tcId"])
    assert wrong == []
    assert seen


def _taken(made: Any, public_bytes: int, private: bytes, ciphertext: bytes) -> bool:
    """Return whether the provider loads the key, in any of its forms, and decapsulates with it."""
    public = private[len(private) // 2 - 48 : -64]
    if len(public) != public_bytes:
        public = bytes(public_bytes)
    for form in (len(public).to_bytes(4, "big") + public + private, public + private):
        try:
            made.decapsulate(made.decode_private(form).private, ciphertext)
        except Refused:
            continue
        return True
    return False


@pytest.mark.parametrize(
    ("provider", "algorithm"), [*pairs("kem", algorithms=list(_OAEP)), *pairs("wrap", algorithms=list(_OAEP))]
)
def test_rsa_oaep_agrees_with_wycheproof(provider: str, algorithm: str) -> None:
    """Wycheproof's ciphertexts without label decrypt to their messages, or are refused."""
    made = primitive(provider, algorithm)
    pair, wrong, seen = None, [], 0
    for group, test in wycheproof(folder("wycheproof") / f"{_OAEP[algorithm]}_test.json"):
        pair = pair or made.decode_private(octets(group["privateKeyPkcs8"]))
        if test["label"]:
            continue
        expected = octets(test["msg"]) if test["result"] == "valid" else None
        try:
            got = made.unwrap(pair.private, octets(test["ct"]))
        except Refused:
            got = None
        seen += 1
        if got != expected:
            wrong.append(test["tcId"])
    assert wrong == []
    assert seen >= 3


def _jwk_public(jwk: dict[str, str]) -> bytes:
    point = unbase64url(jwk["x"])
    return b"\4" + point + unbase64url(jwk["y"]) if jwk["kty"] == "EC" else point


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=list(_ECDH)))
def test_ecdh_agrees_with_wycheproof(provider: str, algorithm: str) -> None:
    """Wycheproof's key agreements give their secrets; points off the curve and small-order points are refused."""
    made = primitive(provider, algorithm)
    wrong, valid = [], 0
    for _, test in wycheproof(folder("wycheproof") / f"{_ECDH[algorithm]}_test.json"):
        if test["private"].get("crv") != test["public"].get("crv") or "d" not in test["private"]:
            continue  # keys of two curves are refused before a primitive sees them
        secret = octets(test["shared"])
        try:
            got = made.decapsulate(made.decode_private(unbase64url(test["private"]["d"])).private, _jwk_public(test["public"]))
        except Refused:
            got = None
        must = test["result"] == "valid"
        valid += must
        if must and got != secret:
            wrong.append(test["tcId"])
        if test["result"] == "acceptable" and got not in (None, secret):
            wrong.append(test["tcId"])
        if algorithm in ("kem:X25519", "kem:X448") and not any(secret) and got is not None:  # RFC 7748, 6
            wrong.append(test["tcId"])
        if test["result"] == "invalid" and "InvalidCurveAttack" in test["flags"] and got is not None:
            wrong.append(test["tcId"])
    assert wrong == []
    assert valid >= 3
