"""Streamed JWE: what goes in comes out, in constant memory, and nothing that is not verified is released."""

from __future__ import annotations

import io
import json
import os
import threading
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anka_flow import Key, Unsupported, primitive
from anka_flow.errors import AnkaError
from anka_flow.jose import jwe_damage, segment
from anka_flow.jose.composite_kem import CompositeKem
from anka_flow.jose.encoding import b64u_decode, b64u_encode, dump_header, parse_header
from anka_flow.jose.jwe_json import decrypt_general, encrypt_general
from anka_flow.jose.stream import decrypt_stream, encrypt_stream, reencrypt_stream, token_facts
from anka_flow.primitives import Buffer
from anka_flow.streams import CHUNK_BYTES, Arena, BytesSource, FileSink, FileSource, NullSink

from . import jwe_keys
from .test_jwe import SENTENCE, mutations, new_key, refusal_of

GCM = jwe_keys.aead("A256GCM")
SEGMENT = segment.SEGMENT_BYTES
SIZES = (0, 1, 2, 3, SEGMENT - 1, SEGMENT, SEGMENT + 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * SEGMENT, 300_001)


def composite_key() -> Key:
    pair = CompositeKem(primitive("kem", "P-256"), primitive("kem", "ML-KEM-768"))
    return Key(pair, pair.generate())


KEYS = {"single": new_key("ECDH-ES", crv="X25519"), "composite": composite_key()}


class Collected:
    """A sink that shows what it was given, and how it ended."""

    def __init__(self) -> None:
        self.octets, self.ended = bytearray(), ""

    def write(self, data: Buffer) -> None:
        self.octets += data

    def commit(self) -> None:
        self.ended += "commit"

    def abort(self) -> None:
        self.ended += "abort"


def sealed(key: Key, payload: Buffer, content: Any = GCM, profile: str = "") -> bytes:
    sink = Collected()
    encrypt_stream(key, BytesSource(payload), sink, content, profile)
    assert sink.ended == "commit"
    return bytes(sink.octets)


def opened(key: Key, token: Buffer, content: Any = GCM, profile: str = "", *, quarantined: bool = False) -> bytes:
    sink = Collected()
    decrypt_stream(key, BytesSource(token), sink, content, profile, quarantined=quarantined)
    assert sink.ended == "commit"
    return bytes(sink.octets)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("profile", ["S1", "S2"])
@pytest.mark.parametrize("kind", KEYS)
def test_what_goes_in_comes_out(kind: str, profile: str, size: int) -> None:
    """Around every boundary of chunks and segments, for both profiles, single and composite keys."""
    payload = os.urandom(size)
    assert opened(KEYS[kind], sealed(KEYS[kind], payload, profile=profile), profile=profile) == payload


@pytest.mark.parametrize("size", SIZES)
def test_a_streamed_token_opens_in_memory_and_the_reverse(size: int) -> None:
    """Profile S1 and General JSON in memory are one form."""
    key, payload = KEYS["composite"], os.urandom(size)
    assert decrypt_general(key, sealed(key, payload), GCM) == payload
    assert opened(key, encrypt_general(key, payload, GCM)) == payload


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("AES-128-GCM", "S1"), ("SM4-GCM", "S1"), ("AES-256-CCM", "S2"), ("SM4-CCM", "S2"),
        ("AES-128-CBC-HMAC-SHA256", "S2"), ("AES-256-CBC-HMAC-SHA512", "S2"),
    ],
)  # fmt: skip
def test_profile_follows_from_what_the_cipher_can(name: str, profile: str) -> None:
    """S1 where the cipher works in pieces, S2 where it does not; the token says which."""
    content, key = primitive("aead", name, "openssl"), new_key()
    token = sealed(key, bytes(200_000), content)
    assert token_facts(BytesSource(token), content)["segmented"] is (profile == "S2")
    assert opened(key, token, content) == bytes(200_000)


def test_a_cipher_that_takes_whole_messages_cannot_do_s1() -> None:
    """Asking for S1 then is an error that names the way out."""
    with pytest.raises(Unsupported, match="use profile S2"):
        encrypt_stream(new_key(), BytesSource(b""), NullSink(), primitive("aead", "AES-256-CCM", "openssl"), "S1")


def test_facts_name_what_the_token_shows() -> None:
    """Algorithms and the KEM's ciphertext are read from the head of the token alone."""
    token = sealed(KEYS["composite"], bytes(10), profile="S2")
    assert token_facts(BytesSource(token), GCM) == {
        "enc": "A256GCM",
        "alg": "P-256+ML-KEM-768",
        "ciphertext": 65 + 1088,
        "stream_enc": "urn:anka-flow:A256GCM-STREAM64K",
        "segmented": True,
    }


def test_segments_are_those_of_the_profile() -> None:
    """A token in segments, opened by hand after its text: key from the header, counter and flag in the nonce."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256, Hash
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    key, payload = new_key("dir"), os.urandom(2 * SEGMENT + 5)
    token = json.loads(sealed(key, payload, profile="S2"))
    assert "tag" not in token
    header = Hash(SHA256())
    header.update(token["protected"].encode())
    info = b"anka-flow stream v1" + header.finalize()
    cipher = AESGCM(HKDFExpand(SHA256(), 32, info).derive(key.primitive.encode_private(key.pair)))
    octets, prefix = b64u_decode(token["ciphertext"].encode()), b64u_decode(token["iv"].encode())
    assert len(prefix) == 7
    plain = b""
    for index in range(3):
        part = octets[index * (SEGMENT + 16) : (index + 1) * (SEGMENT + 16)]
        plain += cipher.decrypt(prefix + index.to_bytes(4, "big") + bytes([index == 2]), part, b"")
    assert plain == payload


def test_two_messages_under_one_direct_key_have_two_segment_keys() -> None:
    """The salt in the header makes the segment key new, also where the content key is not."""
    key = new_key("dir")
    headers = [parse_header(b64u_decode(json.loads(sealed(key, b"", profile="S2"))["protected"].encode())) for _ in range(2)]
    assert headers[0]["anka"]["salt"] != headers[1]["anka"]["salt"]
    assert headers[0]["crit"] == ["anka"]


@pytest.mark.parametrize("profile", ["S1", "S2"])
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("size", [5, 3 * SEGMENT])
def test_damaged_tokens_are_refused_with_one_sentence(kind: str, profile: str, size: int) -> None:
    """Cut, extended, changed and foreign characters anywhere, in each way of reading."""
    token = sealed(KEYS[kind], os.urandom(size), profile=profile)
    for quarantined in (False, True):
        for what, source in jwe_damage.streamed(memoryview(token)):
            sink = Collected()
            found = refusal_of(
                lambda s=source, k=sink, q=quarantined: decrypt_stream(KEYS[kind], s, k, GCM, profile, quarantined=q)
            )
            assert (what, found, sink.ended) == (what, SENTENCE, "abort")


def test_nothing_unverified_is_released_by_two_passes() -> None:
    """With a wrong tag, not one octet reaches the sink."""
    token = bytearray(sealed(KEYS["single"], os.urandom(300_000)))
    token[-6] ^= 1
    sink = Collected()
    assert refusal_of(lambda: decrypt_stream(KEYS["single"], BytesSource(token), sink, GCM)) == SENTENCE
    assert (bytes(sink.octets), sink.ended) == (b"", "abort")


def test_a_quarantined_sink_is_aborted() -> None:
    """One pass writes as it goes; with a wrong tag the sink is told to forget, and never to commit."""
    token = bytearray(sealed(KEYS["single"], os.urandom(300_000)))
    token[-6] ^= 1
    sink = Collected()
    assert refusal_of(lambda: decrypt_stream(KEYS["single"], BytesSource(token), sink, GCM, quarantined=True)) == SENTENCE
    assert sink.ended == "abort"
    assert sink.octets


def test_segments_before_a_wrong_one_are_all_that_is_released() -> None:
    """S2 releases verified segments in order, and stops at the first that is not."""
    payload = os.urandom(4 * SEGMENT)
    token = bytearray(sealed(KEYS["single"], payload, profile="S2"))
    start = token.index(b'"ciphertext":"') + 14
    at = start + (2 * SEGMENT + 100) * 4 // 3
    token[at] = ord("B" if token[at] == ord("A") else "A")
    sink = Collected()
    assert refusal_of(lambda: decrypt_stream(KEYS["single"], BytesSource(token), sink, GCM, "S2")) == SENTENCE
    assert (bytes(sink.octets), sink.ended) == (payload[: 2 * SEGMENT], "abort")


def _with_segments(token: bytes, order: list[int], *, tail: bytes = b"") -> bytes:
    """Return an S2 token with its segments in another order."""
    members = json.loads(token)
    octets, size = b64u_decode(members["ciphertext"].encode()), SEGMENT + 16
    parts = [octets[at * size : (at + 1) * size] for at in order]
    members["ciphertext"] = b64u_encode(b"".join(parts) + tail).decode()
    return json.dumps(members, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "order",
    [[0, 1], [0, 1, 2, 2], [1, 0, 2], [0, 2], [2], [0, 0, 1, 2], [2, 0, 1], [], [0, 1, 2, 0]],
    ids=lambda o: "".join(map(str, o)) or "none",
)
def test_lost_moved_and_repeated_segments_are_refused(order: list[int]) -> None:
    """Truncation at a boundary, reordering, repetition and data after the last segment."""
    key = KEYS["composite"]
    token = sealed(key, os.urandom(3 * SEGMENT), profile="S2")
    assert opened(key, _with_segments(token, [0, 1, 2]), profile="S2")
    assert refusal_of(lambda: opened(key, _with_segments(token, order), profile="S2")) == SENTENCE


def test_an_empty_last_segment_is_refused_unless_the_message_is_empty() -> None:
    """A message has one form: what ends at a boundary ends with a full segment."""
    key, content = new_key("dir"), GCM
    token = json.loads(sealed(key, os.urandom(SEGMENT), profile="S2"))
    protected, prefix = token["protected"].encode(), b64u_decode(token["iv"].encode())
    secret = key.primitive.encode_private(key.pair)
    (first,) = segment.open_segments(content, secret, protected, prefix, iter([b64u_decode(token["ciphertext"].encode())]))
    handle = segment._segment_key(content, secret, protected)
    parts = [content.seal(handle, segment._nonce(prefix, i, last=bool(i)), (first, b"")[i], b"") for i in range(2)]
    token["ciphertext"] = b64u_encode(b"".join(parts)).decode()
    assert refusal_of(lambda: opened(key, json.dumps(token).encode(), profile="S2")) == SENTENCE


@pytest.mark.parametrize(("made", "asked"), [("S1", "S2"), ("S2", "S1")])
def test_the_profile_is_the_caller_s(made: str, asked: str) -> None:
    """A token of one profile is refused where the other is asked for."""
    for key in KEYS.values():
        assert refusal_of(lambda k=key: opened(k, sealed(k, bytes(10), profile=made), profile=asked)) == SENTENCE


@pytest.mark.parametrize(
    "change",
    [
        {"anka": {"v": 2, "mode": "STREAM64K", "salt": "AAAA"}},
        {"anka": {"v": True, "mode": "STREAM64K", "salt": "AAAA"}},
        {"anka": {"v": 1, "mode": "STREAM", "salt": "AAAA"}},
        {"anka": {"v": 1, "mode": "STREAM64K"}},
        {"anka": {"v": 1, "mode": "STREAM64K", "salt": "AAAA", "more": 1}},
        {"anka": []},
        {"crit": ["anka", "b64"]},
        {"crit": "anka"},
        {"zip": "DEF"},
    ],
)
def test_changed_marks_of_segments_are_refused(change: dict[str, Any]) -> None:
    """The header of S2 has one form."""
    key = new_key("A256KW")
    token = json.loads(sealed(key, b"message", profile="S2"))
    header = parse_header(b64u_decode(token["protected"].encode())) | change
    token["protected"] = b64u_encode(dump_header(header)).decode()
    assert refusal_of(lambda: opened(key, json.dumps(token).encode(), profile="S2")) == SENTENCE


class Changing(BytesSource):
    """A source that gives something else when it is read again."""

    def __init__(self, first: Buffer, second: Buffer) -> None:
        super().__init__(first)
        self.second = second

    def chunks(self, size: int = CHUNK_BYTES) -> Iterator[Buffer]:
        yield from super().chunks(size)
        self.view = memoryview(self.second)


def test_a_source_that_changes_between_the_passes_is_found_out() -> None:
    """Another head, another ciphertext or another token of the same key in the second pass never commits."""
    key = KEYS["single"]
    good, other = sealed(key, bytes(300_000)), sealed(key, bytes(300_000))
    changed = bytearray(good)
    changed[-100_000] ^= 1
    for second in (changed, other, good[:-3]):
        sink = Collected()
        assert refusal_of(lambda s=second, k=sink: decrypt_stream(key, Changing(good, s), k, GCM)) == SENTENCE
        assert sink.ended == "abort"


def test_reencryption_moves_a_token_to_another_key() -> None:
    """Both profiles, single to composite and back; the old key does not open the new token."""
    for old, new in ((KEYS["single"], KEYS["composite"]), (KEYS["composite"], KEYS["single"])):
        for profile in ("S1", "S2"):
            payload, sink = os.urandom(250_000), Collected()
            token = sealed(old, payload, profile=profile)
            reencrypt_stream(old, new, BytesSource(token), sink, GCM, profile=profile)
            assert sink.ended == "commit"
            assert opened(new, sink.octets, profile=profile) == payload
            assert refusal_of(lambda o=old, s=sink, p=profile: opened(o, s.octets, profile=p)) == SENTENCE


def test_reencryption_of_a_damaged_token_commits_nothing() -> None:
    """The new token is aborted with the old one's error."""
    token = bytearray(sealed(KEYS["single"], os.urandom(250_000)))
    token[-6] ^= 1
    for quarantined in (False, True):
        sink = Collected()
        call = partial(
            reencrypt_stream, KEYS["single"], KEYS["composite"], BytesSource(token), sink, GCM, quarantined=quarantined
        )
        assert refusal_of(call) == SENTENCE
        assert sink.ended == "abort"


def _pipe(octets: bytes) -> FileSource:
    """Return the reading end of a pipe into which a thread writes the octets a few at a time."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as file:
            for start in range(0, len(octets), 7_001):
                file.write(octets[start : start + 7_001])

    threading.Thread(target=write, daemon=True).start()
    return FileSource(os.fdopen(reading, "rb", buffering=0), once=True)


@pytest.mark.parametrize(("profile", "quarantined"), [("S2", False), ("S1", True)])
def test_a_pipe_can_be_decrypted(profile: str, quarantined: bool) -> None:
    """S2 by its nature, S1 into a quarantined sink."""
    payload = os.urandom(400_000)
    source, sink = _pipe(sealed(KEYS["composite"], payload, profile=profile)), Collected()
    with source.file:
        decrypt_stream(KEYS["composite"], source, sink, GCM, profile, quarantined=quarantined)
    assert bytes(sink.octets) == payload


def test_a_pipe_cannot_be_decrypted_in_two_passes() -> None:
    """The error names the two ways out, and the sink is aborted."""
    source, sink = FileSource(io.BytesIO(), once=True), Collected()
    with pytest.raises(Unsupported, match="use a quarantined sink or S2"):
        decrypt_stream(KEYS["single"], source, sink, GCM)
    assert sink.ended == "abort"


def test_a_full_sink_aborts() -> None:
    """An error of the sink's own comes through, and leaves nothing committed."""
    arena = Arena(1000)
    with pytest.raises(AnkaError, match="is full"):
        encrypt_stream(KEYS["single"], BytesSource(bytes(5000)), arena, GCM)
    assert len(arena) == 0


@pytest.mark.parametrize("profile", ["S1", "S2"])
def test_memory_does_not_grow_with_the_payload(profile: str) -> None:
    """Encryption, decryption and re-encryption of 16 MiB allocate less than 1 MiB at any time."""
    size, key, new = 16 << 20, KEYS["composite"], KEYS["single"]
    payload, token, fresh = BytesSource(bytes(size)), Arena(size * 4 // 3 + 300_000), Arena(size * 4 // 3 + 300_000)
    tracemalloc.start()
    try:
        encrypt_stream(key, payload, token, GCM, profile)
        decrypt_stream(key, token, NullSink(), GCM, profile)
        reencrypt_stream(key, new, token, fresh, GCM, profile=profile)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":"' + b"A" * (8 << 20),
        b"[" * (8 << 20),
        b'{"ciphertext":"' + b"A" * (8 << 20),
        b'{"ciphertext":"AAAA"' + b" " * (8 << 20),
    ],
)
@pytest.mark.parametrize("profile", ["S1", "S2"])
def test_a_bomb_does_not_fill_memory(profile: str, text: bytes) -> None:
    """A head, a ciphertext or a tail without end is refused with less than 2 MiB in use."""
    tracemalloc.start()
    try:
        assert refusal_of(lambda: decrypt_stream(KEYS["single"], BytesSource(text), NullSink(), GCM, profile)) == SENTENCE
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


PLAIN = os.urandom(90_000)
TOKENS = {profile: sealed(KEYS["composite"], PLAIN, profile=profile) for profile in ("S1", "S2")}


@pytest.mark.parametrize("profile", ["S1", "S2"])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_mutated_streamed_token_never_commits_another_payload(profile: str, data: st.DataObject) -> None:
    """Whatever was changed: the one sentence and an abort, or (for another way to write the same) the same payload."""
    token = data.draw(mutations(TOKENS[profile]))
    sink = Collected()
    found = refusal_of(lambda: decrypt_stream(KEYS["composite"], BytesSource(token), sink, GCM, profile))
    if found == "accepted":
        assert (bytes(sink.octets), sink.ended) == (PLAIN, "commit")
    else:
        assert (found, sink.ended) == (SENTENCE, "abort")
        assert bytes(sink.octets) in (b"", PLAIN[:SEGMENT], PLAIN)


def test_a_quarantined_file_appears_only_if_the_token_is_valid(tmp_path: Path) -> None:
    """One pass into a file: with a wrong tag nothing is left of it, else it has the payload."""
    payload, path = os.urandom(200_000), tmp_path / "plain"
    token = sealed(KEYS["composite"], payload)
    damaged = token[:-4] + (b"A" if token[-4:-3] != b"A" else b"B") + token[-3:]
    found = refusal_of(lambda: decrypt_stream(KEYS["composite"], BytesSource(damaged), FileSink(path), GCM, quarantined=True))
    assert (found, list(tmp_path.iterdir())) == (SENTENCE, [])
    decrypt_stream(KEYS["composite"], BytesSource(token), FileSink(path), GCM, quarantined=True)
    assert path.read_bytes() == payload
