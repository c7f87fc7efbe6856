"""Keys of published JWE examples, as the primitives of this project take them, and the mode that an ``alg`` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from anka_flow import Aead, Key, Refused, primitive
from anka_flow.catalog import bundled
from anka_flow.jose.jwk import import_key
from anka_flow.jose.kdf import Kmac
from anka_flow.jose.management import Mode, mode_of
from anka_flow.jose.passphrase import Passphrase

from .vector_files import unbase64url

CONTENT = ("A128GCM", "A192GCM", "A256GCM", "A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512")
WRAPS = ("A128KW", "A192KW", "A256KW")


def by_jose(kind: str, jose: str) -> Any:
    """Return the primitive of the catalog row that has this JOSE name."""
    row = next(a for a in bundled().algorithms.values() if a.kind == kind and a.jose == jose)
    return primitive(kind, row.name)


def aead(enc: str) -> Aead:
    return by_jose("aead", enc)


def kmac() -> Kmac:
    found = primitive("mac", "KMAC256", "pycryptodome")
    assert isinstance(found, Kmac)
    return found


def mode(alg: str, enc: str = "A256GCM", crv: str = "") -> Mode:
    """Return the key management mode of a JOSE ``alg``."""
    if alg.startswith("PBES2"):
        return Passphrase(by_jose("wrap", alg.partition("+")[2]), count=1000)
    if alg == "dir":
        return mode_of(aead(enc), kmac())
    agreement, _, wrapping = alg.partition("+")
    wrap = by_jose("wrap", wrapping) if wrapping else None
    if agreement == "ECDH-ES":
        return mode_of(primitive("kem", crv), kmac(), wrap)
    kind = "kem" if agreement.startswith("ML-KEM") else "wrap"
    return mode_of(by_jose(kind, agreement), kmac(), wrap)


def key_of(jwk: Mapping[str, Any], alg: str, enc: str = "A256GCM") -> Key:
    """Return the private key of a JWK for one ``alg``, whatever the JWK itself says it is for."""
    chosen = mode(alg, enc, jwk.get("crv", ""))
    bare = {name: value for name, value in jwk.items() if name not in ("use", "key_ops", "alg")}
    if jwk["kty"] == "RSA":
        return Key(chosen, chosen.decode_private(_rsa_der(jwk)))
    if jwk["kty"] == "AKP":
        return _from_seed(chosen, {**bare, "alg": chosen.algorithm.jose})
    return Key(chosen, import_key(bare, chosen.primitive).pair)


def _from_seed(chosen: Mode, jwk: Mapping[str, Any]) -> Key:
    try:
        return Key(chosen, import_key(jwk, chosen.primitive).pair)
    except Refused:
        pytest.skip(f"no present provider loads the 64-octet seed of {chosen.algorithm.name}")


def _rsa_der(jwk: Mapping[str, Any]) -> bytes:
    n, e, d, p, q, dp, dq, qi = (
        int.from_bytes(unbase64url(jwk[name]), "big") for name in ("n", "e", "d", "p", "q", "dp", "dq", "qi")
    )
    numbers = rsa.RSAPrivateNumbers(p, q, d, dp, dq, qi, rsa.RSAPublicNumbers(e, n))
    return numbers.private_key().private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
