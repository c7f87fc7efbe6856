"""The composite KEM: profile anka-kem-v1 byte for byte, its halves against LAMPS vectors, policy ALL."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_der_private_key

from anka_flow import Algorithm, Kem, Key, KeyPair, Refused, primitive
from anka_flow.jose import jwe_damage, jwe_json, jwe_steps
from anka_flow.jose.composite_kem import CompositeKem, Encapsulated
from anka_flow.jose.encoding import b64u_decode, b64u_encode, dump_header, parse_header

from .vectors import folder

PAIRS = [
    ("P-256", "ML-KEM-768"), ("P-384", "ML-KEM-768"), ("P-521", "ML-KEM-1024"), ("X25519", "ML-KEM-768"),
    ("X448", "ML-KEM-1024"), ("X25519", "HQC-128"), ("P-384", "HQC-192"), ("P-521", "HQC-256"),
]  # fmt: skip
CONTENT = primitive("aead", "AES-256-GCM")


def pair(classical: str = "X25519", pqc: str = "ML-KEM-768", kdf: str = "HKDF-SHA256") -> CompositeKem:
    return CompositeKem(primitive("kem", classical), primitive("kem", pqc), kdf)


def new_key(kem: CompositeKem) -> Key:
    return Key(kem, kem.generate())


def length_prefixed(*parts: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


@pytest.mark.parametrize(
    ("token", "digest"), [("HKDF-SHA256", hashes.SHA256), ("HKDF-SHA384", hashes.SHA384), ("HKDF-SHA512", hashes.SHA512)]
)
def test_combiner_gives_what_the_profile_says(token: str, digest: Any) -> None:
    """The content key, computed a second time from the profile's text with another HKDF, is the same."""
    kem = pair("P-256", "ML-KEM-768", token)
    key = new_key(kem)
    result = kem.encapsulate_each(key.pair.public)
    publics = (kem.classical.encode_public(key.pair.public.classical), kem.pqc.encode_public(key.pair.public.pqc))
    domain = length_prefixed(b"anka-flow", b"COMPOSITE_KEM_COMBINE/v1", b"P-256", b"ML-KEM-768", token.encode(), b"A256GCM")
    info = length_prefixed(*result.ciphertexts, *publics, domain) + struct.pack(">I", 256)
    wanted = HKDF(digest(), 32, bytes(digest.digest_size), info).derive(b"".join(result.secrets))
    assert kem.combine(result, "A256GCM", 32) == wanted


def test_combiner_depends_on_everything_that_it_binds() -> None:
    """Another ciphertext, public key, secret, enc, KDF or pair of names gives another content key."""
    kem = pair()
    result = kem.encapsulate_each(new_key(kem).pair.public)
    first, second = result.ciphertexts
    changed = [
        Encapsulated((first[:-1] + b"\0", second), result.secrets, result.bound),
        Encapsulated((first, second[:-1] + b"\0"), result.secrets, result.bound),
        Encapsulated(result.ciphertexts, (bytes(32), result.secrets[1]), result.bound),
        Encapsulated(result.ciphertexts, (result.secrets[0], bytes(32)), result.bound),
        Encapsulated(result.ciphertexts, result.secrets, result.bound[:-1] + b"\0"),
    ]
    keys = [kem.combine(one, "A256GCM", 32) for one in (result, *changed)]
    keys += [kem.combine(result, "A128GCM", 32), kem.combine(result, "A256GCM", 16)]
    keys += [pair(kdf="HKDF-SHA512").combine(result, "A256GCM", 32), pair("P-256").combine(result, "A256GCM", 32)]
    assert len({one[:16] for one in keys}) == len(keys)


LAMPS = {
    "id-MLKEM768-X25519-SHA3-256": ("X25519", "ML-KEM-768", b"\\.//^\\"),
    "id-MLKEM768-ECDH-P256-SHA3-256": ("P-256", "ML-KEM-768", b"MLKEM768-P256"),
    "id-MLKEM768-ECDH-P384-SHA3-256": ("P-384", "ML-KEM-768", b"MLKEM768-P384"),
    "id-MLKEM1024-ECDH-P384-SHA3-256": ("P-384", "ML-KEM-1024", b"MLKEM1024-P384"),
    "id-MLKEM1024-X448-SHA3-256": ("X448", "ML-KEM-1024", b"MLKEM1024-X448"),
    "id-MLKEM1024-ECDH-P521-SHA3-256": ("P-521", "ML-KEM-1024", b"MLKEM1024-P521"),
}


@pytest.mark.parametrize("name", LAMPS)
def test_halves_agree_with_lamps(name: str) -> None:
    """Both secrets that decapsulation gives for a LAMPS composite ciphertext, combined as LAMPS does, are its published key."""
    tests = json.loads((folder("lamps") / "composite-kem-testvectors.json").read_text())["tests"]
    test = {n: base64.b64decode(v) for n, v in next(t for t in tests if t["tcId"] == name).items() if n != "tcId"}
    classical, pqc, label = LAMPS[name]
    kem = pair(classical, pqc)
    public_bytes, ciphertext_bytes = (kem.pqc.algorithm.sizes[what] for what in ("public", "ciphertext"))
    scalar = _scalar(classical, test["dk"][64:])
    stored = length_prefixed(scalar, test["dk"][:64])
    pqc_ciphertext, classical_ciphertext = test["c"][:ciphertext_bytes], test["c"][ciphertext_bytes:]
    result = kem.decapsulate_each(kem.decode_private(stored).private, (classical_ciphertext, pqc_ciphertext))
    material = result.secrets[1] + result.secrets[0] + classical_ciphertext + test["ek"][public_bytes:] + label
    assert hashlib.sha3_256(material).digest() == test["k"]


def _scalar(classical: str, octets: bytes) -> bytes:
    """Return the private key as this project stores it: raw, where LAMPS has an ECPrivateKey for the P-curves."""
    if not classical.startswith("P-"):
        return octets
    private = load_der_private_key(octets, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    return private.private_numbers().private_value.to_bytes((private.key_size + 7) // 8, "big")


@pytest.mark.parametrize("names", PAIRS, ids="+".join)
def test_every_family_of_pairs_opens_what_it_seals(names: tuple[str, str]) -> None:
    """A token opens again, with a key that was stored and loaded meanwhile."""
    kem = pair(*names)
    key = new_key(kem)
    token = jwe_json.encrypt_general(key, b"message", CONTENT)
    assert jwe_json.decrypt_general(Key.load(key.dump(), kem), token, CONTENT) == b"message"


def test_token_has_the_form_of_the_profile() -> None:
    """Two recipients, classical first, the ciphertexts as their encrypted keys; crit and the pair in the protected header."""
    key = new_key(pair())
    token = json.loads(jwe_json.encrypt_general(key, b"message", CONTENT))
    assert list(token) == ["protected", "recipients", "iv", "ciphertext", "tag"]
    assert parse_header(b64u_decode(token["protected"].encode())) == {
        "enc": "A256GCM",
        "crit": ["anka"],
        "anka": {"v": 1, "mode": "COMPOSITE_KEM_COMBINE", "kdf": "HKDF-SHA256", "alg": ["X25519", "ML-KEM-768"]},
        "kid": key.kid,
    }
    assert [entry["header"] for entry in token["recipients"]] == [{"alg": "CKEM-X25519"}, {"alg": "CKEM-ML-KEM-768"}]
    assert [len(b64u_decode(entry["encrypted_key"].encode())) for entry in token["recipients"]] == [32, 1088]


@pytest.mark.parametrize("names", [("X25519", "ML-KEM-768"), ("P-256", "HQC-128")], ids="+".join)
def test_damaged_tokens_are_refused_with_one_sentence(names: tuple[str, str]) -> None:
    """Swapped, missing and third recipients, either half changed, changed headers: all end in the same error."""
    key = new_key(pair(*names))
    token = jwe_json.encrypt_general(key, b"message", CONTENT)
    sentences = set()
    for what, damaged in jwe_damage.general(token):
        sentences.add((what, _refusal(key, damaged)))
    assert {sentence for _, sentence in sentences} == {"token is not valid for this key"}, sentences


def _refusal(key: Key, token: bytes) -> str:
    """Return the sentence with which a token is refused."""
    try:
        jwe_json.decrypt_general(key, token, CONTENT)
    except Refused as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize("half", [0, 1])
def test_one_right_half_does_not_open_a_token(half: int) -> None:
    """Policy ALL: a key that shares one half with the right one is refused."""
    kem = pair()
    key, other = new_key(kem), new_key(kem)
    token = jwe_json.encrypt_general(key, b"message", CONTENT)
    mixed = [other.pair, other.pair]
    mixed[half] = key.pair
    classical, pqc = (
        KeyPair(getattr(p.public, n), getattr(p.private, n)) for p, n in zip(mixed, ("classical", "pqc"), strict=True)
    )
    stored = length_prefixed(kem.classical.encode_private(classical), kem.pqc.encode_private(pqc))
    with pytest.raises(Refused, match=r"^token is not valid for this key$"):
        jwe_json.decrypt_general(Key(kem, kem.decode_private(stored)), token, CONTENT)


@dataclass
class RecordingKem:
    """A KEM that notes its calls and refuses what it is told to."""

    inner: Kem
    refuses: bool = False
    calls: list[str] = field(default_factory=list)

    @property
    def algorithm(self) -> Algorithm:
        return self.inner.algorithm

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def decapsulate(self, private: Any, ciphertext: Any) -> bytes:
        self.calls.append(self.algorithm.name)
        if self.refuses:
            raise Refused("told to")
        return self.inner.decapsulate(private, ciphertext)


@pytest.mark.parametrize("refusing", [(True, False), (False, True), (True, True)])
def test_both_decapsulations_run_before_any_error(refusing: tuple[bool, bool]) -> None:
    """Whichever half refuses, the other is computed too, and the token is refused with the one sentence."""
    names = ("X25519", "ML-KEM-768")
    kems = [RecordingKem(primitive("kem", n), refuses=r) for n, r in zip(names, refusing, strict=True)]
    kem = CompositeKem(*kems)
    key = new_key(kem)
    token = jwe_json.encrypt_general(key, b"message", CONTENT)
    with pytest.raises(Refused, match=r"^token is not valid for this key$"):
        jwe_json.decrypt_general(key, token, CONTENT)
    assert [name for one in kems for name in one.calls] == list(names)


@pytest.mark.parametrize("curve", ["X25519", "X448"])
def test_a_point_of_small_order_is_refused(curve: str) -> None:
    """An all-zero ephemeral key would give an all-zero secret (RFC 7748, 6)."""
    kem = pair(curve, "ML-KEM-768")
    key = new_key(kem)
    good = kem.encapsulate_each(key.pair.public)
    with pytest.raises(Refused):
        kem.decapsulate_each(key.pair.private, (bytes(len(good.ciphertexts[0])), good.ciphertexts[1]))


@pytest.mark.parametrize("curve", ["P-256", "P-384", "P-521"])
def test_a_point_off_the_curve_is_refused(curve: str) -> None:
    """An ephemeral point with one changed coordinate is not on the curve."""
    kem = pair(curve, "ML-KEM-1024")
    key = new_key(kem)
    first, second = kem.encapsulate_each(key.pair.public).ciphertexts
    with pytest.raises(Refused):
        kem.decapsulate_each(key.pair.private, (first[:-1] + bytes((first[-1] ^ 1,)), second))


def test_an_unreduced_ml_kem_public_key_is_refused() -> None:
    """FIPS 203, 7.2: coefficients of an encapsulation key must be below q."""
    kem = pair()
    encoded = bytearray(kem.encode_public(kem.generate().public))
    encoded[-1184 : -1184 + 3] = b"\xff\xff\xff"
    with pytest.raises(Refused):
        kem.decode_public(bytes(encoded))


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d + b"\0", lambda d: b"", lambda d: d[4:]])
def test_keys_of_other_lengths_are_refused(damage: Any) -> None:
    """Public keys load only with both halves in full."""
    kem = pair()
    encoded = kem.encode_public(kem.generate().public)
    with pytest.raises(Refused):
        kem.decode_public(damage(encoded))


def test_a_composite_is_a_kem() -> None:
    """Used as a plain KEM it has the sizes that its algorithm states, and gives the same secret on both sides."""
    kem = pair("P-384", "ML-KEM-768")
    made = kem.generate()
    ciphertext, secret = kem.encapsulate(made.public)
    assert kem.decapsulate(made.private, ciphertext) == secret
    assert isinstance(kem, Kem)
    sizes = {"public": len(kem.encode_public(made.public)), "ciphertext": len(ciphertext), "secret": len(secret)}
    assert sizes == kem.algorithm.sizes


def test_steps_give_what_the_whole_gives() -> None:
    """Encapsulate, combine, seal, serialize make a token that decryption opens; parse and the rest open one of encryption's."""
    key = new_key(pair())
    kem: CompositeKem = key.primitive
    both = kem.encapsulate_each(key.pair.public)
    sealed = jwe_steps.seal(key, kem.combine(both, "A256GCM", 32), b"message", CONTENT)
    assert jwe_json.decrypt_general(key, jwe_steps.serialize(key, both, sealed), CONTENT) == b"message"
    parsed = jwe_steps.parse(jwe_json.encrypt_general(key, b"message", CONTENT))
    back = jwe_steps.decapsulate(key, parsed, CONTENT)
    assert jwe_steps.open_parsed(kem.combine(back, "A256GCM", 32), parsed, CONTENT) == b"message"


def test_handles_and_results_show_no_secret() -> None:
    """The repr of private handles, encapsulations and keys names no octet."""
    key = new_key(pair())
    result = key.primitive.encapsulate_each(key.pair.public)
    shown = repr(key.pair.private) + repr(result) + repr(key) + repr(key.pair)
    assert shown == f"Half(...)Encapsulated(...)Key(X25519+ML-KEM-768, kid={key.kid})KeyPair(...)"


def test_an_unknown_kdf_is_an_error() -> None:
    """A KDF token that the profile does not have is named."""
    with pytest.raises(ValueError, match="unknown KDF token 'HKDF-MD5'; known are HKDF-SHA256"):
        pair(kdf="HKDF-MD5")


def test_the_same_token_under_another_kdf_is_refused() -> None:
    """A key of another KDF does not open a token, even if the header is rewritten to name it."""
    kem, other = pair(), pair(kdf="HKDF-SHA512")
    key = new_key(kem)
    token = json.loads(jwe_json.encrypt_general(key, b"message", CONTENT))
    header = parse_header(b64u_decode(token["protected"].encode()))
    header["anka"] = other.anka
    token["protected"] = b64u_encode(dump_header(header)).decode()
    with pytest.raises(Refused):
        jwe_json.decrypt_general(Key(other, key.pair), json.dumps(token).encode(), CONTENT)
