"""JWK to and from primitives: what is read back, what is refused (RFC 7517, 7518, 7638, 8037, 9964)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jwcrypto import jwk as jwcrypto_jwk

from anka_flow.errors import Refused, Unsupported
from anka_flow.jose import jwk
from anka_flow.jose.jws import sign_compact, verify_compact
from anka_flow.jose.mac_signer import as_signer
from anka_flow.keys import Key
from anka_flow.plan import primitive

from . import tokens, vectors

EXPORTED = [*tokens.REGISTERED.values(), "mac:KMAC256"]
KEMS = ["P-256", "P-384", "P-521", "X25519", "X448", "ML-KEM-768", "RSA-2048"]


def _key(name: str) -> Key:
    if name.startswith("kem:"):
        return jwk.generate(primitive("kem", name[4:]))
    return tokens.key(name)


@pytest.mark.parametrize("name", [*EXPORTED, *tokens.COMPOSITES, *(f"kem:{name}" for name in KEMS)])
def test_a_private_key_comes_back_as_it_went(name: str) -> None:
    """A key that is exported, written as JSON, read and exported again is the same."""
    key = _key(name)
    exported = jwk.export_key(key, private=True)
    back = jwk.parse_key(json.dumps(exported).encode(), key.primitive)
    assert jwk.export_key(back, private=True) == exported
    assert back.kid == key.kid


@pytest.mark.parametrize("name", [*EXPORTED, *tokens.COMPOSITES])
def test_a_token_of_the_key_verifies_with_the_one_read_back(name: str) -> None:
    """What the first key signs, the one from its JWK verifies; for signatures the public JWK is enough."""
    key = tokens.key(name)
    back = jwk.import_key(jwk.export_key(key, private=name.startswith("mac:")), key.primitive)
    assert verify_compact(back, sign_compact(key, tokens.PAYLOAD)) == tokens.PAYLOAD


@pytest.mark.parametrize("name", tokens.REGISTERED.values())
def test_another_library_reads_our_keys_and_names_them_alike(name: str) -> None:
    """jwcrypto accepts the private JWK and computes the same thumbprint."""
    exported = jwk.export_key(tokens.key(name), private=True)
    theirs = jwcrypto_jwk.JWK(**exported)
    assert theirs.thumbprint() == jwk.thumbprint(exported)
    assert json.loads(theirs.export_private() if exported["kty"] != "oct" else theirs.export())["kid"] == "the kid"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("signature:P-384", {"kty": "EC", "crv": "P-384"}),
        ("signature:Ed448", {"kty": "OKP", "crv": "Ed448"}),
        ("signature:RSA-2048", {"kty": "RSA", "size": 2048}),
    ],
)
def test_keys_of_another_library_are_read(name: str, wanted: dict[str, Any]) -> None:
    """A key that jwcrypto made comes back from our import unchanged in all its numbers."""
    theirs = json.loads(jwcrypto_jwk.JWK.generate(**wanted).export_private())
    back = jwk.export_key(jwk.import_key(theirs, tokens.key(name).primitive), private=True)
    assert theirs.items() <= back.items()


def test_thumbprint_of_rfc_7638() -> None:
    """The thumbprint of RFC 7638, 3.1 is reproduced, and the key of that section gets it as kid."""
    published = json.loads((vectors.folder("rfc-jose") / "latchset-vectors.json").read_text())
    members = published["rfc7638_3.1.jwk"]
    assert jwk.thumbprint(members) == published["rfc7638_3.1.thp"]
    unnamed = {name: members[name] for name in ("kty", "n", "e")}
    assert jwk.import_key(unnamed, tokens.signer_for(members, "RS256")).kid == published["rfc7638_3.1.thp"]


@pytest.mark.parametrize("file", ["3_1.ec_public_key", "3_2.ec_private_key", "3_3.rsa_public_key", "3_4.rsa_private_key"])
def test_keys_of_rfc_7520(file: str) -> None:
    """The example keys of RFC 7520, 3 are read and written back unchanged."""
    members = json.loads((vectors.folder("cookbook") / "jwk" / f"{file}.json").read_text())
    key = jwk.import_key(members, tokens.signer_for(members, "PS256" if "rsa" in file else "ES512"))
    back = jwk.export_key(key, private="d" in members)
    del members["use"], back["alg"]
    assert back == members


def _changed(name: str, **changes: Any) -> tuple[dict[str, Any], Any]:
    key = tokens.key(name)
    members = {**jwk.export_key(key, private=True), **changes}
    return {k: v for k, v in members.items() if v is not None}, key.primitive


EC, RSA, OKP, OCT, AKP = "signature:P-256", "signature:RSA-2048", "signature:Ed25519", "mac:HMAC-SHA256", "signature:ML-DSA-65"
COMPOSITE = "P-256+ML-DSA-44"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (EC, {"kty": "OKP"}), (EC, {"kty": None}), (EC, {"crv": "P-384"}), (EC, {"crv": None}), (EC, {"alg": "ES384"}),
        (EC, {"x": None}), (EC, {"x": 1}), (EC, {"y": ""}), (EC, {"x": "AAAA"}), (EC, {"d": "AQ"}), (EC, {"use": "enc"}),
        (EC, {"key_ops": ["encrypt"]}), (EC, {"key_ops": "sign"}), (EC, {"key_ops": ["sign", "sign"]}), (EC, {"kid": 7}),
        (EC, {"d": tokens.b64u(bytes(31) + b"\1").decode()}), (EC, {"d": tokens.b64u(bytes(32)).decode()}),
        (EC, {"x": tokens.b64u(bytes(32)).decode()}), (EC, {"x": "é"}),
        (OKP, {"crv": "Ed448"}), (OKP, {"x": tokens.b64u(bytes(31)).decode()}), (OKP, {"d": tokens.b64u(bytes(32)).decode()}),
        (RSA, {"n": "AQAB"}), (RSA, {"e": "AAEAAQ"}), (RSA, {"e": None}), (RSA, {"p": None}), (RSA, {"d": "AQAB"}),
        (RSA, {"oth": []}), (RSA, {"alg": "RS256"}), (RSA, {"qi": "AQ"}),
        (OCT, {"k": None}), (OCT, {"k": ""}), (OCT, {"k": tokens.b64u(bytes(31)).decode()}), (OCT, {"alg": "HS384"}),
        (OCT, {"k": "A" * 43 + "="}),
        (AKP, {"alg": None}), (AKP, {"alg": "ML-DSA-44"}), (AKP, {"pub": None}), (AKP, {"pub": "AAAA"}),
        (AKP, {"priv": tokens.b64u(bytes(32)).decode()}), (AKP, {"priv": tokens.b64u(bytes(64)).decode()}),
        (AKP, {"priv": tokens.b64u(bytes(4032)).decode()}), (AKP, {"kty": "ML-DSA"}),
        (COMPOSITE, {"alg": None}), (COMPOSITE, {"alg": "ML-DSA-65-ES256"}), (COMPOSITE, {"priv": "AAAA"}),
        (COMPOSITE, {"priv": tokens.b64u(bytes(83)).decode()}),
    ],
)  # fmt: skip
def test_refuses_a_key_that_does_not_fit_exactly(name: str, changes: dict[str, Any]) -> None:
    """A missing, changed or ill-typed member, another use, a private part of another public one: each is refused."""
    members, own = _changed(name, **changes)
    with pytest.raises(Refused):
        jwk.import_key(members, own)


def test_refuses_json_with_a_member_twice() -> None:
    """A JWK in which a member stands twice is refused before anything is chosen from it."""
    members, own = _changed(OCT)
    text = json.dumps(members)[:-1] + f', "k": "{members["k"]}"}}'
    with pytest.raises(Refused):
        jwk.parse_key(text.encode(), own)


def test_a_symmetric_key_has_no_public_form() -> None:
    """Exporting the public part of a MAC key is refused, so that no secret leaves unasked."""
    with pytest.raises(Unsupported):
        jwk.export_key(tokens.key(OCT))


def test_a_private_key_without_a_standard_form_stays_inside() -> None:
    """No JWK is made of a private key whose form no text fixes."""
    with pytest.raises(Unsupported):
        jwk.export_key(tokens.key("signature:SLH-DSA-SHA2-128F"), private=True)


def test_secrets_have_no_repr() -> None:
    """Neither the key nor its handles show a secret when printed."""
    key = tokens.key(OCT)
    secret = jwk.export_key(key, private=True)["k"]
    assert secret not in repr(key) + repr(key.pair)


NOT_OURS = {1: "a key set of two kinds", 4: "a key set with one kid twice", 7: "detection of weak RSA key generators (ROCA)"}


def _wycheproof_keys() -> list[Any]:
    published = json.loads((vectors.folder("wycheproof") / "json_web_key_test.json").read_text())
    return [
        (keys.get("keys", [keys]), test)
        for group in published["testGroups"]
        for keys in [group.get("public") or group["private"]]
        for test in group["tests"]
        if test["tcId"] not in NOT_OURS
    ]


def _verified(keys: list[dict[str, Any]], token: str) -> bytearray:
    """Take the key that the token names, for the algorithm that the caller expects, and verify."""
    header, _, _ = tokens.take_apart(token.encode())
    chosen = next(one for one in keys if one["kid"] == header["kid"])
    return verify_compact(tokens.vector_key(chosen, header["alg"]), token.encode())


def test_wycheproof_keys_that_are_valid() -> None:
    """Tokens of the valid keys of Wycheproof verify."""
    valid = [(keys, test) for keys, test in _wycheproof_keys() if test["result"] == "valid"]
    assert len(valid) == 5
    for keys, test in valid:
        assert _verified(keys, test["jws"]), test["tcId"]


def test_wycheproof_keys_that_are_not() -> None:
    """Short, empty, mismatched and off-curve keys, and keys for another use, are refused, though the signature may hold."""
    invalid = [(keys, test) for keys, test in _wycheproof_keys() if test["result"] == "invalid"]
    assert len(invalid) == 18
    for keys, test in invalid:
        tokens.must_refuse(f"{test['tcId']} {test['comment']}", _verified, keys, test["jws"])


def test_as_signer_leaves_a_signer_alone() -> None:
    """Only a MAC is wrapped."""
    signer: Any = primitive("signature", "P-256")
    assert as_signer(signer) is signer
