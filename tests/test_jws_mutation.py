"""Tokens mutated at random end in ``Refused``, and in nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from anka_flow.errors import Refused
from anka_flow.jose import jwk
from anka_flow.jose.jws import resign_compact, sign_compact, verify_compact
from anka_flow.jose.jws_json import sign_flattened, verify_json
from anka_flow.jose.jws_stream import resign_stream, sign_stream, verify_detached, verify_stream
from anka_flow.keys import Key
from anka_flow.streams import BytesSource

from .tokens import PAYLOAD, key

NAMES = ["mac:HMAC-SHA256", "signature:P-256", "signature:Ed25519", "signature:ML-DSA-44", "P-256+ML-DSA-44", "Ed448+ML-DSA-87"]
Verify = Callable[[Key, bytes], object]


def _resign(holder: Key, token: bytes) -> object:
    return resign_compact(holder, key(NAMES[0]), token)


def _resign_stream(holder: Key, token: bytes) -> object:
    return resign_stream(holder, key(NAMES[0]), BytesSource(PAYLOAD), token)


FORMS: dict[str, tuple[Callable[[Key], bytes], Verify]] = {
    "compact": (lambda holder: bytes(sign_compact(holder, PAYLOAD)), verify_compact),
    "compact, re-signed": (lambda holder: bytes(sign_compact(holder, PAYLOAD)), _resign),
    "flattened": (lambda holder: sign_flattened(holder, PAYLOAD), verify_json),
    "detached": (
        lambda holder: bytes(sign_stream(holder, BytesSource(PAYLOAD))),
        lambda holder, token: verify_stream(holder, BytesSource(PAYLOAD), token),
    ),
    "detached, re-signed": (lambda holder: bytes(sign_stream(holder, BytesSource(PAYLOAD))), _resign_stream),
    "detached compact": (
        lambda holder: sign_stream(holder, BytesSource(PAYLOAD)).compact(),
        lambda holder, token: verify_detached(holder, token, PAYLOAD),
    ),
}


@cache
def _token(name: str, form: str) -> bytes:
    return FORMS[form][0](key(name))


def _mutate(token: bytes, how: str, at: int, other: int, junk: bytes) -> bytes:
    """Return the token cut, lengthened, with one bit changed, with a piece moved, doubled or replaced."""
    at, other = sorted((at % len(token), other % len(token)))
    if how == "cut":
        return token[:at] + token[other:]
    if how == "insert":
        return token[:at] + junk + token[at:]
    if how == "flip":
        return token[:at] + bytes((token[at] ^ (1 << other % 8),)) + token[at + 1 :]
    if how == "swap":
        return token[other:] + token[at:other] + token[:at]
    if how == "double":
        return token[:other] + token[at:]
    return token[:at] + junk + token[at + len(junk) :]


def _same_json(form: str, token: bytes, mutated: bytes) -> bool:
    """Tell whether a JSON token has only gained or lost blanks, or escapes: the same token in JSON."""
    if form not in ("flattened", "detached", "detached, re-signed"):
        return False
    try:
        return bool(json.loads(token) == json.loads(mutated))
    except ValueError:
        return False


@settings(max_examples=1500, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    form=st.sampled_from(sorted(FORMS)),
    how=st.sampled_from(["cut", "insert", "flip", "swap", "double", "replace"]),
    at=st.integers(0, 1 << 16),
    other=st.integers(0, 1 << 16),
    junk=st.binary(min_size=1, max_size=8) | st.sampled_from([b".", b"=", b"-", b'"', b"{}", b"AAAA", b"\n"]),
)
def test_mutated_tokens_are_refused(name: str, form: str, how: str, at: int, other: int, junk: bytes) -> None:
    """Cut, lengthened, re-ordered and bit-flipped tokens of every form raise ``Refused``; an unchanged one verifies."""
    token, verify = _token(name, form), FORMS[form][1]
    mutated = _mutate(token, how, at, other, junk)
    try:
        verify(key(name), mutated)
    except Refused:
        assert mutated != token
    else:
        assert mutated == token or _same_json(form, token, mutated)


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=400) | st.text(alphabet='{}[]":,.eyJhbGciOiJIUzI1NiJ9AQ=_-1\\u', max_size=120).map(str.encode))
def test_anything_else_is_refused(octets: bytes) -> None:
    """Octets that no signer made raise ``Refused`` in every form."""
    for _, verify in FORMS.values():
        try:
            verify(key(NAMES[0]), octets)
        except Refused:
            continue
        raise AssertionError("accepted")


@settings(max_examples=400, deadline=None)
@given(
    name=st.sampled_from([*NAMES, "signature:RSA-2048"]),
    member=st.integers(0, 15),
    value=st.none() | st.booleans() | st.integers() | st.text(max_size=60) | st.lists(st.text(max_size=5), max_size=3),
)
def test_mutated_keys_are_refused_or_right(name: str, member: int, value: object) -> None:
    """A JWK with one member replaced is refused, or is a key that exports as it was given."""
    holder = key(name)
    members = jwk.export_key(holder, private=True)
    chosen = sorted(members)[member % len(members)]
    changed = {**members, chosen: value}
    try:
        back = jwk.import_key(changed, holder.primitive)
    except Refused:
        return
    assert chosen in ("kid", "use", "key_ops") or jwk.export_key(back, private=True) == members
