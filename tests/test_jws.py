"""JWS compact and JSON: what is made, what verifies, what is refused (RFC 7515). Every algorithm that has a provider here."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from anka_flow.errors import Refused
from anka_flow.jose import damage
from anka_flow.jose.jws import (
    CompactToken,
    assemble,
    naming,
    resign_compact,
    sign_compact,
    signer_of,
    signing_input,
    verify_compact,
)
from anka_flow.jose.jws_json import sign_flattened, verify_json
from anka_flow.keys import MAX_AGE_S, MAX_USES, Key, KeySpent

from . import tokens
from .tokens import PAYLOAD, b64u, compact, key, must_refuse, other_key
from .traced import peak_bytes

ALL = [*tokens.SIGNING, *tokens.COMPOSITES]
HS256 = "mac:HMAC-SHA256"
ONE_SENTENCE = "token is not valid for this key"


@pytest.mark.parametrize("name", ALL)
def test_a_token_verifies(name: str) -> None:
    """What is signed verifies and gives the payload back; the header names the algorithm and the key."""
    token = sign_compact(key(name), PAYLOAD)
    assert verify_compact(key(name), token) == PAYLOAD
    header, payload, _ = tokens.take_apart(token)
    assert header == {"alg": key(name).primitive.algorithm.jose, "kid": "the kid"}
    assert payload == PAYLOAD


@pytest.mark.parametrize("name", ALL)
def test_another_key_refuses(name: str) -> None:
    """A second key of the same algorithm refuses the token."""
    must_refuse("the token", verify_compact, other_key(name), sign_compact(key(name), PAYLOAD))


@pytest.mark.parametrize("name", ALL)
def test_every_damage_is_refused_with_one_sentence(name: str) -> None:
    """Flipped bits, other algs, none, trailing data, other encodings of the same octets: all refused, all in the same words."""
    holder = key(name)
    token = sign_compact(holder, PAYLOAD)
    said = {must_refuse(what, verify_compact, holder, damaged) for what, damaged in damage.compact(token)}
    assert said == {ONE_SENTENCE}


def test_the_damages_are_all_different_tokens() -> None:
    """Each damage changes the token, and the seven that the project promises to refuse are among them."""
    token = bytes(sign_compact(key(HS256), PAYLOAD))
    made = dict(damage.compact(token))
    assert token not in made.values()
    assert len(set(made.values())) == len(made)
    assert {"a flipped payload bit", "a flipped signature bit", "another alg", "alg none", "trailing data"} <= made.keys()
    assert {"an unused bit that is set in part 2", "padding in part 3"} <= made.keys()


@pytest.mark.parametrize("name", ALL)
def test_resigning_changes_the_key_alone(name: str) -> None:
    """A re-signed token has the same payload, verifies under the new key and no more under the old one."""
    old, new = other_key(name), key(name)
    if old.pair.private is None:
        old, new = key(name), key(HS256)
    renewed = resign_compact(old, new, sign_compact(old, PAYLOAD))
    assert verify_compact(new, renewed) == PAYLOAD
    must_refuse("the renewed token", verify_compact, old, renewed)


@pytest.mark.parametrize("name", [HS256, "signature:P-256", "signature:ML-DSA-65", "P-256+ML-DSA-44"])
def test_resigning_refuses_what_does_not_verify(name: str) -> None:
    """A damaged token is not signed anew, and no use of the new key is counted."""
    new = key(HS256)
    for what, damaged in damage.compact(sign_compact(key(name), PAYLOAD)):
        must_refuse(what, resign_compact, key(name), new, damaged)
    assert new.uses == 0


@pytest.mark.parametrize("size", [0, 1, 2, 3, 49151, 49152, 49153, 49154, 200_000, 200_001])
@pytest.mark.parametrize("name", [HS256, "signature:FALCON-512", "P-256+ML-DSA-44"])
def test_payloads_of_any_length(name: str, size: int) -> None:
    """Small and large payloads go the same way, with signatures of fixed and of varying length."""
    payload = bytes(i * 31 % 256 for i in range(size))
    token = sign_compact(key(name), memoryview(payload))
    assert tokens.take_apart(token)[1] == payload
    assert verify_compact(key(name), memoryview(token)) == payload
    assert verify_compact(key(HS256), resign_compact(key(name), key(HS256), token)) == payload


def test_steps_apart_make_the_same_token() -> None:
    """Signing input, signature and assembly give what signing as a whole gives."""
    holder = key(HS256)
    signed = signing_input(holder, PAYLOAD)
    assert assemble(signed, signer_of(holder).sign(holder.pair.private, signed)) == sign_compact(holder, PAYLOAD)


def test_a_token_tells_what_it_is() -> None:
    """The facts of a token are read from the token: alg, octets of the signature, who gave the name."""
    token = CompactToken(sign_compact(key("P-256+ML-DSA-65"), PAYLOAD))
    facts = token.facts()
    assert facts["alg"] == "ML-DSA-65-ES256"
    assert facts["signature"] == len(tokens.take_apart(token.octets)[2])
    assert facts["naming"] == "JOSE draft"


@pytest.mark.parametrize(
    ("alg", "name"),
    [
        ("ES256", "registered"),
        ("urn:anka-flow:SM2", "private"),
        ("urn:anka-flow:ML-DSA-65-ES384", "LAMPS label"),
        ("urn:anka-flow:ML-DSA-65-Ed448", "private"),
    ],
)
def test_names_tell_who_gave_them(alg: str, name: str) -> None:
    """Registered names, labels of LAMPS and names of this project are told apart."""
    assert naming(alg) == name


def _signed(header: dict[str, Any] | bytes, payload: bytes = PAYLOAD) -> bytes:
    """Return a token with any header and a MAC that is right for it."""
    holder = key(HS256)
    unsigned = compact(header, payload, b"").rstrip(b".")
    return unsigned + b"." + b64u(signer_of(holder).sign(holder.pair.private, unsigned))


def test_a_right_mac_over_a_right_header_verifies() -> None:
    """The maker of the tokens that the next tests refuse makes valid ones."""
    assert verify_compact(key(HS256), _signed({"alg": "HS256", "typ": "JWT"})) == PAYLOAD


@pytest.mark.parametrize(
    "header",
    [
        {}, {"alg": "hs256"}, {"alg": "HS384"}, {"alg": "none"}, {"alg": ""}, {"alg": None}, {"alg": ["HS256"]},
        {"alg": {"HS256": 1}},
        {"alg": "HS256", "kid": 1}, {"alg": "HS256", "typ": ["JWT"]}, {"alg": "HS256", "cty": None},
        {"alg": "HS256", "x5t": {}},
        {"alg": "HS256", "crit": []}, {"alg": "HS256", "crit": ["exp"], "exp": 1}, {"alg": "HS256", "crit": ["alg"]},
        {"alg": "HS256", "crit": "b64", "b64": True}, {"alg": "HS256", "crit": ["b64"]}, {"alg": "HS256", "crit": None},
        {"alg": "HS256", "crit": ["b64", "b64"], "b64": True}, {"alg": "HS256", "crit": ["b64", "exp"], "b64": True, "exp": 1},
        {"alg": "HS256", "b64": False}, {"alg": "HS256", "b64": False, "crit": ["b64"]}, {"alg": "HS256", "b64": "true"},
        {"alg": "HS256", "b64": 1, "crit": ["b64"]}, {"alg": "HS256", "b64": None},
        b"", b"null", b'"HS256"', b'["HS256"]', b'{"alg":"HS256","alg":"HS256"}', b'{"alg":"HS256"} ,',
        b'{"alg":"HS256","n":NaN}',
        b'\xef\xbb\xbf{"alg":"HS256"}', '{"alg":"HS256"}'.encode("utf-16-le"),
    ],
)  # fmt: skip
def test_a_right_mac_over_a_wrong_header_is_refused(header: dict[str, Any] | bytes) -> None:
    """Headers of another alg, of wrong types, with unknown or ill-formed crit, or that are not one object, are refused."""
    assert must_refuse("the token", verify_compact, key(HS256), _signed(header)) == ONE_SENTENCE


@pytest.mark.parametrize("header", [{"alg": "HS256", "b64": True}, {"alg": "HS256", "b64": True, "crit": ["b64"]}])
def test_b64_true_changes_nothing(header: dict[str, Any]) -> None:
    """``b64`` true is the default, whether critical or not (RFC 7797, 3)."""
    assert verify_compact(key(HS256), _signed(header)) == PAYLOAD


@pytest.mark.parametrize("alg", ["Ed25519", "Ed448"])
def test_the_older_name_of_eddsa_is_accepted_but_never_made(alg: str) -> None:
    """Tokens that say EdDSA verify under Ed25519 and Ed448 keys; ours say the newer name (RFC 9864)."""
    holder = key(f"signature:{alg}")
    assert tokens.take_apart(sign_compact(holder, PAYLOAD))[0]["alg"] == alg
    unsigned = compact({"alg": "EdDSA"}, PAYLOAD, b"").rstrip(b".")
    older = unsigned + b"." + b64u(holder.primitive.sign(holder.pair.private, unsigned))
    assert verify_compact(holder, older) == PAYLOAD


def test_a_public_key_is_no_mac_key() -> None:
    """A token whose MAC was made with the octets of a public key is refused by that key."""
    holder = key("signature:P-256")
    public = holder.primitive.encode_public(holder.pair.public)
    mac = key(HS256)
    forged = Key(mac.primitive, mac.primitive.decode_private(public))
    must_refuse("the forged token", verify_compact, holder, sign_compact(forged, PAYLOAD))


@pytest.mark.parametrize("member", ["alg", "crit", "b64"])
def test_a_caller_cannot_set_what_the_key_decides(member: str) -> None:
    """alg, crit and b64 are not taken from the caller's header."""
    with pytest.raises(ValueError, match="not the caller's"):
        sign_compact(key(HS256), PAYLOAD, header={member: "none"})


def test_members_of_the_caller_are_protected() -> None:
    """Other header members are signed beside alg and kid, and may replace kid."""
    token = sign_compact(key(HS256), PAYLOAD, header={"typ": "JOSE", "kid": "another"})
    assert tokens.take_apart(token)[0] == {"alg": "HS256", "kid": "another", "typ": "JOSE"}
    assert verify_compact(key(HS256), token) == PAYLOAD


def test_a_public_key_cannot_sign() -> None:
    """Signing without a private part is refused."""
    holder = key("signature:P-256")
    holder.pair = type(holder.pair)(holder.pair.public, None)
    with pytest.raises(Refused, match="no private part"):
        sign_compact(holder, PAYLOAD)


def _uses() -> list[tuple[str, Callable[[Key], object]]]:
    token = sign_compact(key(HS256), PAYLOAD)
    return [
        ("signing", lambda holder: sign_compact(holder, PAYLOAD)),
        ("verifying", lambda holder: verify_compact(holder, token)),
        ("re-signing from it", lambda holder: resign_compact(holder, key(HS256), token)),
        ("re-signing to it", lambda holder: resign_compact(key(HS256), holder, token)),
    ]


@pytest.mark.parametrize("at", range(4), ids=["sign", "verify", "resign-old", "resign-new"])
def test_a_key_ends_after_a_hundred_thousand_uses(at: int) -> None:
    """Each use counts one; the use after the hundred-thousandth is refused."""
    _, use = _uses()[at]
    holder = key(HS256)
    assert holder.limit == MAX_USES == 100_000
    holder.uses = MAX_USES - 1
    use(holder)
    with pytest.raises(KeySpent, match="100,000"):
        use(holder)


@pytest.mark.parametrize("at", range(4), ids=["sign", "verify", "resign-old", "resign-new"])
def test_a_key_ends_after_a_year(at: int) -> None:
    """A new key expires 365 days from now, and an expired one is not used."""
    _, use = _uses()[at]
    holder = key(HS256)
    assert 0 <= time.time() + MAX_AGE_S - holder.expires_s < 60
    assert MAX_AGE_S == 365 * 86_400
    holder.expires_s = time.time() - 1
    with pytest.raises(KeySpent, match="expired"):
        use(holder)


@pytest.mark.parametrize("name", [HS256, "signature:P-256", "P-256+ML-DSA-44"])
def test_flattened_tokens_verify(name: str) -> None:
    """A flattened token gives its payload back, and holds the same three texts as a compact one."""
    token = sign_flattened(key(name), PAYLOAD, header={"typ": "JOSE"})
    assert verify_json(key(name), token) == PAYLOAD
    members = json.loads(token)
    assert members.keys() == {"payload", "protected", "signature"}
    joined = ".".join(members[name] for name in ("protected", "payload", "signature"))
    assert verify_compact(key(name), joined.encode()) == PAYLOAD


def _members(**changes: Any) -> dict[str, Any]:
    made = {**json.loads(sign_flattened(key(HS256), PAYLOAD)), **changes}
    return {name: value for name, value in made.items() if value is not None}


def _unprotected() -> dict[str, Any]:
    holder = key(HS256)
    payload = b64u(PAYLOAD)
    tag = signer_of(holder).sign(holder.pair.private, b"." + payload)
    return {"payload": payload.decode(), "header": {"alg": "HS256"}, "signature": b64u(tag).decode()}


def test_an_unprotected_alg_verifies_under_its_key() -> None:
    """RFC 7515, 7.2.2: the header may be unprotected as a whole; alg must be the key's own all the same."""
    assert verify_json(key(HS256), json.dumps(_unprotected()).encode()) == PAYLOAD


@pytest.mark.parametrize(
    "token",
    [
        {"payload": None}, {"signature": None}, {"protected": None}, {"protected": ""}, {"protected": 1},
        {"payload": 1}, {"payload": []},
        {"signature": ""}, {"signature": "AAAA"}, {"signature": None, "signatures": []}, {"signatures": []}, {"header": []},
        {"header": {"alg": "HS256"}}, {"header": {"crit": ["b64"]}}, {"header": {"b64": False}}, {"header": {"kid": "the kid"}},
        {"payload": "é"}, {"payload": "\ud800"}, {"extra": 1}, {"header": {"typ": 1}},
    ],
)  # fmt: skip
def test_json_tokens_that_are_not_right_are_refused(token: dict[str, Any]) -> None:
    """Missing, additional and ill-typed members, a name in both headers, crit or b64 unprotected: refused."""
    must_refuse("the token", verify_json, key(HS256), json.dumps(_members(**token)).encode())


@pytest.mark.parametrize(
    "change", [{"alg": "none"}, {"alg": "HS384"}, {"alg": "HS256", "crit": []}, {"alg": "HS256", "b64": True}, {}]
)
def test_an_unprotected_header_that_is_not_right_is_refused(change: dict[str, Any]) -> None:
    """The same rules hold for members that are not protected, and crit and b64 are none of them."""
    token = {**_unprotected(), "header": change}
    must_refuse("the token", verify_json, key(HS256), json.dumps(token).encode())


def test_a_general_token_needs_one_valid_signature_of_the_key() -> None:
    """Of several signatures, that of the key's own algorithm counts; if it is damaged, another one does not help."""
    mine, theirs = _members(), json.loads(sign_flattened(key("signature:P-256"), PAYLOAD))
    both = [{name: one[name] for name in ("protected", "signature")} for one in (theirs, mine)]
    general = {"payload": mine["payload"], "signatures": both}
    assert verify_json(key(HS256), json.dumps(general).encode()) == PAYLOAD
    assert verify_json(key("signature:P-256"), json.dumps(general).encode()) == PAYLOAD
    tag = bytearray(base64.urlsafe_b64decode(both[1]["signature"] + "="))
    tag[0] ^= 1
    both[1]["signature"] = b64u(bytes(tag)).decode()
    must_refuse("the general token", verify_json, key(HS256), json.dumps(general).encode())
    must_refuse("without signatures", verify_json, key(HS256), json.dumps({**general, "signatures": []}).encode())
    must_refuse("with both forms", verify_json, key("signature:P-256"), json.dumps({**general, **both[0]}).encode())


@pytest.mark.parametrize(
    ("make", "verify"), [(sign_compact, verify_compact), (sign_flattened, verify_json)], ids=["compact", "flattened"]
)
@pytest.mark.parametrize("valid", [True, False])
def test_memory_stays_within_twice_the_token(make: Callable[..., Any], verify: Callable[..., Any], valid: bool) -> None:
    """Reading a token of 4 MiB, valid or not, takes at most twice its size."""
    token = bytearray(make(key(HS256), bytes(3 << 20)))
    token[-10] ^= 0 if valid else 1

    def reading() -> None:
        with contextlib.nullcontext() if valid else pytest.raises(Refused):
            verify(key(HS256), token)

    assert peak_bytes(reading) <= 2 * len(token) + 65_536
