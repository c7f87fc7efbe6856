"""Strict base64url, strict header JSON, length prefixes (``jose.encoding``)."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anka_flow.errors import Refused
from anka_flow.jose.encoding import (
    b64u_decode,
    b64u_decode_payload,
    b64u_encode,
    b64u_length,
    b64u_write,
    dump_header,
    lp,
    parse_header,
)

from .tokens import b64u

SIZES = [0, 1, 2, 3, 4, 31, 32, 33, 3069, 3070, 3071, 3072, 3073, 4096, 49151, 49152, 49153, 100_000, 100_001, 100_002]
LONG = b"A" * 5000


@pytest.mark.parametrize("size", SIZES)
def test_encodes_as_the_standard_library_without_padding(size: int) -> None:
    """base64url of any length equals the standard library's, less its padding."""
    data = bytes(i * 7 % 256 for i in range(size))
    assert b64u_encode(memoryview(data)) == b64u(data)


@pytest.mark.parametrize("size", SIZES)
def test_writes_in_place_what_it_encodes(size: int) -> None:
    """Writing into a buffer gives the same characters, and exactly as many as foretold."""
    data = bytes(i * 11 % 256 for i in range(size))
    out = bytearray(b64u_length(size) + 2)
    b64u_write(memoryview(out)[1:-1], data)
    assert bytes(out) == b"\0" + b64u(data) + b"\0"


@pytest.mark.parametrize("decode", [b64u_decode, b64u_decode_payload])
@pytest.mark.parametrize("size", SIZES)
def test_decodes_what_the_standard_library_encoded(size: int, decode: object) -> None:
    """Canonical base64url of any length decodes, from a view as from octets."""
    data = bytes(i * 13 % 256 for i in range(size))
    assert decode(memoryview(b64u(data))) == data  # type: ignore[operator]


@pytest.mark.parametrize("decode", [b64u_decode, b64u_decode_payload])
@pytest.mark.parametrize(
    "text",
    [
        b"AA==", b"AAA=", b"A", b"AB", b"AAB", b"A A", b" AAA", b"AAA\n", b"+AAA", b"/w", b"A\x00AA", b"\xc3\xa9AA", b"=",
        b"====", LONG + b"AA==", LONG + b"AB", LONG + b"A", LONG[:-2] + b"==", LONG[:-2] + b"==AA", LONG + b"=AAA",
        LONG[:-1] + b"\n", LONG[:2000] + b"+" + LONG[2001:], LONG[:2000] + b"/" + LONG[2001:], LONG[:2000] + b"=" + LONG[2001:],
        LONG[:-1] + b"+",
    ],
)  # fmt: skip
def test_refuses_what_is_not_canonical(text: bytes, decode: object) -> None:
    """Padding, foreign characters, the other alphabet, a rest of one character and unused bits that are set are refused."""
    with pytest.raises(Refused):
        decode(text)  # type: ignore[operator]


@given(st.binary(max_size=24))
def test_one_text_for_each_value(text: bytes) -> None:
    """Whatever decodes encodes to the very same text again."""
    try:
        octets = b64u_decode(text)
    except Refused:
        return
    assert b64u_encode(octets) == text
    assert octets == base64.urlsafe_b64decode(text + b"==")


@pytest.mark.parametrize(
    "octets",
    [
        b"", b"null", b"[]", b'"x"', b"{} x", b'{"a":1,"a":2}', b'{"a":{"b":1,"b":2}}', b'{"a":NaN}', b'{"a":-Infinity}',
        b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b"[" * 60_000, b'{"a":' * 10_000, b'{"a":' + b"1" * 5000 + b"}", b"{'a':1}",
        b"{a:1}", b'{"a":1,}', b"{\x00}", '{"a":1}'.encode("utf-16"),
    ],
)  # fmt: skip
def test_refuses_headers_that_are_not_one_strict_object(octets: bytes) -> None:
    """Other values, members twice at any depth, constants that JSON lacks, other encodings and deep nesting are refused."""
    with pytest.raises(Refused):
        parse_header(octets)


def test_refuses_a_header_above_the_limit() -> None:
    """A header larger than the limit is refused before it is read as JSON."""
    header = b'{"a":"%b"}' % (b"x" * 70_000)
    assert parse_header(header, 100_000) == {"a": "x" * 70_000}
    with pytest.raises(Refused):
        parse_header(header)


def test_writes_compact_json() -> None:
    """A header is written without blanks, in the order given, as UTF-8."""
    assert dump_header({"b": "é", "a": [1, False]}) == '{"b":"é","a":[1,false]}'.encode()


def test_length_prefix_is_a_big_endian_uint32() -> None:
    """lp(x) is the length in four octets, then x."""
    assert lp(b"abc") == b"\0\0\0\x03abc"
