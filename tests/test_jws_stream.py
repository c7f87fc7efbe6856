"""Detached JWS over a source: one pass, constant memory where the signer streams, the word ``buffered`` where it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from anka_flow.jose import damage
from anka_flow.jose.jws_stream import (
    DetachedToken,
    resign_stream,
    sign_stream,
    verify_detached,
    verify_stream,
)
from anka_flow.keys import MAX_USES, KeySpent
from anka_flow.primitives import Buffer
from anka_flow.streams import BytesSource, FileSource

from . import tokens
from .tokens import COMPOSITES, PAYLOAD, SIGNING, b64u, key, must_refuse, other_key
from .traced import peak_bytes

ALL = [*SIGNING, *COMPOSITES]
HS256 = "mac:HMAC-SHA256"
ONE_PASS = ("mac:", "signature:RSA-", "signature:P-", "signature:ML-DSA-", "Ed", "P-")
WHOLE = ("signature:Ed", "signature:SLH-DSA-", "signature:FALCON-", "signature:XMSS", "signature:LMS")
ONE_SENTENCE = "token is not valid for this key"
LONG = bytes(i * 17 % 256 for i in range(250_000))


class Pieces:
    """A source that gives pieces of odd sizes, once."""

    once = True

    def __init__(self, data: bytes, size: int = 777) -> None:
        self.data, self.size, self.passes = data, size, 0

    def chunks(self, size: int = 0) -> Iterator[Buffer]:
        self.passes += 1
        for at in range(0, len(self.data), self.size):
            yield self.data[at : at + self.size]


@pytest.mark.parametrize("name", ALL)
def test_a_stream_is_signed_and_verified(name: str) -> None:
    """Whatever the pieces, the token is that of the octets; it verifies from another source of the same octets."""
    token = sign_stream(key(name), BytesSource(LONG))
    assert verify_stream(key(name), Pieces(LONG), token) is True


@pytest.mark.parametrize("name", ALL)
def test_the_token_has_the_form_of_rfc_7797(name: str) -> None:
    """Flattened without payload; the protected header has b64 false, crit, and the members that the project adds."""
    token = sign_stream(key(name), BytesSource(PAYLOAD), issued_at_s=1_800_000_000, key_version=3)
    members = json.loads(token)
    assert members.keys() == {"protected", "signature"}
    header = tokens.take_apart(f"{members['protected']}..".encode())[0]
    assert header == {
        "alg": key(name).primitive.algorithm.jose, "b64": False, "crit": ["b64"], "kid": "the kid", "ank_kv": 3,
        "iat": 1_800_000_000,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["signature:P-256", "signature:ML-DSA-44", "Ed448+ML-DSA-87", HS256])
def test_what_is_signed_is_the_header_a_dot_and_the_octets(name: str) -> None:
    """The signature verifies over ASCII(protected) || '.' || payload, without base64url of the payload."""
    members = json.loads(sign_stream(key(name), BytesSource(b"\0\r\n\xff.")))
    signature = tokens.take_apart(f"{members['protected']}..{members['signature']}".encode())[2]
    message = members["protected"].encode() + b"." + b"\0\r\n\xff."
    assert key(name).primitive.verify(key(name).pair.public, message, signature)


@pytest.mark.parametrize("name", ALL)
def test_every_damage_is_refused_with_one_sentence(name: str) -> None:
    """Another key, another payload and every damage of the token are refused, all in the same words."""
    holder = key(name)
    token = sign_stream(holder, BytesSource(PAYLOAD))
    said = {
        must_refuse("another key", verify_stream, other_key(name), BytesSource(PAYLOAD), token),
        must_refuse("a flipped payload bit", verify_stream, holder, BytesSource(damage.flip(PAYLOAD)), token),
        must_refuse("a shorter payload", verify_stream, holder, BytesSource(PAYLOAD[:-1]), token),
        must_refuse("a longer payload", verify_stream, holder, BytesSource(PAYLOAD + b"\0"), token),
    }
    said |= {must_refuse(what, verify_stream, holder, BytesSource(PAYLOAD), bad) for what, bad in damage.detached(token)}
    assert said == {ONE_SENTENCE}


@pytest.mark.parametrize("name", ALL)
def test_resigning_reads_the_source_once(name: str) -> None:
    """The old token is verified and the new one made in one pass; the new one verifies."""
    old, new = key(name), key(HS256 if name != HS256 else "mac:HMAC-SHA512")
    source = Pieces(LONG)
    renewed = resign_stream(old, new, source, sign_stream(old, BytesSource(LONG)))
    assert source.passes == 1
    assert verify_stream(new, BytesSource(LONG), renewed)
    must_refuse("the renewed token", verify_stream, old, BytesSource(LONG), renewed)
    back = resign_stream(new, old, BytesSource(LONG), renewed)
    assert verify_stream(old, BytesSource(LONG), back)


@pytest.mark.parametrize("name", [HS256, "signature:Ed25519", "P-256+ML-DSA-44"])
def test_resigning_refuses_what_does_not_verify(name: str) -> None:
    """No new token is made of a damaged one, or of another payload."""
    token = sign_stream(key(name), BytesSource(PAYLOAD))
    for what, bad in damage.detached(token):
        must_refuse(what, resign_stream, key(name), key(HS256), BytesSource(PAYLOAD), bad)
    must_refuse("another payload", resign_stream, key(name), key(HS256), BytesSource(PAYLOAD + b"!"), token)


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith(ONE_PASS)])
def test_streaming_algorithms_say_nothing_of_buffers(name: str) -> None:
    """MACs, RSA, ECDSA, ML-DSA and all composites sign in one pass."""
    assert sign_stream(key(name), BytesSource(PAYLOAD)).facts()["buffered"] is False


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith(WHOLE)])
def test_algorithms_that_need_the_whole_message_say_buffered(name: str) -> None:
    """EdDSA, SLH-DSA and the others that cannot stream say so, and re-signing with them on either side too."""
    token = sign_stream(key(name), BytesSource(PAYLOAD))
    assert token.facts()["buffered"] is True
    assert resign_stream(key(name), key(HS256), BytesSource(PAYLOAD), token).buffered
    ours = sign_stream(key(HS256), BytesSource(PAYLOAD))
    assert resign_stream(key(HS256), key(name), BytesSource(PAYLOAD), ours).buffered


@pytest.mark.parametrize("name", [HS256, "signature:P-256", "signature:ML-DSA-65", "Ed25519+ML-DSA-65"])
def test_memory_does_not_grow_with_the_payload(name: str) -> None:
    """Signing, verifying and re-signing 8 MiB from a file allocate far less than that."""
    holder, file = key(name), BytesIO(bytes(8 << 20))
    token = sign_stream(holder, FileSource(file))

    def all_three() -> None:
        sign_stream(holder, FileSource(file))
        verify_stream(holder, FileSource(file), token)
        resign_stream(holder, key(HS256), FileSource(file), token)

    assert peak_bytes(all_three) < 1 << 20


def test_a_token_tells_what_it_is() -> None:
    """Facts come from the token; read as plain octets it verifies as well."""
    token = sign_stream(key("P-384+ML-DSA-87"), BytesSource(PAYLOAD))
    facts = token.facts()
    assert facts["alg"] == "ML-DSA-87-ES384"
    assert 4627 < int(facts["signature"]) <= 4731
    assert verify_stream(key("P-384+ML-DSA-87"), BytesSource(PAYLOAD), bytes(token))


def test_the_compact_form_verifies_detached() -> None:
    """``protected..signature`` verifies with the payload given apart, and refuses another one."""
    token = sign_stream(key("signature:P-256"), BytesSource(PAYLOAD))
    assert verify_detached(key("signature:P-256"), token.compact(), PAYLOAD)
    must_refuse("another payload", verify_detached, key("signature:P-256"), token.compact(), PAYLOAD + b"!")


@pytest.mark.parametrize("form", ["{}..{}.", "{}.{}", "{}.AA.{}", "..{}", "{}..", "{} ..{}", ""])
def test_other_detached_forms_are_refused(form: str) -> None:
    """Three parts, the second one empty: nothing else is a detached compact token."""
    token = sign_stream(key(HS256), BytesSource(PAYLOAD)).compact()
    protected, _, signature = token.decode().split(".")
    must_refuse(form, verify_detached, key(HS256), form.format(protected, signature).encode(), PAYLOAD)


def _forged(header: dict[str, Any]) -> bytes:
    """Return a flattened token with any header and a MAC that is right for it, over the payload as it is."""
    holder = key(HS256)
    protected = b64u(json.dumps(header).encode())
    tag = holder.primitive.sign(holder.pair.private, protected + b"." + PAYLOAD)
    return b'{"protected":"%b","signature":"%b"}' % (protected, b64u(tag))


def test_a_right_mac_over_a_right_header_verifies() -> None:
    """The maker of the tokens that the next test refuses makes valid ones."""
    assert verify_stream(key(HS256), BytesSource(PAYLOAD), _forged({"alg": "HS256", "b64": False, "crit": ["b64"]}))


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "HS256", "b64": False}, {"alg": "HS256", "b64": False, "crit": []},
        {"alg": "HS256", "b64": False, "crit": ["exp"]},
        {"alg": "HS256", "b64": False, "crit": ["b64", "exp"], "exp": 1}, {"alg": "HS256"}, {"alg": "HS256", "b64": True},
        {"alg": "HS256", "crit": ["b64"]}, {"alg": "HS256", "b64": 0, "crit": ["b64"]}, {"b64": False, "crit": ["b64"]},
        {"alg": "HS256", "b64": "false", "crit": ["b64"]}, {"alg": "HS512", "b64": False, "crit": ["b64"]},
    ],
)  # fmt: skip
def test_b64_must_be_false_and_critical(header: dict[str, Any]) -> None:
    """RFC 7797, 6: b64 false that is not critical is refused, as is every other header, though the MAC is right."""
    must_refuse("the token", verify_stream, key(HS256), BytesSource(PAYLOAD), _forged(header))


@pytest.mark.parametrize(
    "token",
    [
        b"", b"{}", b"[]", b'{"protected":"e30"}', b'{"signature":"AA"}', b'{"protected":1,"signature":"AA"}',
        b'{"protected":"e30","signature":null}', b'{"protected":"e30","signature":"AA","header":{}}',
        b'{"protected":"\xc3\xa9","signature":"AA"}', b'{"protected":"","signature":""}', b" " * 300_000 + b"{}",
    ],
)  # fmt: skip
def test_what_is_no_flattened_token_is_refused(token: bytes) -> None:
    """Missing, additional and ill-typed members and oversized tokens are refused."""
    must_refuse("the token", verify_stream, key(HS256), BytesSource(PAYLOAD), token)


@pytest.mark.parametrize("member", ["alg", "b64", "crit", "kid", "ank_kv", "iat"])
def test_a_caller_cannot_set_what_the_key_decides(member: str) -> None:
    """The members of the project's header are not taken from the caller."""
    with pytest.raises(ValueError, match="not the caller's"):
        sign_stream(key(HS256), BytesSource(PAYLOAD), header={member: 1})


def test_members_of_the_caller_are_protected() -> None:
    """Other members are signed beside them."""
    members = json.loads(sign_stream(key(HS256), BytesSource(PAYLOAD), header={"cty": "text/plain"}))
    assert tokens.take_apart(f"{members['protected']}..".encode())[0]["cty"] == "text/plain"


@pytest.mark.parametrize("what", ["sign", "verify", "old", "new"])
@pytest.mark.parametrize("name", [HS256, "signature:Ed25519"])
def test_every_use_of_a_key_counts(name: str, what: str) -> None:
    """Signing, verifying and re-signing on either side count one use each, and end at the limit."""
    token = sign_stream(key(name), BytesSource(PAYLOAD))
    holder, source = key(name), BytesSource(PAYLOAD)
    uses = {
        "sign": lambda: sign_stream(holder, source),
        "verify": lambda: verify_stream(holder, source, token),
        "old": lambda: resign_stream(holder, key(name), source, token),
        "new": lambda: resign_stream(key(name), holder, source, token),
    }
    uses[what]()
    assert holder.uses == 1
    holder.uses = MAX_USES
    with pytest.raises(KeySpent):
        uses[what]()


def test_a_token_is_plain_octets() -> None:
    """A token equals its octets, so that it can be written as it is."""
    token = sign_stream(key(HS256), BytesSource(PAYLOAD), issued_at_s=0)
    assert isinstance(token, DetachedToken)
    assert token == bytes(token)
    assert b" " not in token
