"""JWE compact and General JSON: what is made, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anka_flow import Key, Refused, Unsupported, primitive
from anka_flow.jose import jwe_damage
from anka_flow.jose.composite_kem import CompositeKem
from anka_flow.jose.encoding import b64u_decode, b64u_encode, dump_header, parse_header
from anka_flow.jose.jwe import decrypt_compact, encrypt_compact, reencrypt_compact
from anka_flow.jose.jwe_json import decrypt_general, encrypt_for, encrypt_general, reencrypt_general
from anka_flow.keys import KeySpent

from . import jwe_keys
from .traced import peak_bytes

GCM = jwe_keys.aead("A256GCM")
SENTENCE = "token is not valid for this key"


def new_key(alg: str = "A256KW", enc: str = "A256GCM", crv: str = "") -> Key:
    chosen = jwe_keys.mode(alg, enc, crv)
    return Key(chosen, chosen.generate())


def composite_key() -> Key:
    pair = CompositeKem(primitive("kem", "X25519"), primitive("kem", "ML-KEM-768"))
    return Key(pair, pair.generate())


def refusal_of(decrypting: Callable[[], Any]) -> str:
    """Return the sentence of a refusal, or that there was none."""
    try:
        decrypting()
    except Refused as error:
        return str(error)
    return "accepted"


MODES = [
    ("dir", ""), ("A128KW", ""), ("A256GCMKW", ""), ("RSA-OAEP-256", ""), ("PBES2-HS256+A128KW", ""),
    ("ECDH-ES", "P-521"), ("ECDH-ES+A192KW", "X448"), ("ML-KEM-768", ""), ("ML-KEM-1024+A256KW", ""),
]  # fmt: skip


@pytest.mark.parametrize(("alg", "crv"), MODES)
def test_damaged_compact_tokens_are_refused_with_one_sentence(alg: str, crv: str) -> None:
    """Every part flipped, cut, extended or re-encoded, and every changed header, in every mode."""
    key = new_key(alg, crv=crv)
    token = encrypt_compact(key, b"message", GCM)
    found = {what: refusal_of(lambda d=damaged: decrypt_compact(key, d, GCM)) for what, damaged in jwe_damage.compact(token)}
    assert {what: sentence for what, sentence in found.items() if sentence != SENTENCE} == {}
    assert len(found) > 25


@pytest.mark.parametrize(("alg", "crv"), MODES)
def test_another_key_is_refused_with_the_same_sentence(alg: str, crv: str) -> None:
    """A wrong key and a damaged token cannot be told apart."""
    token = encrypt_compact(new_key(alg, crv=crv), b"message", GCM)
    assert refusal_of(lambda: decrypt_compact(new_key(alg, crv=crv), token, GCM)) == SENTENCE


@pytest.mark.parametrize("size", [0, 1, 98_303, 98_304, 98_305, 262_144])
@pytest.mark.parametrize("enc", ["A128GCM", "A256CBC-HS512"])
def test_any_size_comes_back(enc: str, size: int) -> None:
    """Around the size from which large payloads go piece by piece, in both serializations."""
    key, content, payload = new_key("A256KW", enc), jwe_keys.aead(enc), bytes(range(256)) * (size // 256 + 1)
    payload = payload[:size]
    assert decrypt_compact(key, encrypt_compact(key, payload, content), content) == payload
    assert decrypt_general(key, encrypt_general(key, payload, content), content) == payload


@pytest.mark.parametrize("name", ["AES-128-CCM", "AES-192-CCM", "ChaCha20-Poly1305", "SM4-GCM", "SM4-CCM"])
def test_private_content_algorithms_have_private_names(name: str) -> None:
    """A content algorithm without a registered name is written under a name of this project, and comes back."""
    content, key = primitive("aead", name), new_key()
    token = encrypt_compact(key, b"message", content)
    assert token.facts()["enc"] == content.algorithm.jose
    assert content.algorithm.jose.startswith("urn:anka-flow:")
    assert decrypt_compact(key, token, content) == b"message"


def test_the_key_decides_not_the_token() -> None:
    """A token of one mode is refused by a key of another, although the octets of both keys are the same."""
    octets = bytes(range(32))
    keys = {alg: Key(m := jwe_keys.mode(alg), m.decode_private(octets)) for alg in ("dir", "A256KW", "A256GCMKW")}
    for alg, key in keys.items():
        token = encrypt_compact(key, b"message", GCM)
        opened = [
            name
            for name, other in keys.items()
            if refusal_of(lambda o=other, t=token: decrypt_compact(o, t, GCM)) == "accepted"
        ]
        assert opened == [alg]


def test_the_caller_decides_the_content_algorithm() -> None:
    """A token of A128GCM is refused where A256GCM is asked for, and the other way round."""
    key, other = new_key(), jwe_keys.aead("A128GCM")
    assert refusal_of(lambda: decrypt_compact(key, encrypt_compact(key, b"message", other), GCM)) == SENTENCE
    assert refusal_of(lambda: decrypt_compact(key, encrypt_compact(key, b"message", GCM), other)) == SENTENCE


def test_reencryption_gives_the_payload_under_the_new_key() -> None:
    """The new key opens the new token, the old one does not; a wrong old key is refused."""
    old, new = new_key(), new_key("ECDH-ES", crv="P-256")
    fresh = reencrypt_compact(old, new, encrypt_compact(old, b"message", GCM), GCM)
    assert decrypt_compact(new, fresh, GCM) == b"message"
    assert refusal_of(lambda: decrypt_compact(old, fresh, GCM)) == SENTENCE
    assert refusal_of(lambda: reencrypt_compact(new, old, encrypt_compact(old, b"message", GCM), GCM)) == SENTENCE


def test_reencryption_of_a_composite_token() -> None:
    """General JSON of one composite key becomes that of another."""
    old, new = composite_key(), composite_key()
    fresh = reencrypt_general(old, new, encrypt_general(old, b"message", GCM), GCM)
    assert decrypt_general(new, fresh, GCM) == b"message"
    assert refusal_of(lambda: decrypt_general(old, fresh, GCM)) == SENTENCE


def test_a_composite_key_has_no_compact_form() -> None:
    """Compact serialization has room for one encrypted key; the error says what has more."""
    with pytest.raises(Unsupported, match="General JSON"):
        encrypt_compact(composite_key(), b"message", GCM)
    assert refusal_of(lambda: decrypt_compact(composite_key(), encrypt_compact(new_key(), b"m", GCM), GCM)) == SENTENCE


def test_a_direct_key_cannot_be_one_of_several() -> None:
    """``dir`` and direct key agreement fix the content key (RFC 7516, 5.1)."""
    for alg, crv in (("dir", ""), ("ECDH-ES", "P-256"), ("ML-KEM-768", "")):
        with pytest.raises(Unsupported, match="use a wrapping mode"):
            encrypt_for([new_key(), new_key(alg, crv=crv)], b"message", GCM)


def test_every_use_of_a_key_counts() -> None:
    """Encryption and decryption count; past its limit a key serves neither."""
    key = new_key()
    key.limit = 2
    token = encrypt_compact(key, b"message", GCM)
    decrypt_compact(key, token, GCM)
    with pytest.raises(KeySpent):
        decrypt_compact(key, token, GCM)
    with pytest.raises(KeySpent):
        encrypt_compact(key, b"message", GCM)


def test_a_public_key_does_not_decrypt() -> None:
    """A key without its private part encrypts, and says what it lacks when asked to decrypt."""
    key = new_key("ECDH-ES", crv="P-256")
    public = Key(key.primitive, type(key.pair)(key.pair.public, None))
    token = encrypt_compact(public, b"message", GCM)
    with pytest.raises(Refused, match="key has no private part"):
        decrypt_compact(public, token, GCM)
    assert decrypt_compact(key, token, GCM) == b"message"


@pytest.mark.parametrize("count", [0, 999, 1_000_001, 1 << 62, -1, True, 1000.0, "1000", None])
def test_a_token_does_not_choose_how_long_its_reader_works(count: Any) -> None:
    """PBES2 counts outside of 1,000 to 1,000,000, and counts that are none, are refused at once."""
    key = new_key("PBES2-HS512+A256KW")
    parts = bytes(encrypt_compact(key, b"message", GCM)).split(b".")
    header = parse_header(b64u_decode(parts[0])) | {"p2c": count}
    token = b".".join((b64u_encode(dump_header(header)), *parts[1:]))
    assert refusal_of(lambda: decrypt_compact(key, token, GCM)) == SENTENCE


def _general() -> tuple[Key, dict[str, Any]]:
    key = new_key()
    return key, json.loads(encrypt_general(key, b"message", GCM, aad=b"beside"))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t | {"recipients": []},
        lambda t: t | {"recipients": t["recipients"] * 33},
        lambda t: t | {"recipients": {}},
        lambda t: t | {"recipients": [None]},
        lambda t: t | {"recipients": [{"header": []}]},
        lambda t: t | {"recipients": [{"encrypted_key": 1}]},
        lambda t: t | {"recipients": [{**t["recipients"][0], "extra": 1}]},
        lambda t: t | {"recipients": [{**t["recipients"][0], "header": {"alg": "A256KW"}}]},
        lambda t: t | {"recipients": [{**t["recipients"][0], "header": {"crit": ["x"]}}]},
        lambda t: t | {"unprotected": {"enc": "A256GCM"}},
        lambda t: t | {"unprotected": {"zip": "DEF"}},
        lambda t: t | {"unprotected": 1},
        lambda t: t | {"aad": b64u_encode(b"besides").decode()},
        lambda t: {k: v for k, v in t.items() if k != "aad"},
        lambda t: t | {"protected": ""},
        lambda t: t | {"protected": t["protected"] + "="},
        lambda t: t | {"protected": "\u00e9"},
        lambda t: t | {"tag": t["tag"][:-2]},
        lambda t: t | {"encrypted_key": t["recipients"][0]["encrypted_key"]},
        lambda t: t | {"header": {}},
        lambda t: {**t, "ciphertext": None},
        lambda t: {**t, "ciphertext": {"ciphertext": t["ciphertext"]}},
        lambda t: [t],
    ],
)
def test_wrong_general_tokens_are_refused(change: Callable[[dict[str, Any]], Any]) -> None:
    """Members of wrong types, too many, too few, in the wrong place, or shared between headers."""
    key, token = _general()
    wrong = json.dumps(change(token), separators=(",", ":")).encode()
    assert refusal_of(lambda: decrypt_general(key, wrong, GCM)) == SENTENCE


def test_a_ciphertext_inside_another_member_is_not_taken_for_the_token_s() -> None:
    """What is cut out as the ciphertext must be the member of the token itself."""
    key, token = _general()
    hidden = {"recipients": [{**token["recipients"][0], "header": {"ciphertext": token["ciphertext"]}}]}
    for at_top in ("", ".", "AAAA"):
        wrong = json.dumps(hidden | token | hidden | {"ciphertext": at_top}).encode()
        assert refusal_of(lambda w=wrong: decrypt_general(key, w, GCM)) == SENTENCE


def test_members_may_come_in_any_order_and_with_blanks() -> None:
    """In memory, a General token of another writer opens whatever its layout."""
    key, token = _general()
    for order in (sorted(token), sorted(token, reverse=True)):
        text = json.dumps({name: token[name] for name in order}, indent=2).encode()
        assert decrypt_general(key, text, GCM) == b"message"


@pytest.mark.parametrize("text", [b"", b"{", b"{}", b"null", b"[]", b'"', b"\xff", b"{" * 100_000, b"[" * 100_000, b"...." * 3])
def test_no_token_at_all_is_refused(text: bytes) -> None:
    """Garbage, unfinished and deeply nested JSON, in both serializations."""
    assert refusal_of(lambda: decrypt_general(new_key(), text, GCM)) == SENTENCE
    assert refusal_of(lambda: decrypt_compact(new_key(), text, GCM)) == SENTENCE


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "a huge header": lambda t: b"A" * (1 << 22) + b"." + t,
    "many dots": lambda t: b"." * (1 << 22),
    "a nested header": lambda t: b64u_encode(b'{"a":' * (1 << 19)) + t[t.index(b".") :],
    "a huge encrypted key": lambda t: t.replace(b".", b"." + b"A" * (1 << 22), 1),
    "a huge tag": lambda t: t + b"A" * (1 << 22),
    "a huge ciphertext": lambda t: b".".join((*t.split(b".")[:3], b"A" * (1 << 22), t.split(b".")[4])),
    "many recipients": lambda t: b'{"recipients":[' + b"{}," * (1 << 20) + b'{}],"ciphertext":""}',
    "a huge general ciphertext": lambda t: b'{"protected":"e30","ciphertext":"' + b"A" * (1 << 22) + b'"}',
    "blanks": lambda t: b'{"ciphertext":"' + b'"' + b" " * (1 << 22) + b"}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_no_token_makes_its_reader_take_more_than_twice_its_size(bomb: str) -> None:
    """Whatever is large in a token, memory stays below twice the token (and a fixed 256 KiB)."""
    key = new_key()
    token = BOMBS[bomb](bytes(encrypt_compact(key, b"message", GCM)))
    for decrypting in (decrypt_compact, decrypt_general):

        def refused(decrypting: Any = decrypting) -> None:
            assert refusal_of(lambda: decrypting(key, token, GCM)) == SENTENCE

        assert peak_bytes(refused) < 2 * len(token) + (256 << 10)


KEYS = {"compact": new_key(), "general": composite_key()}
PLAIN = bytes(range(200))
TOKENS = {
    "compact": bytes(encrypt_compact(KEYS["compact"], PLAIN, GCM)),
    "general": bytes(encrypt_general(KEYS["general"], PLAIN, GCM)),
}


@st.composite
def mutations(draw: st.DrawFn, token: bytes) -> bytes:
    """Return the token with one to three cuts, insertions, repetitions, swaps or changed bits."""
    octets = bytearray(token)
    for _ in range(draw(st.integers(1, 3))):
        a, b = sorted((draw(st.integers(0, len(octets))), draw(st.integers(0, len(octets)))))
        kind = draw(st.sampled_from(("cut", "insert", "repeat", "swap", "flip", "truncate")))
        if kind == "cut":
            del octets[a:b]
        elif kind == "insert":
            octets[a:a] = draw(st.binary(min_size=1, max_size=40))
        elif kind == "repeat":
            octets[b:b] = octets[a:b]
        elif kind == "swap":
            octets[a:] = octets[b:] + octets[a:b]
        elif kind == "flip" and a < len(octets):
            octets[a] ^= 1 << draw(st.integers(0, 7))
        elif kind == "truncate":
            del octets[a:]
    return bytes(octets)


@settings(deadline=None, max_examples=300)
@given(mutations(TOKENS["compact"]))
def test_a_mutated_compact_token_is_refused(token: bytes) -> None:
    """Compact serialization has one form: every other text is refused with the one sentence."""
    found = refusal_of(lambda: decrypt_compact(KEYS["compact"], token, GCM))
    assert found == ("accepted" if token == TOKENS["compact"] else SENTENCE)


@settings(deadline=None, max_examples=300)
@given(mutations(TOKENS["general"]))
def test_a_mutated_general_token_never_gives_another_payload(token: bytes) -> None:
    """JSON may be written differently (blanks, escapes); whatever opens gives the one payload."""
    opened: list[bytes | bytearray] = []
    found = refusal_of(lambda: opened.append(decrypt_general(KEYS["general"], token, GCM)))
    assert opened == [PLAIN] if found == "accepted" else found == SENTENCE
