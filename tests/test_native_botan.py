"""Botan as a provider: pieces of any size, reused objects that carry nothing over, and keys of exactly one algorithm."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anka_flow.catalog import bundled
from anka_flow.errors import Refused, Unsupported
from anka_flow.provider import availability, providers

CATALOG = bundled()
PROVIDER = providers().get("botan")
needs_library = pytest.mark.skipif(availability("botan") is not None, reason=str(availability("botan")))
NONCE = bytes(range(12))


def primitive(kind: str, name: str, provider: str = "botan") -> Any:
    return providers().get(provider).implement(CATALOG.get(kind, name))


def test_without_the_library_it_says_so(tmp_path: Path) -> None:
    """Where nothing is installed, Botan is unavailable with a reason, and asking for an algorithm is Unsupported."""
    code = (
        "from anka_flow.catalog import bundled; from anka_flow.errors import Unsupported\n"
        "from anka_flow.provider import providers; botan = providers().get('botan'); print(botan.unavailable())\n"
        "try: botan.implement(bundled().get('aead', 'SEED-GCM'))\n"
        "except Unsupported as error: print(error)"
    )
    env = {"ANKA_FLOW_DATA": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.splitlines() == ["the library Botan 3 is missing"] * 2


def test_a_file_that_is_no_library_is_a_reason(tmp_path: Path) -> None:
    """A file that does not load makes Botan unavailable, with the loader's reason."""
    (tmp_path / "botan.so").write_bytes(b"not a library")
    code = "from anka_flow.provider import providers; print(providers().get('botan').unavailable())"
    env = {"ANKA_FLOW_BOTAN": str(tmp_path / "botan.so"), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.startswith("Botan does not load")


@needs_library
def test_says_version_and_build() -> None:
    """The version is Botan's own; the options name the build."""
    assert PROVIDER.version().startswith("Botan 3.")
    assert "revision" in PROVIDER.options()["build"]


def test_revision_names_the_text_where_texts_differ() -> None:
    """Frodo is round 3, which Botan and ISO call eFrodoKEM."""
    assert "eFrodoKEM" in PROVIDER.revision(CATALOG.get("kem", "FRODO-976"))
    assert "eFrodoKEM-976-AES" in str(PROVIDER.mechanism(CATALOG.get("kem", "FRODO-976")))


@needs_library
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_pieces_of_any_size_give_what_the_whole_gives(data: bytes, cuts: list[int]) -> None:
    """Sealing and opening in pieces, cut anywhere, agree with OpenSSL's whole message octet by octet."""
    aead, reference = primitive("aead", "AES-256-GCM"), primitive("aead", "AES-256-GCM", "openssl")
    secret = bytes(range(32))
    key, whole = (
        aead.decode_private(secret).private,
        reference.seal(reference.decode_private(secret).private, NONCE, data, b"aad"),
    )
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    sealer, opener, out = aead.sealer(key, NONCE, b"aad"), aead.opener(key, NONCE, b"aad"), bytearray(len(data) + 16)
    sealed, opened = b"", b""
    for start, end in pairwise(edges):
        sealed += bytes(out[: sealer.update_into(memoryview(data)[start:end], out)])
        opened += bytes(out[: opener.update_into(memoryview(whole)[start:end], out)])
        assert len(opened) == end  # nothing is held back
    assert sealed + sealer.finish() == whole
    opener.finish(whole[len(data) :])
    assert opened == data


@needs_library
@pytest.mark.parametrize("name", ["AES-256-GCM", "SEED-GCM", "ARIA-256-CCM", "ChaCha20-Poly1305"])
def test_a_refused_message_leaves_nothing_behind(name: str) -> None:
    """After a tampered message, a wrong nonce or a wrong AAD, the same key opens the right one."""
    aead = primitive("aead", name)
    key, nonce = aead.generate().private, bytes(aead.nonce_bytes)
    sealed = aead.seal(key, nonce, b"message" * 5000, b"aad")
    for wrong in (sealed[:-1] + bytes([sealed[-1] ^ 1]), sealed[1:], b""):
        with pytest.raises(Refused):
            aead.open(key, nonce, wrong, b"aad")
        assert aead.open(key, nonce, sealed, b"aad") == b"message" * 5000
    with pytest.raises(Refused):
        aead.open(key, nonce, sealed, b"other")
    with pytest.raises(Refused):
        aead.open(key, b"", sealed, b"aad")
    assert aead.open(key, nonce, sealed, b"aad") == b"message" * 5000


@needs_library
def test_two_messages_in_progress_do_not_mix() -> None:
    """Two sealers of one key and two tags in progress are independent."""
    aead, mac = primitive("aead", "SM4-GCM"), primitive("mac", "KMAC256")
    key, secret = aead.generate().private, mac.generate().private
    first, second = aead.sealer(key, NONCE, b""), aead.sealer(key, NONCE, b"")
    out = bytearray(64)
    first.update_into(b"one message.....", out)
    second.update_into(b"another one", out)
    assert first.finish() == aead.seal(key, NONCE, b"one message.....", b"")[-16:]
    tags = mac.start_tag(secret), mac.start_tag(secret)
    tags[0].update(b"one")
    tags[1].update(b"two")
    assert [tag.finish() for tag in tags] == [mac.tag(secret, b"one"), mac.tag(secret, b"two")]


@needs_library
@pytest.mark.parametrize("name", ["ML-DSA-44", "SLH-DSA-SHA2-128F"])
def test_a_context_is_not_passed_over(name: str) -> None:
    """Botan's C interface has no context: asking for one is Unsupported, not a signature without."""
    signer = primitive("signature", name)
    pair = signer.generate()
    with pytest.raises(Unsupported):
        signer.sign(pair.private, b"message", b"context")
    with pytest.raises(Unsupported):
        signer.verify(pair.public, b"message", bytes(64), b"context")


@needs_library
def test_a_key_of_another_length_or_kind_is_refused() -> None:
    """An RSA key of 2048 bits is none of RSA-3072, and a key of SM2 none of GOST."""
    small, large = primitive("signature", "RSA-2048"), primitive("signature", "RSA-3072")
    sm2, gost = primitive("signature", "SM2"), primitive("signature", "GOST-R34.10-2012-256")
    pair, other = small.generate(), sm2.generate()
    for refuses, data in (
        (large.decode_public, small.encode_public(pair.public)),
        (large.decode_private, small.encode_private(pair)),
        (gost.decode_public, sm2.encode_public(other.public)),
        (gost.decode_private, sm2.encode_private(other)),
    ):
        with pytest.raises(Refused):
            refuses(data)


@needs_library
def test_no_handle_shows_its_key() -> None:
    """The repr of a key and of a pair holds none of its octets."""
    aead = primitive("aead", "AES-128-GCM")
    pair = aead.decode_private(b"0123456789abcdef")
    assert "0123" not in repr(pair) + repr(pair.private)
