"""JWS with jwcrypto and joserfc, in both directions, for every registered algorithm that both sides know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from joserfc import jws as joserfc_jws
from joserfc.jwk import import_key as joserfc_key
from jwcrypto import jwk as jwcrypto_jwk
from jwcrypto import jws as jwcrypto_jws

from anka_flow.jose import jwk
from anka_flow.jose.jws import sign_compact, verify_compact
from anka_flow.jose.jws_json import sign_flattened, verify_json
from anka_flow.jose.jws_stream import sign_stream, verify_detached
from anka_flow.streams import BytesSource

from . import tokens
from .tokens import PAYLOAD, REGISTERED

JWCRYPTO = sorted(REGISTERED)
JOSERFC = sorted(alg for alg in REGISTERED if not alg.startswith("ML-DSA"))


def _exported(alg: str) -> dict[str, Any]:
    return jwk.export_key(tokens.key(REGISTERED[alg]), private=True)


def _theirs(alg: str) -> Any:
    return jwcrypto_jwk.JWK(**_exported(alg))


def _joserfc(alg: str) -> Any:
    return joserfc_key(_exported(alg))


@pytest.mark.parametrize("alg", JWCRYPTO)
def test_jwcrypto_verifies_ours(alg: str) -> None:
    """jwcrypto accepts our compact and flattened tokens."""
    for made in (sign_compact(tokens.key(REGISTERED[alg]), PAYLOAD), sign_flattened(tokens.key(REGISTERED[alg]), PAYLOAD)):
        token = jwcrypto_jws.JWS()
        token.deserialize(bytes(made).decode(), _theirs(alg), alg)
        assert token.payload == PAYLOAD


@pytest.mark.parametrize("alg", JWCRYPTO)
def test_we_verify_jwcrypto(alg: str) -> None:
    """We accept the compact and flattened tokens of jwcrypto."""
    token = jwcrypto_jws.JWS(PAYLOAD)
    token.add_signature(_theirs(alg), None, json.dumps({"alg": alg}), None)
    assert verify_compact(tokens.key(REGISTERED[alg]), token.serialize(compact=True).encode()) == PAYLOAD
    assert verify_json(tokens.key(REGISTERED[alg]), token.serialize().encode()) == PAYLOAD


@pytest.mark.parametrize("alg", JWCRYPTO)
def test_jwcrypto_verifies_our_detached_tokens(alg: str) -> None:
    """jwcrypto knows b64 (RFC 7797) and accepts our detached tokens with the payload given apart."""
    made = json.loads(sign_stream(tokens.key(REGISTERED[alg]), BytesSource(b"$.02 \xff\0")))
    token = jwcrypto_jws.JWS()
    token.deserialize(json.dumps(made))
    token.verify(_theirs(alg), alg, detached_payload=b"$.02 \xff\0")
    assert token.is_valid


@pytest.mark.parametrize("alg", JOSERFC)
def test_joserfc_verifies_ours(alg: str) -> None:
    """joserfc accepts our compact tokens."""
    made = sign_compact(tokens.key(REGISTERED[alg]), PAYLOAD)
    assert joserfc_jws.deserialize_compact(bytes(made), _joserfc(alg), algorithms=[alg]).payload == PAYLOAD


@pytest.mark.parametrize("alg", JOSERFC)
def test_we_verify_joserfc(alg: str) -> None:
    """We accept the compact and flattened tokens of joserfc."""
    made = joserfc_jws.serialize_compact({"alg": alg}, PAYLOAD, _joserfc(alg), algorithms=[alg])
    assert verify_compact(tokens.key(REGISTERED[alg]), made.encode()) == PAYLOAD
    flat = joserfc_jws.serialize_json({"protected": {"alg": alg}}, PAYLOAD, _joserfc(alg), algorithms=[alg])
    assert verify_json(tokens.key(REGISTERED[alg]), json.dumps(flat).encode()) == PAYLOAD


@pytest.mark.parametrize("alg", JOSERFC)
def test_we_verify_unencoded_payloads_of_joserfc(alg: str) -> None:
    """A detached token of joserfc with b64 false verifies for its payload."""
    header = {"alg": alg, "b64": False, "crit": ["b64"]}
    made = joserfc_jws.serialize_compact(header, b"$.02", _joserfc(alg), algorithms=[alg])
    detached = f"{made.partition('.')[0]}..{made.rpartition('.')[2]}"
    assert verify_detached(tokens.key(REGISTERED[alg]), detached.encode(), b"$.02")
