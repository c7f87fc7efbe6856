"""JWS against published vectors: RFC 7515, 7520, 7797, 8037, 9964, the cookbook, Wycheproof. Composites have their own file."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from anka_flow.errors import Refused
from anka_flow.jose.jws import signer_of, signing_input, verify_compact
from anka_flow.jose.jws_json import verify_json
from anka_flow.jose.jws_stream import verify_detached

from . import tokens, vectors
from .tokens import must_refuse, vector_key


def _load(folder: str, name: str) -> Any:
    return json.loads((vectors.folder(folder) / name).read_text())


RFC_7515 = {"A.1": "HS256", "A.2": "RS256", "A.3": "ES256", "A.4": "ES512"}


@pytest.mark.parametrize(("section", "alg"), RFC_7515.items())
def test_rfc_7515_examples(section: str, alg: str) -> None:
    """The compact examples of RFC 7515, appendix A verify under their keys."""
    published = _load("rfc-jose", "latchset-vectors.json")
    key = vector_key(published[f"rfc7515_{section}.jwk"], alg)
    wanted = tokens.take_apart(published[f"rfc7515_{section}.jwsc"].encode())[1]
    assert verify_compact(key, published[f"rfc7515_{section}.jwsc"].encode()) == wanted


def test_rfc_7515_unsecured_is_refused() -> None:
    """The unsecured JWS of RFC 7515, A.5 is refused by every key of the appendix."""
    published = _load("rfc-jose", "latchset-vectors.json")
    for section, alg in RFC_7515.items():
        key = vector_key(published[f"rfc7515_{section}.jwk"], alg)
        must_refuse("alg none", verify_compact, key, published["rfc7515_A.5.jwsc"].encode())


def test_rfc_7515_general() -> None:
    """The general serialization of RFC 7515, A.6 verifies under either of its keys."""
    published = _load("rfc-jose", "latchset-vectors.json")
    token = json.dumps(published["rfc7515_A.6.jwsg"]).encode()
    for number, alg in (("1", "RS256"), ("2", "ES256")):
        assert verify_json(vector_key(published[f"rfc7515_A.6.{number}.jwk"], alg), token).startswith(b'{"iss":"joe"')


COOKBOOK = [
    "4_1.rsa_v15_signature",
    "4_2.rsa-pss_signature",
    "4_3.ecdsa_signature",
    "4_4.hmac-sha2_integrity_protection",
    "4_6.protecting_specific_header_fields",
    "4_7.protecting_content_only",
]


@pytest.mark.parametrize("name", COOKBOOK)
def test_cookbook(name: str) -> None:
    """The tokens of RFC 7520, 4 verify in every serialization that the file has."""
    case = _load("cookbook", f"jws/{name}.json")
    key, wanted = vector_key(case["input"]["key"], case["input"]["alg"]), case["input"]["payload"].encode()
    outputs = case["output"]
    assert {"json", "json_flat"} <= outputs.keys()
    for form in ("json", "json_flat"):
        assert verify_json(key, json.dumps(outputs[form]).encode()) == wanted
    if "compact" in outputs:
        assert verify_compact(key, outputs["compact"].encode()) == wanted


def test_cookbook_detached() -> None:
    """The token with detached content of RFC 7520, 4.5 verifies for its payload and for no other."""
    case = _load("cookbook", "jws/4_5.signature_with_detached_content.json")
    key, payload = vector_key(case["input"]["key"], "HS256"), case["input"]["payload"].encode()
    assert verify_detached(key, case["output"]["compact"].encode(), payload)
    must_refuse("another payload", verify_detached, key, case["output"]["compact"].encode(), payload + b".")
    for form in ("json", "json_flat"):
        token = json.dumps(case["output"][form]).encode()
        assert verify_json(key, token, payload=payload) == payload
        must_refuse("no payload", verify_json, key, token)
        must_refuse("another payload", lambda token=token: verify_json(key, token, payload=payload + b"."))


@pytest.mark.parametrize(("at", "alg"), [(0, "RS256"), (1, "ES512"), (2, "HS256")])
def test_cookbook_multiple_signatures(at: int, alg: str) -> None:
    """The three signatures of RFC 7520, 4.8 verify, each under its key."""
    case = _load("cookbook", "jws/4_8.multiple_signatures.json")
    key = vector_key(case["input"]["key"][at], alg)
    assert verify_json(key, json.dumps(case["output"]["json"]).encode()) == case["input"]["payload"].encode()


def test_cookbook_nested() -> None:
    """The signed part of the nested example of RFC 7520, 6 verifies."""
    case = _load("cookbook", "6.nesting_signatures_and_encryption.json")["sign"]
    key = vector_key(case["input"]["key"], "PS256")
    assert verify_compact(key, case["output"]["compact"].encode()) == case["input"]["payload"].encode()


def test_cookbook_ed25519() -> None:
    """The Ed25519 example of RFC 8037 verifies in all serializations, and signing gives its signature."""
    case = _load("cookbook", "curve25519/jws.json")
    key, payload = vector_key(case["input"]["key"], "EdDSA"), case["input"]["payload"].encode()
    assert verify_compact(key, case["output"]["compact"].encode()) == payload
    for form in ("json", "json_flat"):
        assert verify_json(key, json.dumps(case["output"][form]).encode()) == payload
    made = signer_of(key).sign(key.pair.private, case["signing"]["sig-input"].encode())
    assert tokens.b64u(made).decode() == case["signing"]["sig"]


def test_cookbook_unencoded_payload() -> None:
    """A JSON token with b64 false verifies; its compact form, an unencoded payload inside, is refused."""
    case = _load("cookbook", "rfc7797/hmac-sha2_b64_false.json")
    key = vector_key(case["input"]["key"], "HS256")
    for form in ("json", "json_flat"):
        assert verify_json(key, json.dumps(case["output"][form]).encode()) == case["input"]["payload"].encode()
    must_refuse("the compact form", verify_compact, key, case["output"]["compact"].encode())


def test_cookbook_unencoded_payload_before_the_rfc() -> None:
    """The file of 4.2 predates RFC 7797: b64 false that is not critical must be refused."""
    case = _load("cookbook", "rfc7797/4.2.hmac-sha2_b64_false.json")
    key = vector_key(case["input"]["key"], "HS256")
    assert "crit" not in tokens.take_apart(f"{case['signing']['protected_b64u']}..".encode())[0]
    for form in ("json", "json_flat"):
        must_refuse(form, verify_json, key, json.dumps(case["output"][form]).encode())


def test_rfc_7797_examples() -> None:
    """Both examples of RFC 7797, 4 are reproduced octet by octet, and verify detached."""
    published = _load("rfc-jose", "rfc7797.json")
    key, payload = vector_key(published["key"], "HS256"), published["payload"].encode()
    for case in published["tests"]:
        made = signer_of(key).sign(key.pair.private, case["signing_input"].encode())
        assert tokens.b64u(made).decode() == case["signature"]
        assert verify_detached(key, f"{case['protected']}..{case['signature']}".encode(), payload)
        must_refuse("another payload", verify_detached, key, f"{case['protected']}..{case['signature']}".encode(), b"$.03")


@pytest.mark.parametrize("size", ["44", "65", "87"])
def test_ml_dsa_of_rfc_9964(size: str) -> None:
    """The key, kid, signing input and token of RFC 9964 are reproduced or verify."""
    case = _load("jose-mldsa", f"ML_DSA_{size}.jose.json")
    key = vector_key(case["jwk"], f"ML-DSA-{size}")
    assert key.kid == case["jwk"]["kid"]
    assert key.primitive.encode_public(key.pair.public).hex() == case["raw_public_key"]
    assert key.primitive.encode_private(key.pair).hex() == case["priv"]
    payload = verify_compact(key, case["jws"].encode())
    assert bytes(signing_input(key, payload)).hex() == case["raw_to_be_signed"]
    assert tokens.take_apart(case["jws"].encode())[2].hex() == case["raw_signature"]


SAME_AS_357 = (367, 370)  # called invalid for their padding, but it is gone: they are the valid token of test 357
LENIENT = (372, 373)  # called valid with "?" inside base64url; RFC 7515, 2 has no such character, and here they are refused


def _wycheproof() -> list[tuple[Any, str, dict[str, Any]]]:
    """Return (JWK, the alg that its holder expects, test) of every test."""
    found = []
    for group in _load("wycheproof", "json_web_signature_test.json")["testGroups"]:
        members = dict(group.get("public") or group["private"])
        if group["comment"].startswith(
            "rfc7520"
        ):  # keys that are said to be for ES521, or for PS256 where the header has PS384
            members["alg"] = tokens.take_apart(group["tests"][0]["jws"].encode())[0]["alg"]
        alg = members.get("alg") or {"RSA": "RS256", "EC": "ES256"}[members["kty"]]
        found += [(members, alg, test) for test in group["tests"]]
    return found


def test_wycheproof_valid_tokens() -> None:
    """Every valid token of Wycheproof verifies."""
    valid = [one for one in _wycheproof() if one[2]["result"] == "valid" and one[2]["tcId"] not in LENIENT]
    assert len(valid) == 44
    for members, alg, test in valid:
        token = test["jws"].encode()
        assert verify_compact(vector_key(members, alg), token) == tokens.take_apart(token)[1], test["tcId"]


def test_wycheproof_invalid_tokens() -> None:
    """Every invalid token, or token under a key that is for something else, is refused with ``Refused``."""
    invalid = [
        one
        for one in _wycheproof()
        if one[2]["tcId"] in LENIENT or (one[2]["result"] == "invalid" and one[2]["tcId"] not in SAME_AS_357)
    ]
    assert len(invalid) == 355
    accepted: Counter[str] = Counter()
    for members, alg, test in invalid:
        token = test["jws"] if isinstance(test["jws"], str) else json.dumps(test["jws"])
        try:
            verify_compact(vector_key(members, alg), token.encode())
        except Refused:
            continue
        accepted[f"{test['tcId']} {test['comment']}"] += 1
    assert not accepted
