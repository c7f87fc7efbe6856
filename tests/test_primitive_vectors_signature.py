"""Published vectors of signatures, for every provider that offers the algorithm: verification, and keys made of seeds."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from anka_flow.errors import Refused, Unsupported

from .offers import algorithm_of, flipped, pairs, primitive
from .vector_files import octets, rsp, vec, wycheproof
from .vectors import folder

_ML_DSA = {"ML-DSA-44": "4x4", "ML-DSA-65": "6x5", "ML-DSA-87": "8x7"}
_ML_DSA_IDS = [f"signature:{name}" for name in _ML_DSA]
_SLH_DSA_RSP = {
    "SLH-DSA-SHA2-128F": "sha2-128f", "SLH-DSA-SHA2-128S": "sha2-128s", "SLH-DSA-SHA2-192S": "sha2-192s",
}  # fmt: skip
_SLH_DSA = [f"signature:SLH-DSA-SHA2-{size}" for size in ("128F", "128S", "192F", "192S", "256F", "256S")]
_VERIFY = {
    "P-256": "ecdsa_secp256r1_sha256_p1363", "P-384": "ecdsa_secp384r1_sha384_p1363", "P-521": "ecdsa_secp521r1_sha512_p1363",
    "Ed25519": "ed25519", "Ed448": "ed448",
    "RSA-2048": "rsa_pss_2048_sha256_mgf1_32", "RSA-3072": "rsa_pss_3072_sha256_mgf1_32",
    "RSA-4096": "rsa_pss_4096_sha256_mgf1_32",
}  # fmt: skip


def verified(made: Any, public: Any, message: bytes, signature: bytes, context: bytes = b"") -> bool:
    """Return the verdict; a refusal counts as a no, and a provider without contexts skips the test."""
    try:
        return bool(made.verify(public, message, signature, context))
    except Refused:
        return False


def _public(group: dict[str, Any]) -> bytes:
    key = group["publicKey"]
    if "modulus" in key:
        return octets(group["publicKeyDer"])
    return octets(key["uncompressed"] if "uncompressed" in key else key["pk"])


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=[f"signature:{name}" for name in _VERIFY]))
def test_signature_agrees_with_wycheproof(provider: str, algorithm: str) -> None:
    """Valid Wycheproof signatures verify, invalid ones do not."""
    made = primitive(provider, algorithm)
    wrong, valid = [], 0
    for group, test in wycheproof(folder("wycheproof") / f"{_VERIFY[algorithm_of(algorithm).name]}_test.json"):
        public = made.decode_public(_public(group))
        verdict = verified(made, public, octets(test["msg"]), octets(test["sig"]))
        valid += verdict
        if test["result"] != "acceptable" and verdict != (test["result"] == "valid"):
            wrong.append(test["tcId"])
    assert wrong == []
    assert valid >= 3


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=_ML_DSA_IDS))
def test_ml_dsa_verifies_wycheproof(provider: str, algorithm: str) -> None:
    """Valid ML-DSA signatures, with and without context, verify; invalid signatures, keys and contexts do not."""
    made = primitive(provider, algorithm)
    wrong, valid = [], 0
    for group, test in wycheproof(folder("wycheproof") / f"mldsa_{algorithm.rsplit('-', 1)[1]}_verify_test.json"):
        try:
            public = made.decode_public(octets(group["publicKey"]))
            verdict = verified(made, public, octets(test["msg"]), octets(test["sig"]), octets(test.get("ctx", "")))
        except Refused:
            verdict = False
        except Unsupported:
            continue  # the provider has no contexts
        valid += verdict
        if verdict != (test["result"] == "valid"):
            wrong.append(test["tcId"])
    assert wrong == []
    assert valid >= 3


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=_ML_DSA_IDS))
def test_ml_dsa_seeds_make_the_published_keys(provider: str, algorithm: str) -> None:
    """Seeds of NIST and Wycheproof expand to the published public keys, and what they sign verifies under those."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    keys = []
    for group in json.loads((folder("acvp") / "ML-DSA-keyGen.json").read_text())["testGroups"]:
        if group["parameterSet"] == row.name:
            keys += [(octets(test["seed"]), octets(test["pk"])) for test in group["tests"]]
    for group, test in wycheproof(folder("wycheproof") / f"mldsa_{row.name[-2:]}_sign_seed_test.json"):
        if test["result"] == "valid":
            keys.append((octets(group["privateSeed"]), octets(group["publicKey"])))
    for seed, public in keys:
        pair = _from_seed(made, seed)
        assert made.encode_public(pair.public) == public
        assert made.verify(made.decode_public(public), b"message", made.sign(pair.private, b"message")) is True
    assert len(keys) >= 4


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=_ML_DSA_IDS))
def test_ml_dsa_signatures_of_seeds_verify(provider: str, algorithm: str) -> None:
    """Wycheproof's deterministic signatures verify under their public keys."""
    made = primitive(provider, algorithm)
    seen = 0
    for group, test in wycheproof(folder("wycheproof") / f"mldsa_{algorithm[-2:]}_sign_seed_test.json"):
        if test["result"] != "valid" or "publicKey" not in group or "msg" not in test:
            continue
        try:
            public = made.decode_public(octets(group["publicKey"]))
            assert made.verify(public, octets(test["msg"]), octets(test["sig"]), octets(test.get("ctx", ""))) is True
        except Unsupported:
            continue  # the provider has no contexts
        seen += 1
    assert seen >= 3


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=_ML_DSA_IDS))
def test_ml_dsa_keys_have_the_published_hash(provider: str, algorithm: str) -> None:
    """Seeds drawn from NIST's generator make public keys with the published SHA3-256 digest."""
    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    seen = 0
    for _, record in vec(folder("kat") / f"mldsa/ml-dsa-{_ML_DSA[row.name]}_Deterministic.vec"):
        pair = _from_seed(made, _nist_random(octets(record["Seed"]), 32))
        assert hashlib.sha3_256(made.encode_public(pair.public)).hexdigest() == record["HashPk"].lower()
        seen += 1
    assert seen


def _nist_random(seed: bytes, size: int) -> bytes:
    """Return the first ``size`` octets (at most 16 or a multiple) of the AES-256 CTR DRBG of NIST's known-answer tests."""
    zero = Cipher(algorithms.AES(bytes(32)), modes.CTR((1).to_bytes(16, "big"))).encryptor()
    mixed = zero.update(seed)  # SP 800-90A r1, 10.2.1.2: the update of an all-zero state
    key, counter = mixed[:32], int.from_bytes(mixed[32:], "big")
    stream = Cipher(algorithms.AES(key), modes.CTR(((counter + 1) % 2**128).to_bytes(16, "big"))).encryptor()
    return stream.update(bytes(size))


def _from_seed(made: Any, seed: bytes) -> Any:
    try:
        return made.decode_private(seed)
    except Refused:
        pytest.skip("the provider's private keys are no seeds")


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=[f"signature:{n}" for n in _SLH_DSA_RSP]))
def test_slh_dsa_answers_verify(provider: str, algorithm: str) -> None:
    """The known answers with contexts verify, and not under another context."""
    made = primitive(provider, algorithm)
    seen = 0
    for record in rsp(folder("kat") / f"slhdsa/{_SLH_DSA_RSP[algorithm_of(algorithm).name]}.rsp"):
        if record["context"] == "none":
            continue  # signed through the internal interface, which adds no context octets
        context = b"" if record["context"] == "zero_length" else octets(record["context"])
        public, message, signature = (octets(record[name]) for name in ("pk", "msg", "sm"))
        key = made.decode_public(public)
        try:
            assert made.verify(key, message, signature, context) is True
            assert made.verify(key, message, signature, context + b"\0" if len(context) < 255 else b"") is False
        except Unsupported as error:
            pytest.skip(str(error))
        seen += 1
    assert seen


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=["signature:SLH-DSA-SHA2-128F"]))
def test_slh_dsa_agrees_with_acvp(provider: str, algorithm: str) -> None:
    """NIST's pure signature with a context verifies; its pre-hashed one does not, which is another algorithm."""
    made = primitive(provider, algorithm)
    data = json.loads((folder("acvp") / "SLH-DSA-128f-context.json").read_text())
    for case, pure in ((data["sigVer"], True), (data["sigGen"], False)):  # sigGen is HashSLH-DSA with SHA3-512
        public, message, context, signature = (octets(case[name]) for name in ("pk", "message", "context", "signature"))
        try:
            assert made.verify(made.decode_public(public), message, signature, context) is pure
        except Unsupported as error:
            pytest.skip(str(error))


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=_SLH_DSA))
def test_slh_dsa_keys_of_acvp_sign(provider: str, algorithm: str) -> None:
    """NIST's private keys load and make signatures that verify under NIST's public keys."""
    from .test_primitive_vectors_kem import loaded

    made, row = primitive(provider, algorithm), algorithm_of(algorithm)
    for group in json.loads((folder("acvp") / "SLH-DSA-keyGen.json").read_text())["testGroups"]:
        if group["parameterSet"].upper() != row.name:
            continue
        test = group["tests"][0]
        pair = loaded(made, octets(test["pk"]), octets(test["sk"]))
        assert made.verify(made.decode_public(octets(test["pk"])), b"message", made.sign(pair.private, b"message")) is True
        return
    pytest.fail("no such parameter set")


@pytest.mark.parametrize(
    ("provider", "algorithm"), pairs("signature", algorithms=["signature:FALCON-512", "signature:FALCON-1024"])
)
def test_falcon_answers_verify(provider: str, algorithm: str) -> None:
    """The known answers of the submission verify, once their parts are put in the order of a detached signature."""
    made = primitive(provider, algorithm)
    size = algorithm.rsplit("-", 1)[1]
    seen = 0
    for record in rsp(folder("kat") / f"falcon/falcon{size}.rsp"):
        signed, message = octets(record["sm"]), octets(record["msg"])
        length = int.from_bytes(signed[:2], "big")
        assert signed[42 : 42 + len(message)] == message
        compressed = signed[-length:]
        # Signed message: length, nonce, message, header 0x20 + log n, s2. Detached: header 0x30 + log n, nonce, s2.
        signature = bytes([compressed[0] | 0x10]) + signed[2:42] + compressed[1:]
        assert made.verify(made.decode_public(octets(record["pk"])), message, signature) is True
        assert verified(made, made.decode_public(octets(record["pk"])), message + b"\0", signature) is False
        seen += 1
    assert seen


@pytest.mark.parametrize(
    ("provider", "algorithm"), pairs("signature", algorithms=["signature:FALCON-512", "signature:FALCON-1024"])
)
def test_a_falcon_signature_filled_up_with_zeros_is_refused(provider: str, algorithm: str) -> None:
    """One signature has one encoding: the padded format is another one, and nothing here makes it."""
    made = primitive(provider, algorithm)
    pair = made.generate()
    signature = bytes(made.sign(pair.private, b"message"))
    assert made.verify(pair.public, b"message", signature) is True
    filled = {"signature:FALCON-512": 666, "signature:FALCON-1024": 1280}[algorithm]  # PADDED lengths of the specification
    for length in {filled, len(signature) + 1, len(signature) + 3} - set(range(len(signature) + 1)):
        assert verified(made, pair.public, b"message", signature.ljust(length, b"\0")) is False


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=["signature:XMSS"]))
def test_xmss_answers_verify(provider: str, algorithm: str) -> None:
    """XMSS-SHA2_10_256 signatures of the reference implementation and of Botan's files verify, changed ones do not."""
    made = primitive(provider, algorithm)
    cases = []
    records = list(rsp(folder("kat") / "xmss/XMSS-SHA2_10_256.rsp"))
    public = next(record["pk"] for record in records if "pk" in record)
    cases += [(public, record["msg"], record["sm"]) for record in records if "sm" in record]
    for record in rsp(folder("kat") / "xmss/xmss_verify.vec"):
        if record["Params"] == "SHA2_10_256":
            cases.append((record["PublicKey"], record["Msg"], record["Signature"]))
    for record in rsp(folder("kat") / "xmss/xmss_sig.vec"):
        if record["Params"] == "SHA2_10_256":  # a private key of Botan's begins with the public key
            cases.append((record["PrivateKey"][:136], record["Msg"], record["Signature"]))
    for key, message, signature in cases:
        handle = made.decode_public(octets(key))
        assert made.verify(handle, octets(message), octets(signature)) is True
        assert verified(made, handle, octets(message) + b"\0", octets(signature)) is False
    assert len(cases) >= 5


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=["signature:XMSS"]))
def test_xmss_of_another_parameter_set_is_refused(provider: str, algorithm: str) -> None:
    """Public keys of taller trees are no keys of this algorithm, or verify nothing."""
    made = primitive(provider, algorithm)
    for height in (16, 20):
        records = list(rsp(folder("kat") / f"xmss/XMSS-SHA2_{height}_256.rsp"))
        public = octets(next(record["pk"] for record in records if "pk" in record))
        record = next(record for record in records if "sm" in record)
        try:
            handle = made.decode_public(public)
        except Refused:
            continue
        assert verified(made, handle, octets(record["msg"]), octets(record["sm"])) is False


def _lms_cases() -> list[tuple[bytes, bytes, bytes]]:
    """Return (bare LMS public key, message, bare LMS signature) of H10 with W4; HSS of one level loses its level octets."""
    cases = []
    folder_ = folder("kat") / "lms"
    one: dict[str, str] = {}
    for record in rsp(folder_ / "LMS_SHA256_H10_W4.rsp"):
        one |= record
    cases.append((octets(one["pk"])[4:], octets(one["msg"]), octets(one["sm"])[4:]))
    for record in rsp(folder_ / "hss_lms_verify.vec"):
        public, signature = octets(record["PublicKey"]), octets(record["Signature"])
        if public[4:12] != bytes.fromhex("0000000600000003"):
            continue
        if public[:4] == b"\0\0\0\1":
            cases.append((public[4:], octets(record["Msg"]), signature[4:]))
        elif public[:4] == b"\0\0\0\2":  # RFC 8554, test case 2: the top tree signs the public key below it
            cases.append((public[4:], signature[4 + 2508 : 4 + 2508 + 56], signature[4 : 4 + 2508]))
    return cases


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=["signature:LMS"]))
def test_lms_answers_verify(provider: str, algorithm: str) -> None:
    """LMS signatures of RFC 8554 (test case 2, the upper tree) and of the reference code verify, changed ones do not."""
    made = primitive(provider, algorithm)
    cases = _lms_cases()
    for public, message, signature in cases:
        handle = made.decode_public(public)
        assert made.verify(handle, message, signature) is True
        assert verified(made, handle, message + b"\0", signature) is False
        assert verified(made, handle, message, flipped(signature, 40)) is False
    assert len(cases) >= 2


@pytest.mark.parametrize(("provider", "algorithm"), pairs("signature", algorithms=["signature:LMS"]))
def test_lms_refuses_invalid_signatures(provider: str, algorithm: str) -> None:
    """Signatures with a wrong type, length or tree do not verify."""
    made = primitive(provider, algorithm)
    seen = 0
    for record in rsp(folder("kat") / "lms/hss_lms_invalid.vec"):
        public = octets(record["PublicKey"])[4:]
        if public[:8] != bytes.fromhex("0000000600000003"):
            continue
        message, signature = octets(record["Msg"]), octets(record["InvalidSignature"])
        if message[:8] == bytes.fromhex("0000000500000004"):
            continue  # the top tree's valid signature of the key below it: invalid as HSS only
        seen += 1
        assert verified(made, made.decode_public(public), message, signature[4:]) is False
    assert seen
