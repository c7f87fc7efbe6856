"""Tokens made here open in jwcrypto and joserfc, and theirs open here, for every registered ``alg`` and ``enc``."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from joserfc import jwe as joserfc_jwe
from joserfc import jwk as joserfc_jwk
from joserfc.registry import HeaderParameter
from jwcrypto import jwe as jwcrypto_jwe
from jwcrypto import jwk as jwcrypto_jwk

from anka_flow import Key, primitive
from anka_flow.jose.encoding import b64u_encode
from anka_flow.jose.jwe import decrypt_compact, encrypt_compact
from anka_flow.jose.jwe_json import decrypt_general, encrypt_for, encrypt_general
from anka_flow.jose.stream import encrypt_stream
from anka_flow.streams import Arena, BytesSource

from . import jwe_keys

PLAIN = "Ein Satz, der übersetzt wird; \u0000 inbegriffen.".encode() * 7
CURVES = ("P-256", "P-384", "P-521", "X25519", "X448")
AGREEMENTS = [(alg, crv) for alg in ("ECDH-ES", *(f"ECDH-ES+{w}" for w in jwe_keys.WRAPS)) for crv in CURVES]
# RSA-OAEP-384 and -512 are in neither library; Wycheproof has the primitives.
RSA = ("RSA-OAEP", "RSA-OAEP-256")
PASSPHRASES = ("PBES2-HS256+A128KW", "PBES2-HS384+A192KW", "PBES2-HS512+A256KW")
GCM_WRAPS = ("A128GCMKW", "A192GCMKW", "A256GCMKW")
OTHERS = [(alg, "") for alg in ("dir", *jwe_keys.WRAPS, *GCM_WRAPS, *RSA, *PASSPHRASES)]
MODES = [*OTHERS, *AGREEMENTS]
PAIRS = [(alg, crv, "A256GCM") for alg, crv in MODES] + [
    (alg, crv, enc)
    for alg, crv in (("dir", ""), ("A128KW", ""), ("RSA-OAEP-256", ""), ("ECDH-ES", "P-256"))
    for enc in jwe_keys.CONTENT
    if enc != "A256GCM"
]


def ids(pair: tuple[str, str, str]) -> str:
    return "/".join(part for part in pair if part)


@cache
def jwk_for(alg: str, crv: str, enc: str) -> dict[str, str]:
    """Return a private key made by jwcrypto, which is not this project."""
    if crv:
        made = jwcrypto_jwk.JWK.generate(kty="EC" if crv.startswith("P-") else "OKP", crv=crv)
    elif alg.startswith("RSA"):
        made = jwcrypto_jwk.JWK.generate(kty="RSA", size=2048)
    elif alg.startswith("PBES2"):
        made = jwcrypto_jwk.JWK(kty="oct", k=b64u_encode(b"Thus from my lips").decode())
    else:
        bits = 8 * jwe_keys.aead(enc).key_bytes if alg == "dir" else int(alg[1:4])
        made = jwcrypto_jwk.JWK.generate(kty="oct", size=bits)
    return json.loads(made.export_private() if alg.startswith(("RSA", "ECDH")) else made.export())


def ours(alg: str, crv: str, enc: str) -> Key:
    return jwe_keys.key_of(jwk_for(alg, crv, enc), alg, enc)


def joserfc_key(jwk: dict[str, str]) -> Any:
    return joserfc_jwk.import_key(jwk)


def joserfc_registry(alg: str, enc: str) -> joserfc_jwe.JWERegistry:
    extra = {"p2c": HeaderParameter("count", "int"), "p2s": HeaderParameter("salt", "str")} if alg.startswith("PBES2") else None
    return joserfc_jwe.JWERegistry(extra, algorithms=[alg, enc], strict_check_header=False)


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_a_token_made_here_opens_in_jwcrypto(pair: tuple[str, str, str]) -> None:
    """jwcrypto opens the compact token."""
    alg, _, enc = pair
    made = encrypt_compact(ours(*pair), PLAIN, jwe_keys.aead(enc))
    theirs = jwcrypto_jwe.JWE(algs=[alg, enc])
    theirs.deserialize(made.decode(), jwcrypto_jwk.JWK(**jwk_for(*pair)))
    assert theirs.payload == PLAIN


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_a_token_made_by_jwcrypto_opens_here(pair: tuple[str, str, str]) -> None:
    """The compact and the JSON form of one jwcrypto token open."""
    alg, _, enc = pair
    theirs = jwcrypto_jwe.JWE(PLAIN, json.dumps({"alg": alg, "enc": enc}), algs=[alg, enc])
    theirs.add_recipient(jwcrypto_jwk.JWK(**jwk_for(*pair)))
    content = jwe_keys.aead(enc)
    assert decrypt_compact(ours(*pair), theirs.serialize(compact=True).encode(), content) == PLAIN
    assert decrypt_general(ours(*pair), theirs.serialize().encode(), content) == PLAIN


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_a_token_made_here_opens_in_joserfc(pair: tuple[str, str, str]) -> None:
    """joserfc opens the compact token."""
    alg, _, enc = pair
    made = encrypt_compact(ours(*pair), PLAIN, jwe_keys.aead(enc))
    theirs = joserfc_jwe.decrypt_compact(made.decode(), joserfc_key(jwk_for(*pair)), registry=joserfc_registry(alg, enc))
    assert theirs.plaintext == PLAIN


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_a_token_made_by_joserfc_opens_here(pair: tuple[str, str, str]) -> None:
    """A compact token of joserfc opens."""
    alg, _, enc = pair
    theirs = joserfc_jwe.encrypt_compact(
        {"alg": alg, "enc": enc}, PLAIN, joserfc_key(jwk_for(*pair)), registry=joserfc_registry(alg, enc)
    )
    assert decrypt_compact(ours(*pair), theirs.encode(), jwe_keys.aead(enc)) == PLAIN


def test_a_general_token_with_aad_opens_in_jwcrypto() -> None:
    """General JSON with ``aad``, one recipient."""
    pair = ("A256KW", "", "A256GCM")
    made = encrypt_general(ours(*pair), PLAIN, jwe_keys.aead("A256GCM"), aad=b"beside")
    theirs = jwcrypto_jwe.JWE()
    theirs.deserialize(made.decode(), jwcrypto_jwk.JWK(**jwk_for(*pair)))
    assert theirs.payload == PLAIN


def test_a_token_for_several_keys_opens_in_jwcrypto_with_each() -> None:
    """Three recipients of three modes: jwcrypto opens the token with each key, and so does this project."""
    pairs = [("A128KW", "", "A256GCM"), ("ECDH-ES+A256KW", "X25519", "A256GCM"), ("RSA-OAEP-256", "", "A256GCM")]
    made = encrypt_for([ours(*pair) for pair in pairs], PLAIN, jwe_keys.aead("A256GCM"))
    for pair in pairs:
        theirs = jwcrypto_jwe.JWE()
        theirs.deserialize(made.decode(), jwcrypto_jwk.JWK(**jwk_for(*pair)))
        assert theirs.payload == PLAIN
        assert decrypt_general(ours(*pair), made, jwe_keys.aead("A256GCM")) == PLAIN


@pytest.mark.parametrize("size", [1, 98_304, 200_001])
def test_a_streamed_token_opens_in_jwcrypto(size: int) -> None:
    """Profile S1 is an ordinary General JWE."""
    pair = ("ECDH-ES", "P-384", "A256GCM")  # jwcrypto takes an empty payload for a failure, so none here
    sink, payload = Arena(size * 4 // 3 + 4096), bytes(size)
    encrypt_stream(ours(*pair), BytesSource(payload), sink, jwe_keys.aead("A256GCM"))
    theirs = jwcrypto_jwe.JWE()
    theirs.deserialize(bytes(sink.view).decode(), jwcrypto_jwk.JWK(**jwk_for(*pair)))
    assert theirs.payload == payload


def _in_jwcrypto(token: bytes, jwk: dict[str, str]) -> None:
    jwcrypto_jwe.JWE().deserialize(token.decode(), jwcrypto_jwk.JWK(**jwk))


def _in_joserfc(token: bytes, jwk: dict[str, str]) -> None:
    joserfc_jwe.decrypt_json(json.loads(token), joserfc_key(jwk))


@pytest.mark.parametrize("library", [_in_jwcrypto, _in_joserfc])
@pytest.mark.parametrize("profile", ["composite", "segments"])
def test_other_libraries_refuse_what_they_cannot_know(library: Callable[..., None], profile: str) -> None:
    """A composite token and one in segments make other libraries stop, by ``crit`` and names they do not have."""
    from anka_flow.jose.composite_kem import CompositeKem

    content = jwe_keys.aead("A256GCM")
    if profile == "composite":
        pair = CompositeKem(primitive("kem", "P-256"), primitive("kem", "ML-KEM-768"))
        jwk, token = jwk_for("ECDH-ES", "P-256", "A256GCM"), bytes(encrypt_general(Key(pair, pair.generate()), PLAIN, content))
    else:
        jwk, sink = jwk_for("A256KW", "", "A256GCM"), Arena(4096)
        encrypt_stream(ours("A256KW", "", "A256GCM"), BytesSource(PLAIN), sink, content, "S2")
        token = bytes(sink.view)
    with pytest.raises(Exception, match=r".+"):
        library(token, jwk)
