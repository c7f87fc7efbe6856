"""The operators of payloads, signatures, MACs, composites, JWS and checks, called as a pipeline calls them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from anka_flow.discovery import Operators, bundled
from anka_flow.errors import CheckFailed, IdentityFailed
from anka_flow.jose.jws import CompactToken
from anka_flow.keys import Key
from anka_flow.plan import primitive
from anka_flow.primitives import Algorithm, Buffer
from anka_flow.streams import CHUNK_BYTES, Arena, BytesSource

from . import tokens
from .tokens import PAYLOAD, key, other_key

OPERATORS = Operators([bundled("operators")])
SEED = 0xC0FFEE_BABEFACE


def use(address: str) -> Callable[..., Any]:
    return OPERATORS.get(address)


def _joined(source: Any, size: int = CHUNK_BYTES) -> bytes:
    return b"".join(bytes(chunk) for chunk in source.chunks(size))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1024, 100_000])
def test_payloads_are_the_output_of_shake256(size: int) -> None:
    """A payload depends on nothing but its seed and its size, and is made once."""
    made = use("payload.seeded")(size, SEED)
    assert made == hashlib.shake_256(SEED.to_bytes(32, "big")).digest(size)
    assert use("payload.seeded")(size, SEED) is made


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1024, 100_000])
def test_variants_differ_in_their_first_octets_alone(size: int) -> None:
    """A variant replaces at most eight octets by its number; each number gives another payload."""
    whole, changed = use("payload.seeded")(size, SEED), use("payload.seeded")(size, SEED, variant=258)
    assert changed == ((258).to_bytes(8, "big") + whole[8:])[:size]
    assert len(changed) == size


@pytest.mark.parametrize("size", [0, 5, 1024, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 17])
@pytest.mark.parametrize("chunk", [1000, 1024, CHUNK_BYTES, 3 * CHUNK_BYTES // 2, 10 * CHUNK_BYTES])
@pytest.mark.parametrize("variant", [0, 1, 1 << 40])
def test_sources_give_the_octets_of_the_payload(size: int, chunk: int, variant: int) -> None:
    """A source gives the same octets as the payload of that size and variant, again and again, in full chunks."""
    source = use("payload.source")(size, SEED, variant)
    pieces = [len(piece) for piece in source.chunks(chunk)]
    assert all(piece == chunk for piece in pieces[:-1])
    assert _joined(source, chunk) == _joined(source) == use("payload.seeded")(size, SEED, variant)


def test_sources_share_one_buffer() -> None:
    """A smaller source reads from the memory of the larger one."""
    large, small = use("payload.source")(200_000, SEED), use("payload.source")(1000, SEED)
    assert large.view.obj is small.view.obj


def test_equal_compares_octets_and_sources() -> None:
    """Buffers and sources of the same octets are equal, whatever holds them."""
    data = bytes(range(256)) * 1000
    arena = Arena(len(data))
    arena.write(data)
    arena.commit()
    for left in (data, bytearray(data), memoryview(data), BytesSource(data), arena):
        use("check.equal")(left, data)
        use("check.equal")(BytesSource(data), left)


@pytest.mark.parametrize("wrong", [b"", PAYLOAD[:-1], PAYLOAD + b"\0", PAYLOAD[:-1] + b"!"])
@pytest.mark.parametrize("form", [bytes, BytesSource])
def test_equal_finds_every_difference(wrong: bytes, form: Callable[[bytes], Any]) -> None:
    """A missing, additional or changed octet fails."""
    with pytest.raises(CheckFailed, match="differ"):
        use("check.equal")(form(wrong), PAYLOAD)


@pytest.mark.parametrize("value", [False, 1, b"\1", None, "true"])
def test_true_wants_true_itself(value: Any) -> None:
    """What merely counts as true fails."""
    use("check.true")(True)
    with pytest.raises(CheckFailed):
        use("check.true")(value)


def test_different_and_size_fail_where_they_must() -> None:
    """Equal sides and another number of octets fail."""
    use("check.different")(b"a", b"b")
    use("check.size")(PAYLOAD, 41)
    with pytest.raises(CheckFailed):
        use("check.different")(b"a", bytearray(b"a"))
    with pytest.raises(CheckFailed):
        use("check.size")(PAYLOAD, 40)


@pytest.mark.parametrize("name", ["mac:HMAC-SHA256", "signature:Ed25519", "signature:ML-DSA-44", "signature:RSA-2048"])
def test_jws_from_key_to_resigned_token(name: str) -> None:
    """Generate, restore, sign, verify, re-sign and the proving checks go together, compact and streamed."""
    kind, _, short = name.partition(":")
    algorithm = primitive(kind, short)
    made = use("jws.generate")(algorithm)
    restore = use("jws.generate").__anka_operator__.restore  # type: ignore[attr-defined]  # noted by the decorator
    holder, other = restore(made.dump(), algorithm), use("jws.generate")(algorithm)
    token = use("jws.sign")(made, PAYLOAD)
    use("check.equal")(use("jws.verify")(holder, token), PAYLOAD)
    use("check.equal")(use("jws.verify")(other, use("jws.resign")(holder, other, token)), PAYLOAD)
    use("jws.check_refusals")(holder, other, token)
    source = use("payload.source")(100_000, SEED)
    detached = use("jws.sign_stream")(made, source)
    use("check.true")(use("jws.verify_stream")(holder, source, detached))
    renewed = use("jws.resign_stream")(holder, other, source, detached)
    use("check.true")(use("jws.verify_stream")(other, source, renewed))
    use("jws.check_stream_refusals")(holder, other, source, detached)


@pytest.mark.parametrize("name", tokens.COMPOSITES)
def test_composite_steps_apart_make_a_valid_token(name: str) -> None:
    """Pre-hash, both halves and assembly, measured apart, give a token that verifies as a whole."""
    parts = [primitive("signature", part) for part in name.split("+")]
    made = use("composite_signature.generate")(*parts)
    restore = use("composite_signature.generate").__anka_operator__.restore  # type: ignore[attr-defined]  # noted by the decorator
    holder = restore(made.dump(), *parts)
    signed = use("jws.signing_input")(holder, PAYLOAD)
    representative = use("composite_signature.prehash")(holder, signed)
    halves = [use(f"composite_signature.sign_{half}")(holder, representative) for half in ("pqc", "classical")]
    signature = use("composite_signature.assemble")(*halves)
    assert use("composite_signature.verify")(made, signed, signature)
    assert use("jws.verify")(made, use("jws.assemble")(signed, signature)) == PAYLOAD


@pytest.mark.parametrize("name", ["signature:P-256", "signature:FALCON-512", "signature:ML-DSA-65"])
def test_signatures_without_jose(name: str) -> None:
    """Sign and verify over the payload as it is, and the proving check."""
    holder = key(name)
    signature = use("signature.sign")(holder, PAYLOAD)
    use("check.true")(use("signature.verify")(holder, PAYLOAD, signature))
    use("signature.check_refusals")(holder, other_key(name), PAYLOAD, signature)
    assert holder.uses == 2


@pytest.mark.parametrize("name", ["HMAC-SHA3-256", "KMAC128", "CMAC-AES-256"])
def test_macs_without_jose(name: str) -> None:
    """Tag and verify over the payload as it is, and the proving check."""
    algorithm = primitive("mac", name)
    holder, other = use("mac.generate")(algorithm), use("mac.generate")(algorithm)
    tag = use("mac.tag")(holder, PAYLOAD)
    assert use("mac.verify")(holder, PAYLOAD, tag)
    assert not use("mac.verify")(other, PAYLOAD, tag)
    use("mac.check_refusals")(holder, other, PAYLOAD, tag)
    with pytest.raises(IdentityFailed):
        use("mac.check_refusals")(holder, other, PAYLOAD, tag[:-1])
    with pytest.raises(CheckFailed, match="another key"):
        use("mac.check_refusals")(holder, holder, PAYLOAD, tag)


class Yes:
    """A signer that finds every signature valid: what the proving checks are there to find."""

    streams = False

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm

    def sign(self, private: object, message: Buffer, context: bytes = b"") -> bytes:
        return bytes(64)

    def verify(self, public: object, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        return True


def test_the_proving_checks_find_a_signer_that_accepts_everything() -> None:
    """Each check fails for a signer that says yes to another key."""
    holder = key("signature:P-256")
    lax = Key(Yes(holder.primitive.algorithm), holder.pair, kid="lax")
    source = BytesSource(PAYLOAD)
    with pytest.raises(CheckFailed, match="another key"):
        use("signature.check_refusals")(lax, lax, PAYLOAD, bytes(64))
    with pytest.raises(CheckFailed, match="another key"):
        use("jws.check_refusals")(lax, lax, use("jws.sign")(lax, PAYLOAD))
    with pytest.raises(CheckFailed, match="another key"):
        use("jws.check_stream_refusals")(lax, lax, source, use("jws.sign_stream")(lax, source))


def test_the_proving_check_finds_what_only_damage_shows() -> None:
    """A verifier that ignores the payload passes with another key, and fails on the flipped bit."""
    holder, other = key("signature:P-256"), other_key("signature:P-256")
    lax = Key(Yes(holder.primitive.algorithm), holder.pair, kid="lax")
    with pytest.raises(CheckFailed, match="flipped payload bit"):
        use("jws.check_refusals")(lax, other, use("jws.sign")(holder, PAYLOAD))
    with pytest.raises(CheckFailed, match="flipped payload bit"):
        use("signature.check_refusals")(lax, other, PAYLOAD, bytes(64))


def test_a_signature_of_another_size_is_no_identity() -> None:
    """A signature whose size is not the standard's fails the case, whether it verifies or not."""
    holder = key("signature:P-256")
    with pytest.raises(IdentityFailed, match="63 octets"):
        use("signature.check_refusals")(holder, holder, PAYLOAD, bytes(63))


@pytest.mark.parametrize(("name", "at"), [("signature:XMSS", slice(0, 4)), ("signature:LMS", slice(0, 4))])
def test_stateful_keys_never_use_an_index_twice(name: str, at: slice) -> None:
    """Signing, re-signing and streaming with one stateful key use three indices."""
    holder, mac = key(name), key("mac:HMAC-SHA256")
    source = BytesSource(PAYLOAD)
    token = use("jws.sign")(holder, PAYLOAD)
    renewed = use("jws.resign")(mac, holder, use("jws.sign")(mac, PAYLOAD))
    detached = use("jws.resign_stream")(mac, holder, source, use("jws.sign_stream")(mac, source))
    compact = CompactToken(bytearray(detached.compact()))
    indices = {tokens.take_apart(bytes(one.octets))[2][at] for one in (token, renewed, compact)}
    assert len(indices) == 3
