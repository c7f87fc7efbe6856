"""JWE against tokens that others made: RFC 7520, RFC 8037, draft-ietf-jose-pqc-kem-05, Wycheproof."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from anka_flow import Key, Refused
from anka_flow.jose import kdf
from anka_flow.jose.encoding import b64u_decode, parse_header
from anka_flow.jose.jwe import decrypt_compact
from anka_flow.jose.jwe_json import decrypt_general
from anka_flow.jose.stream import decrypt_stream
from anka_flow.streams import Arena, BytesSource

from . import jwe_keys
from .vector_files import octets, vec, wycheproof
from .vectors import folder

COOKBOOK = {
    "5_2.key_encryption_using_rsa-oaep_with_aes-gcm": "RSA-OAEP",
    "5_3.key_wrap_using_pbes2-aes-keywrap_with-aes-cbc-hmac-sha2": "PBES2-HS512+A256KW",
    "5_4.key_agreement_with_key_wrapping_using_ecdh-es_and_aes-keywrap_with_aes-gcm": "ECDH-ES+A128KW",
    "5_5.key_agreement_using_ecdh-es_with_aes-cbc-hmac-sha2": "ECDH-ES",
    "5_6.direct_encryption_using_aes-gcm": "dir",
    "5_7.key_wrap_using_aes-gcm_keywrap_with_aes-cbc-hmac-sha2": "A256GCMKW",
    "5_8.key_wrap_using_aes-keywrap_with_aes-gcm": "A128KW",
    "5_10.including_additional_authentication_data": "A128KW",
    "5_11.protecting_specific_header_fields": "A128KW",
    "5_12.protecting_content_only": "A128KW",
}


def cookbook(name: str) -> dict[str, Any]:
    return json.loads((folder("cookbook") / f"{name}.json").read_text())


def open_example(example: dict[str, Any], key: Key, enc: str) -> set[bytes]:
    """Return what each form of an example's output decrypts to."""
    content, output = jwe_keys.aead(enc), example["output"]
    found = set()
    if "compact" in output:
        found.add(bytes(decrypt_compact(key, output["compact"].encode(), content)))
    for form in ("json", "json_flat"):
        if form in output:
            found.add(bytes(decrypt_general(key, json.dumps(output[form], indent=1).encode(), content)))
    return found


@pytest.mark.parametrize("name", COOKBOOK)
def test_rfc_7520_tokens_open_in_every_form(name: str) -> None:
    """The compact, General and Flattened tokens of RFC 7520, 5 open to the published plaintext."""
    example = cookbook(f"jwe/{name}")
    alg, enc = COOKBOOK[name], example["input"]["enc"]
    if alg.startswith("PBES2"):
        chosen = jwe_keys.mode(alg)
        key = Key(chosen, chosen.decode_private(example["input"]["pwd"].encode()))
    else:
        key = jwe_keys.key_of(example["input"]["key"], alg, enc)
    assert open_example(example, key, enc) == {example["input"]["plaintext"].encode()}


@pytest.mark.parametrize(("at", "alg"), [(1, "ECDH-ES+A256KW"), (2, "A256GCMKW")])
def test_rfc_7520_token_of_several_recipients_opens_for_each(at: int, alg: str) -> None:
    """RFC 7520, 5.13: each recipient whose algorithm is served here opens the token with its own key."""
    example = cookbook("jwe/5_13.encrypting_to_multiple_recipients")
    key = jwe_keys.key_of(example["input"]["key"][at], alg)
    assert open_example(example, key, "A128CBC-HS256") == {example["input"]["plaintext"].encode()}


def test_rfc_7520_compressed_token_is_refused() -> None:
    """RFC 7520, 5.9 carries ``zip``: a valid token, but nothing is ever decompressed here."""
    example = cookbook("jwe/5_9.compressed_content")
    key = jwe_keys.key_of(example["input"]["key"], "A128KW")
    for token in (example["output"]["json"], example["output"]["json_flat"]):
        with pytest.raises(Refused):
            decrypt_general(key, json.dumps(token).encode(), jwe_keys.aead("A128GCM"))
    with pytest.raises(Refused):
        decrypt_compact(key, example["output"]["compact"].encode(), jwe_keys.aead("A128GCM"))


def test_rfc_7520_rsa1_5_token_is_refused() -> None:
    """RFC 7520, 5.1 uses RSAES-PKCS1-v1_5, which no key here accepts."""
    example = cookbook("jwe/5_1.key_encryption_using_rsa_v15_and_aes-hmac-sha2")
    key = jwe_keys.key_of(example["input"]["key"], "RSA-OAEP")
    with pytest.raises(Refused):
        decrypt_compact(key, example["output"]["compact"].encode(), jwe_keys.aead("A128CBC-HS256"))


def test_rfc_8037_ecdh_es_with_x25519_opens() -> None:
    """The X25519 example of the cookbook (RFC 8037, appendix A.6 in a token) opens."""
    example = cookbook("curve25519/ecdh-es")
    key = jwe_keys.key_of(example["input"]["key"], "ECDH-ES")
    assert open_example(example, key, example["input"]["enc"]) == {example["input"]["plaintext"].encode()}


def pqc_kem() -> dict[str, Any]:
    return json.loads((folder("jose-pqc-kem") / "vectors.json").read_text())


@pytest.mark.parametrize("at", range(6))
def test_pqc_kem_flattened_tokens_open(at: int) -> None:
    """draft-ietf-jose-pqc-kem-05: all three ML-KEM sizes, direct and with key wrapping, with ``aad``."""
    example = pqc_kem()["flattened"][at]
    header = parse_header(b64u_decode(example["jwe"]["protected"].encode()))
    key = jwe_keys.key_of(example["priv"], header["alg"])
    plain = decrypt_general(key, json.dumps(example["jwe"]).encode(), jwe_keys.aead(header["enc"]))
    assert plain == pqc_kem()["plaintext"].encode()


@pytest.mark.parametrize("at", range(2))
def test_pqc_kem_compact_tokens_open(at: int) -> None:
    """draft-ietf-jose-pqc-kem-05: ML-KEM-512 in compact serialization, direct and with key wrapping."""
    example = pqc_kem()["compact"][at]
    key = jwe_keys.key_of(pqc_kem()["flattened"][0]["priv"], example["alg"])
    assert decrypt_compact(key, example["jwe"].encode(), jwe_keys.aead("A128GCM")) == pqc_kem()["plaintext"].encode()


@pytest.mark.parametrize("at", range(2))
def test_pqc_kem_token_of_two_recipients_opens_for_each(at: int) -> None:
    """draft-ietf-jose-pqc-kem-05: both keys open the General token; both recipients have the same ``alg``."""
    example = pqc_kem()["general"]
    key = jwe_keys.key_of(example["recipients_jwk"][at], "ML-KEM-512+A128KW")
    plain = decrypt_general(key, json.dumps(example["jwe"]).encode(), jwe_keys.aead("A128GCM"))
    assert plain == pqc_kem()["plaintext"].encode()


@pytest.mark.parametrize("at", range(2))
def test_pqc_kem_kdf_gives_the_published_key(at: int) -> None:
    """draft-ietf-jose-pqc-kem-05: KMAC256 over the shared secret, for the direct and the wrapping form."""
    example = pqc_kem()["kdf"][at]
    length = example["output_length_bits"] // 8
    found = kdf.kmac_kdf(jwe_keys.kmac(), octets(example["shared_secret"]), example["algorithm_id"], length)
    assert found == octets(example["derived_key"])


def _wycheproof_key(group: dict[str, Any], alg: str, enc: str) -> Key | None:
    """Return the group's key, used as its own ``alg`` says; None if that is not served here, or is no key of JOSE."""
    try:
        return jwe_keys.key_of(group["private"], alg, enc)
    except (Refused, StopIteration, KeyError):
        return None


def test_wycheproof_tokens_are_judged_as_published() -> None:
    """Valid tokens open, invalid ones are refused; compressed ones, and RSA1_5 keys, are refused on purpose."""
    counts: Counter[str] = Counter()
    for group, test in wycheproof(folder("wycheproof") / "json_web_encryption_test.json"):
        compact = type(test["jwe"]) is str and not test["jwe"].lstrip().startswith("{")
        alg, enc = group["private"].get("alg", ""), test.get("enc", "A128GCM")
        key = _wycheproof_key(group, alg, enc)
        if key is None:
            counts[f"not served: {alg}"] += 1
            continue
        try:
            text = test["jwe"] if type(test["jwe"]) is str else json.dumps(test["jwe"])
            plain = (decrypt_compact if compact else decrypt_general)(key, text.encode(), jwe_keys.aead(enc))
        except Refused:
            assert test["result"] == "invalid" or "CompressedPlaintext" in test["flags"], test
            counts["refused"] += 1
        else:
            assert test["result"] == "valid", test
            assert plain == octets(test["pt"])
            counts["opened"] += 1
    assert counts["opened"] >= 50, counts
    assert counts["refused"] >= 30, counts


@pytest.mark.parametrize("digest", ["sha256", "sha384", "sha512"])
def test_hkdf_agrees_with_wycheproof(digest: str) -> None:
    """HKDF (RFC 5869) gives the published output, and refuses outputs that are too long."""
    for _, test in wycheproof(folder("wycheproof") / f"hkdf_{digest}_test.json"):
        key = kdf.hkdf_extract(digest, octets(test["salt"]), octets(test["ikm"]))
        if test["result"] == "invalid":
            with pytest.raises(ValueError, match="HKDF gives at most"):
                kdf.hkdf_expand(digest, key, octets(test["info"]), test["size"])
        else:
            assert kdf.hkdf_expand(digest, key, octets(test["info"]), test["size"]) == octets(test["okm"])


def test_hkdf_agrees_with_rfc_5869() -> None:
    """The vectors of RFC 5869 and those beside them, for SHA-1, SHA-256 and SHA-512."""
    names = {f"HKDF(HMAC(SHA-{n}))": f"sha{n}" for n in (1, 256, 384, 512)}
    count = 0
    for section, record in vec(folder("kdf") / "hkdf.vec"):
        if section not in names:
            continue
        wanted = octets(record["Output"])
        key = kdf.hkdf_extract(names[section], octets(record.get("Salt", "")), octets(record["Secret"]))
        assert kdf.hkdf_expand(names[section], key, octets(record.get("Label", "")), len(wanted)) == wanted
        count += 1
    assert count >= 10


def test_concat_kdf_agrees_with_rfc_7518() -> None:
    """RFC 7518, appendix C: the key that Alice and Bob agree on."""
    secret = bytes([
        158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156,
        251, 49, 110, 163, 218, 128, 106, 72, 246, 218, 167, 121, 140, 254, 144, 196,
    ])  # fmt: skip
    found = kdf.concat_kdf(secret, "A128GCM", 16, apu=b"Alice", apv=b"Bob")
    assert found == b64u_decode(b"VqqN6vgjbSBcIijNcacQGg")


def test_streaming_opens_a_token_that_was_not_streamed() -> None:
    """A published General token with its members in JWE order opens in a stream too."""
    example = cookbook("jwe/5_8.key_wrap_using_aes-keywrap_with_aes-gcm")
    published = example["output"]["json"]
    token = {name: published[name] for name in ("protected", "recipients", "iv", "ciphertext", "tag")}
    key, sink = jwe_keys.key_of(example["input"]["key"], "A128KW"), Arena(4096)
    decrypt_stream(key, BytesSource(json.dumps(token).encode()), sink, jwe_keys.aead("A128GCM"))
    assert bytes(sink.view) == example["input"]["plaintext"].encode()
