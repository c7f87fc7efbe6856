"""Operators of encryption: what they make opens, restores and tells; their checks fail where something wrong is accepted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from anka_flow import Aead, Buffer, CheckFailed, Key, KeyPair, Refused, Unsupported, primitive
from anka_flow.catalog import bundled
from anka_flow.jose.management import Mode
from anka_flow.streams import BytesSource, FileSource
from operators import aead, bounded, composite_kem, jwe, kem, stream

GCM = primitive("aead", "AES-256-GCM")
PAYLOAD = os.urandom(70_000)


def new_key(name: str = "P-256", kind: str = "kem") -> Key:
    return jwe.generate(primitive(kind, name), GCM)


def new_pair() -> Key:
    return composite_kem.generate(primitive("kem", "X25519"), primitive("kem", "ML-KEM-768"))


class AcceptsAll:
    """A content algorithm that opens whatever it is given."""

    streams = False

    def __init__(self, inner: Aead) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def open(self, key: Any, nonce: Any, data: Any, aad: Any) -> bytes:
        return bytes(data)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("kem", "X448"),
        ("kem", "ML-KEM-1024"),
        ("kem", "RSA-2048"),
        ("kem", "HQC-128"),
        ("aead", "AES-128-CCM"),
        ("aead", "SM4-GCM"),
    ],
)
def test_tokens_open_and_refusals_hold(kind: str, name: str) -> None:
    """Encrypt, decrypt, re-encrypt; the damaged token and the wrong key are refused, in memory and streamed."""
    key, other = new_key(name, kind), new_key(name, kind)
    token = jwe.encrypt(key, PAYLOAD, GCM)
    assert jwe.decrypt(key, token, GCM) == PAYLOAD
    assert jwe.decrypt(other, jwe.reencrypt(key, other, token, GCM), GCM) == PAYLOAD
    jwe.check_refusals(key, other, token, GCM)
    first, second = stream.arena(len(PAYLOAD)), stream.arena(len(PAYLOAD))
    streamed = jwe.encrypt_stream(key, BytesSource(PAYLOAD), first, GCM)
    assert bytes(jwe.decrypt_stream(key, streamed, second, GCM).source.view) == PAYLOAD
    jwe.check_stream_refusals(key, other, streamed, GCM)


def test_a_direct_key_brings_its_own_content_algorithm() -> None:
    """An AEAD as the algorithm encrypts the content itself; the shared content algorithm is not used."""
    token = jwe.encrypt(new_key("AES-128-GCM", "aead"), PAYLOAD, GCM)
    assert token.facts()["enc"] == "A128GCM"


def test_facts_are_those_that_identity_is_judged_by() -> None:
    """``alg``, ``enc`` and sizes are under the names that the catalog has."""
    key = new_key("ML-KEM-768")
    facts = jwe.encrypt(key, PAYLOAD, GCM).facts()
    assert facts == {"alg": "ML-KEM-768", "enc": "A256GCM", "ciphertext": 1088, "nonce": 12, "tag": 16, "payload": 70_000}
    assert facts["ciphertext"] == key.primitive.algorithm.sizes["ciphertext"]


@pytest.mark.parametrize(
    ("profile", "quarantined", "flags"),
    [
        ("S1", False, {"two_pass": True, "quarantined": False}),
        ("S1", True, {"two_pass": False, "quarantined": True}),
        ("S2", False, {"two_pass": False, "quarantined": False}),
    ],
)
def test_the_row_says_how_plaintext_was_released(profile: str, quarantined: bool, flags: dict[str, bool]) -> None:
    """Which way was timed is a fact of the result; segments are one of the token."""
    key, sealed, opened = new_pair(), stream.arena(100), stream.arena(100)
    token = jwe.encrypt_stream(key, BytesSource(b"payload"), sealed, GCM, profile)
    assert token.facts()["segmented"] is (profile == "S2")
    assert jwe.decrypt_stream(key, token, opened, GCM, profile, quarantined).facts() == flags
    renewed = jwe.reencrypt_stream(key, new_pair(), token, opened, GCM, profile, quarantined).facts()
    assert {**renewed, **flags} == renewed
    assert renewed["segmented"] is (profile == "S2")


class Uneven(BytesSource):
    """A source whose chunks end where no cipher's do."""

    def chunks(self, size: int = 0) -> Iterator[Buffer]:
        return super().chunks(size % 7 + 12_345)


@pytest.mark.parametrize("profile", ["S1", "S2"])
def test_a_stream_is_checked_against_its_payload(profile: str) -> None:
    """The check passes for the payload, wherever its chunks end, and for nothing shorter, longer or different."""
    key, size = new_pair(), 200_000
    payload, sealed = bytes(size), stream.arena(size)
    token = jwe.encrypt_stream(key, BytesSource(payload), sealed, GCM, profile)
    for right in (BytesSource(payload), FileSource(BytesIO(payload)), Uneven(payload)):
        jwe.check_stream(key, token, right, GCM, profile)
    for wrong in (payload[1:], payload + b"\0", b"", b"\1" + payload[1:], payload[1:] + b"\1"):
        with pytest.raises(CheckFailed, match="payload"):
            jwe.check_stream(key, token, BytesSource(wrong), GCM, profile)
    with pytest.raises((Refused, CheckFailed)):
        jwe.check_stream(new_pair(), token, BytesSource(payload), GCM, profile)


@pytest.mark.parametrize("generate", [new_key, new_pair])
def test_a_dumped_key_is_restored(generate: Any) -> None:
    """What a run stores of a key opens the tokens of the key that was stored."""
    key = generate()
    operator: Any = jwe.generate if isinstance(key.primitive, Mode) else composite_kem.generate
    inputs = (
        {"algorithm": primitive("kem", "P-256"), "content": GCM}
        if isinstance(key.primitive, Mode)
        else {"classical": primitive("kem", "X25519"), "pqc": primitive("kem", "ML-KEM-768")}
    )
    again = operator.__anka_operator__.restore(key.dump(), **inputs)
    assert jwe.decrypt(again, jwe.encrypt(key, PAYLOAD, GCM), GCM) == PAYLOAD


def test_steps_go_there_and_back() -> None:
    """The stages of composite encryption, one operator each, end in a token that ``decrypt`` opens, and back."""
    key = new_pair()
    both = composite_kem.encapsulate(key)
    sealed = jwe.seal(key, composite_kem.combine(key, both, GCM), PAYLOAD, GCM)
    token = jwe.serialize(key, both, sealed)
    assert jwe.decrypt(key, token, GCM) == PAYLOAD
    parsed = jwe.parse(token)
    back = composite_kem.decapsulate(key, parsed, GCM)
    assert jwe.open(composite_kem.combine(key, back, GCM), parsed, GCM) == PAYLOAD


def test_check_refusals_finds_a_decryption_that_accepts_too_much() -> None:
    """With a content algorithm that checks no tag, the check fails and says what was accepted."""
    lax: Any = AcceptsAll(GCM)
    for key, other in ((new_key(), new_key()), (new_pair(), new_pair())):
        token = jwe.encrypt(key, PAYLOAD, GCM)
        with pytest.raises(CheckFailed, match=r"a token with .+ was accepted"):
            jwe.check_refusals(key, other, token, lax)


def test_check_refusals_finds_two_keys_that_are_one() -> None:
    """If the other key is the same, the token opens under it, and the check says so."""
    key = new_key()
    with pytest.raises(CheckFailed, match="a token with another key was accepted"):
        jwe.check_refusals(key, key, jwe.encrypt(key, PAYLOAD, GCM), GCM)
    sealed = stream.arena(len(PAYLOAD))
    streamed = jwe.encrypt_stream(key, BytesSource(PAYLOAD), sealed, GCM)
    with pytest.raises(CheckFailed, match="a token with another key was accepted"):
        jwe.check_stream_refusals(key, key, streamed, GCM)


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_000])
@pytest.mark.parametrize("name", ["AES-256-GCM", "AES-256-CBC-HMAC-SHA512"])
def test_an_arena_holds_any_token_of_its_payload(name: str, size: int) -> None:
    """The largest KEM ciphertext and the largest tags fit, in both profiles."""
    key = jwe.generate(primitive("kem", "HQC-256"), GCM)
    content, payload = primitive("aead", name), BytesSource(bytes(size))
    for profile in ("", "S2"):
        assert len(jwe.encrypt_stream(key, payload, stream.arena(size), content, profile)) > size


def test_streams_work_over_files_too() -> None:
    """The operators of the suites take a file where they take memory."""
    key, sealed, opened = new_pair(), bounded.file(), bounded.file()
    token = jwe.encrypt_stream(key, BytesSource(PAYLOAD), sealed, GCM)
    plain = jwe.decrypt_stream(key, token, opened, GCM)
    assert b"".join(map(bytes, plain.chunks())) == PAYLOAD
    jwe.check_stream_refusals(key, new_pair(), token, GCM)


def test_a_content_algorithm_without_a_name_is_refused() -> None:
    """No token could say which algorithm it was."""
    from dataclasses import replace

    nameless: Any = AcceptsAll(GCM)
    nameless.algorithm = replace(GCM.algorithm, jose="")
    with pytest.raises(Unsupported, match="has no JOSE name"):
        jwe.generate(primitive("kem", "P-256"), nameless)


def test_kem_operators_agree() -> None:
    """Encapsulation and decapsulation give one secret; facts tell its size; refusals hold."""
    algorithm = primitive("kem", "ML-KEM-768")
    key, other = kem.generate(algorithm), kem.generate(algorithm)
    made = kem.encapsulate(key)
    assert kem.decapsulate(key, made) == made.secret
    assert made.facts() == {"ciphertext": 1088, "secret": 32}
    kem.check_refusals(key, other, made)
    assert kem.generate.__anka_operator__.restore(key.dump(), algorithm).kid == key.kid  # type: ignore[attr-defined]  # a note


def test_kem_check_finds_a_key_that_is_the_same() -> None:
    """A secret that another key gives too is a fault."""
    key = kem.generate(primitive("kem", "X25519"))
    with pytest.raises(CheckFailed, match="another key gave the same secret"):
        kem.check_refusals(key, key, kem.encapsulate(key))


def test_aead_operators_agree() -> None:
    """Seal and open are each other's reverse; refusals hold."""
    algorithm = primitive("aead", "AES-256-CCM")
    key, other = aead.generate(algorithm), aead.generate(algorithm)
    sealed = aead.seal(key, PAYLOAD)
    assert aead.open(key, sealed) == PAYLOAD
    assert sealed.facts() == {"nonce": 11}
    aead.check_refusals(key, other, sealed)


def test_aead_check_finds_an_algorithm_that_opens_all() -> None:
    """A cipher that checks no tag is found out."""
    lax: Any = AcceptsAll(GCM)
    keys = [Key(lax, KeyPair(handle, handle)) for handle in (GCM.generate().private, GCM.generate().private)]
    with pytest.raises(CheckFailed, match="another key was accepted"):
        aead.check_refusals(*keys, aead.seal(keys[0], PAYLOAD))


def test_every_kem_and_aead_of_the_suites_has_a_mode() -> None:
    """No algorithm of the catalog is without a way into a token: its name, or that of its recipients."""
    for row in bundled().algorithms.values():
        if row.kind in ("kem", "aead"):
            assert row.jose, row.id
