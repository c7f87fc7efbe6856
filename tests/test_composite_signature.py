"""Composite signatures: published vectors, exact encodings, and what must be refused (draft-ietf-jose-pq-composite-sigs-04)."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from anka_flow.errors import Refused, Unsupported
from anka_flow.jose import jwk
from anka_flow.jose.composite_signature import PAIRS, CompositeSigner
from anka_flow.jose.jws import sign_compact, signing_input, verify_compact
from anka_flow.keys import Key
from anka_flow.plan import primitive
from anka_flow.primitives import KeyPair

from . import tokens, vectors
from .tokens import COMPOSITES, PAYLOAD, composite, key, must_refuse, other_key

DRAFT = {PAIRS[pair].alg: "+".join(pair) for pair in PAIRS if PAIRS[pair].status == "JOSE draft"}
DRAFT_04 = ["ML-DSA-44-ES256", "ML-DSA-65-ES256", "ML-DSA-87-ES384"]
EDWARDS = ["ML-DSA-44-Ed25519", "ML-DSA-65-Ed25519", "ML-DSA-87-Ed448"]
LAMPS = {
    "id-MLDSA44-Ed25519-SHA512": "Ed25519+ML-DSA-44",
    "id-MLDSA44-ECDSA-P256-SHA256": "P-256+ML-DSA-44",
    "id-MLDSA65-ECDSA-P256-SHA512": "P-256+ML-DSA-65",
    "id-MLDSA65-ECDSA-P384-SHA512": "P-384+ML-DSA-65",
    "id-MLDSA65-Ed25519-SHA512": "Ed25519+ML-DSA-65",
    "id-MLDSA87-ECDSA-P384-SHA512": "P-384+ML-DSA-87",
    "id-MLDSA87-Ed448-SHAKE256": "Ed448+ML-DSA-87",
    "id-MLDSA87-ECDSA-P521-SHA512": "P-521+ML-DSA-87",
}
CUTS = {"44": 2420, "65": 3309, "87": 4627}  # FIPS 204, table 2
PUBLIC_CUTS = {"44": 1312, "65": 1952, "87": 2592}
ECDSA = [name for name in COMPOSITES if name.startswith("P-")]


def _cut(name: str) -> int:
    return CUTS[name[-2:]]


def _published(alg: str) -> Any:
    folder = "jose-composite-sigs-04" if alg in DRAFT_04 else "jose-composite-sigs"
    return json.loads((vectors.folder(folder) / f"{alg}.jose.json").read_text())


def _vector_key(members: dict[str, Any]) -> Key:
    return jwk.import_key(members, composite(DRAFT[members["alg"]]))


@pytest.mark.parametrize("alg", [*DRAFT_04, *EDWARDS])
def test_published_tokens_verify(alg: str) -> None:
    """Key, kid and token of the draft's examples are read and verify."""
    case = _published(alg)
    holder = _vector_key(case["jwk"])
    assert holder.kid == case["jwk"]["kid"] == jwk.thumbprint(case["jwk"])
    assert jwk.export_key(holder, private=True) == case["jwk"]
    assert verify_compact(holder, case["jws"].encode()) == tokens.take_apart(case["jws"].encode())[1]


@pytest.mark.parametrize("alg", [*DRAFT_04, *EDWARDS])
def test_published_representatives_are_made(alg: str) -> None:
    """M' of the draft's examples is made octet by octet."""
    case = _published(alg)
    holder = _vector_key(case["jwk"])
    _, payload, _ = tokens.take_apart(case["jws"].encode())
    hashed = holder.primitive.start_hash()
    hashed.update(signing_input(holder, payload))
    assert holder.primitive.representative(hashed).hex() == (case.get("raw_to_be_signed") or case["raw_message_representative"])


@pytest.mark.parametrize("alg", EDWARDS)
def test_published_eddsa_halves_are_made(alg: str) -> None:
    """EdDSA is deterministic: our classical half equals the published one."""
    case = _published(alg)
    holder = _vector_key(case["jwk"])
    half = holder.primitive.sign_classical(holder.pair.private, bytes.fromhex(case["raw_to_be_signed"]))
    assert case["raw_composite_signature"].endswith(half.hex())


def _to_der(raw: bytes) -> bytes:
    half = len(raw) // 2
    return encode_dss_signature(int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))


def _transcode(members: dict[str, Any], token: str) -> tuple[Key, bytes]:
    """Return key and signature of an older revision (x||y, r||s) in the encodings of revision 04: the content is the same."""
    alg = members["alg"]
    size = alg[7:9]
    public, signature = (base64.urlsafe_b64decode(text + "==") for text in (members["pub"], token.rpartition(".")[2]))
    cut, sig_cut = PUBLIC_CUTS[size], CUTS[size]
    modern = {**members, "pub": tokens.b64u(public[:cut] + b"\x04" + public[cut:]).decode()}
    modern.pop("priv", None)
    return _vector_key(modern), signature[:sig_cut] + _to_der(signature[sig_cut:])


@pytest.mark.parametrize("alg", DRAFT_04)
def test_older_encodings_are_refused_and_verify_transcoded(alg: str) -> None:
    """Raw points and r||s (revisions 02 and 03) are refused under the same alg name; transcoded they verify."""
    case = json.loads((vectors.folder("jose-composite-sigs") / f"{alg}.jose.json").read_text())
    must_refuse("the raw key", _vector_key, case["jwk"])
    holder, signature = _transcode(case["jwk"], case["jws"])
    signed = case["jws"].rpartition(".")[0]
    must_refuse("the raw signature", verify_compact, holder, case["jws"].encode())
    assert verify_compact(holder, f"{signed}.".encode() + tokens.b64u(signature))


def test_hackathon_artefacts_verify() -> None:
    """What another implementation made at the hackathon verifies, its ECDSA pairs after transcoding."""
    published = json.loads((vectors.folder("jose-hackathon") / "py-ref.jose_cose_v1.json").read_text())
    ran: Counter[str] = Counter()
    for case in published["tests"]:
        alg, token = case["alg"], case["jws"]
        if alg in EDWARDS:
            payload = verify_compact(_vector_key(case["jwk_priv"]), token.encode())
        elif alg in DRAFT_04:
            holder, signature = _transcode(case["jwk_pub"], token)
            payload = verify_compact(holder, token.rpartition(".")[0].encode() + b"." + tokens.b64u(signature))
        elif alg in tokens.REGISTERED:
            payload = verify_compact(tokens.vector_key(case["jwk_priv"], alg), token.encode())
        else:
            continue
        assert payload == published["payload_utf8"].encode()
        ran[alg] += 1
    assert len(ran) == 9


def _lamps(name: str) -> tuple[Any, Any]:
    published = json.loads((vectors.folder("lamps") / "composite-sigs-testvectors.json").read_text())
    return published, next(case for case in published["tests"] if case["tcId"] == name)


@pytest.mark.parametrize("name", LAMPS)
def test_lamps_vectors(name: str) -> None:
    """Keys of LAMPS load and encode to the same octets; its signatures verify, with and without a context."""
    published, case = _lamps(name)
    signer = composite(LAMPS[name])
    message, context = base64.b64decode(published["m"]), base64.b64decode(published["ctx"])
    public, private = base64.b64decode(case["pk"]), base64.b64decode(case["sk"])
    handle, pair = signer.decode_public(public), signer.decode_private(private)
    assert signer.encode_public(handle) == signer.encode_public(pair.public) == public
    assert signer.encode_private(pair) == private
    assert signer.verify(handle, message, base64.b64decode(case["s"]))
    assert signer.verify(handle, message, base64.b64decode(case["sWithContext"]), context)
    assert not signer.verify(handle, message, base64.b64decode(case["sWithContext"]))


@pytest.mark.parametrize("alg", ["ML-DSA-44-ES256", "ML-DSA-87-ES384"])
def test_short_ecdsa_halves_verify(alg: str) -> None:
    """Signatures whose r or s has leading zeros, shorter in DER, verify."""
    case = _published(alg)
    halves = json.loads((vectors.folder("jose-composite-sigs-04") / "short-ecdsa.json").read_text())
    signed, _, text = case["jws"].rpartition(".")
    pqc = base64.urlsafe_b64decode(text + "==")[: CUTS[alg[7:9]]]
    for half in halves["valid_der_ecdsa_components"][alg]:
        token = f"{signed}.".encode() + tokens.b64u(pqc + bytes.fromhex(half))
        assert verify_compact(_vector_key(case["jwk"]), token)


@pytest.mark.parametrize("name", COMPOSITES)
def test_sizes_are_those_of_the_parts(name: str) -> None:
    """Public and private keys have the sizes that the algorithm states, signatures at most."""
    holder = key(name)
    sizes = holder.primitive.algorithm.sizes
    assert len(holder.primitive.encode_public(holder.pair.public)) == sizes["public"]
    assert len(holder.primitive.encode_private(holder.pair)) == sizes["private"]
    signature = holder.primitive.sign(holder.pair.private, PAYLOAD)
    assert len(signature) <= sizes.get("signature_max", 0) or len(signature) == sizes.get("signature")


def test_status_of_every_pair() -> None:
    """Six pairs are the JOSE draft's, two have a LAMPS label, three are private; none of the others has a bare name."""
    assert Counter(pair.status for pair in PAIRS.values()) == {"JOSE draft": 6, "LAMPS label": 2, "private": 3}
    assert all(pair.alg.startswith("urn:anka-flow:") for pair in PAIRS.values() if pair.status != "JOSE draft")
    assert all(pair.label.startswith("X-") == (pair.status == "private") for pair in PAIRS.values())
    assert len({pair.label for pair in PAIRS.values()}) == len({pair.alg for pair in PAIRS.values()}) == 11


@pytest.mark.parametrize("name", ["Ed448+ML-DSA-44", "P-521+ML-DSA-44"])
def test_other_pairs_are_unsupported(name: str) -> None:
    """The two pairs that the published table leaves out are not made."""
    with pytest.raises(Unsupported, match="no composite signature"):
        composite(name)


def _damaged(name: str) -> dict[str, bytes]:
    """Return a valid signature of ``PAYLOAD`` damaged in its composite structure, by what was done."""
    holder = key(name)
    signature = holder.primitive.sign(holder.pair.private, PAYLOAD)
    other = holder.primitive.sign(holder.pair.private, PAYLOAD + b"!")
    cut = _cut(name)
    pqc, classical = signature[:cut], signature[cut:]
    return {
        "truncated": signature[:-1],
        "extended": signature + b"\0",
        "one half alone": pqc,
        "the other half alone": classical,
        "swapped halves": classical + pqc,
        "a flipped pqc bit": bytes((pqc[0] ^ 1,)) + pqc[1:] + classical,
        "a flipped classical bit": pqc + classical[:-1] + bytes((classical[-1] ^ 1,)),
        "the pqc half of another message": other[:cut] + classical,
        "the classical half of another message": pqc + other[cut:],
        "an empty classical half": pqc + b"\x30\x06\x02\x01\x00\x02\x01\x00",
        "nothing": b"",
    }


@pytest.mark.parametrize("name", COMPOSITES)
def test_damaged_signatures_are_refused(name: str) -> None:
    """Cut, lengthened, swapped and mixed signatures, and either half damaged, do not verify."""
    holder = key(name)
    assert holder.primitive.verify(holder.pair.public, PAYLOAD, holder.primitive.sign(holder.pair.private, PAYLOAD))
    for what, signature in _damaged(name).items():
        assert not holder.primitive.verify(holder.pair.public, PAYLOAD, signature), what


def _der_variants(der: bytes, octets: int) -> dict[str, bytes]:
    """Return other encodings of the numbers of an Ecdsa-Sig-Value."""
    r, s = decode_dss_signature(der)
    body = der[2:] if der[1] < 0x80 else der[3:]
    first = 2 + body[1]
    padded = bytes((2, body[1] + 1, 0)) + body[2:first]
    negative = (r - (1 << 8 * octets)).to_bytes(octets, "big", signed=True) if r >> (8 * octets - 1) else b"\xff" * octets
    return {
        "raw r||s": r.to_bytes(octets, "big") + s.to_bytes(octets, "big"),
        "a padded integer": _sequence(padded + body[first:]),
        "a negative integer": _sequence(bytes((2, len(negative))) + negative + body[first:]),
        "a length in long form": b"\x30\x81" + bytes((len(body),)) + body if len(body) < 128 else b"\x30\x82\x00" + der[2:],
        "an indefinite length": b"\x30\x80" + body + b"\0\0",
        "trailing octets": der + b"\0",
        "trailing octets inside": _sequence(body + b"\x05\0"),
        "one integer": _sequence(body[:first]),
        "a set": b"\x31" + der[1:],
        "r of zero": _sequence(b"\x02\x01\0" + body[first:]),
        "r above the order": encode_dss_signature(r + (1 << 8 * octets), s),
    }


def _sequence(body: bytes) -> bytes:
    length = bytes((len(body),)) if len(body) < 128 else bytes((0x81, len(body)))
    return b"\x30" + length + body


@pytest.mark.parametrize("name", ECDSA)
def test_other_encodings_of_the_ecdsa_half_are_refused(name: str) -> None:
    """Only the one DER form of (r, s) verifies: no raw form, no padding, no long lengths, no rest."""
    holder = key(name)
    signature = holder.primitive.sign(holder.pair.private, PAYLOAD)
    octets = (int(name[2:5]) + 7) // 8
    for what, half in _der_variants(signature[_cut(name) :], octets).items():
        assert not holder.primitive.verify(holder.pair.public, PAYLOAD, signature[: _cut(name)] + half), what


@pytest.mark.parametrize("name", ECDSA)
def test_other_encodings_of_a_curve_key_are_refused(name: str) -> None:
    """Compressed, hybrid and raw points, points off the curve, another curve's OID and other lengths are refused."""
    signer, holder = composite(name), key(name)
    public, private = signer.encode_public(holder.pair.public), signer.encode_private(holder.pair)
    cut = PUBLIC_CUTS[name[-2:]]
    pqc, point = public[:cut], public[cut:]
    half = len(point) // 2
    for what, changed in {
        "compressed": bytes((2 + (point[-1] & 1),)) + point[1 : half + 1],
        "compressed to full length": bytes((2,)) + point[1:],
        "hybrid": bytes((6 + (point[-1] & 1),)) + point[1:],
        "raw": point[1:],
        "off the curve": point[:-1] + bytes((point[-1] ^ 1,)),
        "infinity": b"\0",
        "trailing": point + b"\0",
    }.items():
        must_refuse(what, signer.decode_public, pqc + changed)
    for what, changed in {
        "another OID": private[:-1] + bytes((private[-1] ^ 1,)),
        "another version": private[:32] + private[32:].replace(b"\x02\x01\x01", b"\x02\x01\x02", 1),
        "a scalar of zero": private[:39] + bytes(half) + private[39 + half :],
        "the raw scalar": private[:32] + private[39 : 39 + half],
        "trailing": private + b"\0",
        "cut": private[:-1],
    }.items():
        must_refuse(what, signer.decode_private, changed)


@pytest.mark.parametrize("name", COMPOSITES)
def test_private_parts_of_other_lengths_are_refused(name: str) -> None:
    """A 64-octet ML-DSA part and an expanded ML-DSA key are refused in a JWK: the seed has 32 octets."""
    holder = key(name)
    members = jwk.export_key(holder, private=True)
    private = base64.urlsafe_b64decode(members["priv"] + "==")
    for first in (private[:32] + bytes(32), bytes(2560), b""):
        changed = {**members, "priv": tokens.b64u(first + private[32:]).decode()}
        must_refuse(f"{len(first)} octets", jwk.import_key, changed, holder.primitive)


def test_a_half_is_no_signature_of_its_own() -> None:
    """The ML-DSA half, taken out, is no ML-DSA JWS of the same payload: it is bound to the label."""
    holder = key("Ed25519+ML-DSA-65")
    plain = primitive("signature", "ML-DSA-65")
    stripped = Key(plain, KeyPair(holder.pair.public[0], holder.pair.private[0]))
    signed = signing_input(stripped, PAYLOAD)
    half = holder.primitive.sign(holder.pair.private, signed)[:3309]
    must_refuse("the half", verify_compact, stripped, signed + b"." + tokens.b64u(half))


def test_a_pair_is_bound_to_its_label() -> None:
    """With the same P-384 key, a signature of one ML-DSA size has no valid half under another pair."""
    first, second = key("P-384+ML-DSA-44"), key("P-384+ML-DSA-65")
    public = (second.pair.public[0], first.pair.public[1])
    signature = second.primitive.sign((second.pair.private[0], first.pair.private[1]), PAYLOAD)
    mixed = signature[:3309] + first.primitive.sign(first.pair.private, PAYLOAD)[2420:]
    assert second.primitive.verify(public, PAYLOAD, signature)
    assert not second.primitive.verify(public, PAYLOAD, mixed)


class _Recording:
    """A signer that says no, or yes, and remembers that it was asked."""

    streams = False

    def __init__(self, name: str, *, answer: bool) -> None:
        self.algorithm = primitive("signature", name).algorithm
        self.answer, self.asked = answer, 0

    def verify(self, public: object, message: object, signature: object, context: bytes = b"") -> bool:
        self.asked += 1
        return self.answer


@pytest.mark.parametrize(("classical", "pqc"), [(True, True), (True, False), (False, True), (False, False)])
def test_both_halves_are_always_checked(classical: bool, pqc: bool) -> None:
    """Whatever the first half says, the second is checked too; valid only if both are."""
    halves = _Recording("Ed25519", answer=classical), _Recording("ML-DSA-44", answer=pqc)
    signer = CompositeSigner(*halves)  # type: ignore[arg-type]
    assert signer.verify((None, None), PAYLOAD, bytes(2484)) is (classical and pqc)
    assert [half.asked for half in halves] == [1, 1]


@pytest.mark.parametrize("name", COMPOSITES)
def test_one_error_whichever_half_fails(name: str) -> None:
    """A token with a damaged half is refused in the same words as one of another key."""
    holder = key(name)
    token = bytes(sign_compact(holder, PAYLOAD))
    signature = tokens.take_apart(token)[2]
    signed = token.rpartition(b".")[0]
    said = {must_refuse("another key", verify_compact, other_key(name), token)}
    for at in (0, _cut(name) - 1, -1):
        changed = bytearray(signature)
        changed[at] ^= 1
        said.add(must_refuse(str(at), verify_compact, holder, signed + b"." + tokens.b64u(bytes(changed))))
    assert len(said) == 1


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_message_in_pieces_is_the_same_message(name: str) -> None:
    """A signature made in pieces verifies whole, and one made whole verifies in pieces, with no piece missing."""
    holder = key(name)
    assert holder.primitive.streams
    signing = holder.primitive.start_sign(holder.pair.private)
    for at in range(len(PAYLOAD)):
        signing.update(PAYLOAD[at : at + 1])
    assert holder.primitive.verify(holder.pair.public, PAYLOAD, signing.finish())
    whole = holder.primitive.sign(holder.pair.private, PAYLOAD)
    for last, wanted in ((len(PAYLOAD), True), (len(PAYLOAD) - 1, False)):
        verifying = holder.primitive.start_verify(holder.pair.public)
        verifying.update(PAYLOAD[:last])
        assert verifying.finish(whole) is wanted


def test_a_library_without_seeds_keeps_its_own_form() -> None:
    """Where the library has no ML-DSA seed to give, keys come back from their own form, and make no JWK."""
    signer = CompositeSigner(primitive("signature", "P-256"), primitive("signature", "ML-DSA-65", "pqcrypto"))  # type: ignore[arg-type]
    holder = jwk.generate(signer)
    back = Key.load(holder.dump(), signer)
    assert verify_compact(back, sign_compact(holder, PAYLOAD)) == PAYLOAD
    with pytest.raises(Unsupported, match="form of its own"):
        jwk.export_key(holder, private=True)


def test_a_context_is_at_most_255_octets() -> None:
    """A longer context is refused before anything is signed."""
    holder = key("Ed25519+ML-DSA-44")
    with pytest.raises(Refused, match="255"):
        holder.primitive.sign(holder.pair.private, PAYLOAD, bytes(256))
