"""JSON Web Keys to and from the key encodings of primitives (RFC 7517, 7518, 8037, 9964). Strict, no network, no key sets.

The caller says which primitive a key is for; a key never chooses. A key that does not fit it exactly is refused.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from anka_flow.errors import Refused, Unsupported
from anka_flow.keys import Key
from anka_flow.primitives import Algorithm, Keyed, KeyPair, Mac, Signer

from . import der
from .encoding import b64u_decode, b64u_encode, dump_header, parse_header
from .jws import ALIASES
from .mac_signer import as_signer

Jwk = dict[str, Any]
_USES = {"signature": "sig", "mac": "sig", "kem": "enc", "aead": "enc", "wrap": "enc"}
_OPERATIONS = {
    "sig": {"sign", "verify"},
    "enc": {"encrypt", "decrypt", "wrapKey", "unwrapKey", "deriveKey", "deriveBits"},
}
_RSA = ("n", "e", "d", "p", "q", "dp", "dq", "qi")
_REQUIRED = {"EC": ("crv", "x", "y"), "OKP": ("crv", "x"), "RSA": ("n", "e"), "oct": ("k",), "AKP": ("alg", "pub")}
_THUMBPRINTS = {kty: tuple(sorted(("kty", *names))) for kty, names in _REQUIRED.items()}
_SEEDS = {"ML-DSA": 32, "ML-KEM": 64}  # private keys of a standard's own form: FIPS 204 xi; FIPS 203 d||z


def refused() -> Refused:
    """Return the error for every key that is not valid or not for this algorithm."""
    return Refused("key is not valid for this algorithm")


def generate(primitive: Signer | Mac | Keyed) -> Key:
    """Return a new key, under the thumbprint of its public part as ``kid``; a MAC's is a signer's (``mac_signer``)."""
    kind = primitive.algorithm.kind
    user: Any = as_signer(primitive) if kind in ("signature", "mac") else primitive  # type: ignore[arg-type]  # by its kind
    key = Key(user, user.generate())
    if kind in ("signature", "kem"):
        key.kid = thumbprint(export_key(key))
    return key


def key_type(algorithm: Algorithm) -> str:
    """Return the ``kty`` that JOSE has for the algorithm: AKP (RFC 9964) for all that have no older one."""
    return algorithm.kty if algorithm.kty in ("EC", "OKP", "RSA", "oct") else "AKP"


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the RFC 7638 thumbprint (SHA-256, base64url) of a key with all required members."""
    required = {name: jwk[name] for name in _THUMBPRINTS[jwk["kty"]]}
    return b64u_encode(hashlib.sha256(dump_header(required)).digest()).decode()


def parse_key(octets: bytes, primitive: Keyed) -> Key:
    """Return the key of a JWK as JSON text. Raises ``Refused``."""
    try:
        return import_key(parse_header(octets), primitive)
    except Refused:
        raise refused() from None


def import_key(jwk: Mapping[str, Any], primitive: Keyed) -> Key:
    """Return the key for this primitive; without a private part, ``pair.private`` is None. Raises ``Refused``.

    ``kid`` is the key's own or its thumbprint.
    """
    algorithm = primitive.algorithm
    kty = key_type(algorithm)
    _check(jwk, algorithm, kty)
    try:
        pair = _secret(jwk, primitive) if kty == "oct" else _IMPORTS[kty](jwk, primitive)
    except ValueError:
        raise refused() from None
    kid = jwk.get("kid") or (thumbprint(jwk) if kty != "oct" else "")
    return Key(primitive, pair, kid=kid)


def _check(jwk: Mapping[str, Any], algorithm: Algorithm, kty: str) -> None:
    """Refuse members of a wrong type, and a key that says it is for something else."""
    use = _USES[algorithm.kind]
    if jwk.get("kty") != kty or jwk.get("use", use) != use or type(jwk.get("kid", "")) is not str:
        raise refused()
    if not all(type(jwk.get(name)) is str for name in _REQUIRED[kty]):
        raise refused()
    names = (algorithm.jose, *ALIASES.get(algorithm.jose, ()))
    if "alg" in jwk and (use == "sig" or kty == "AKP") and jwk["alg"] not in names:
        raise refused()
    if "crv" in _REQUIRED[kty] and jwk["crv"] != algorithm.name:
        raise refused()
    operations = jwk.get("key_ops", ["sign"] if use == "sig" else ["encrypt"])
    if type(operations) is not list or not all(type(one) is str for one in operations):
        raise refused()
    if len(set(operations)) != len(operations) or not _OPERATIONS[use] & set(operations):
        raise refused()


def _octets(jwk: Mapping[str, Any], name: str, size: int = 0) -> bytes:
    """Return the octets of a base64url member, which must be there, and of this size if one is given."""
    value = jwk.get(name)
    if type(value) is not str or not value.isascii():
        raise refused()
    octets = b64u_decode(value.encode())
    if not octets or (size and len(octets) != size):
        raise refused()
    return octets


def _number(jwk: Mapping[str, Any], name: str) -> int:
    """Return a Base64urlUInt (RFC 7518, 2): no leading zero octet."""
    octets = _octets(jwk, name)
    if octets[0] == 0:
        raise refused()
    return int.from_bytes(octets, "big")


def _secret(jwk: Mapping[str, Any], primitive: Keyed) -> KeyPair:
    octets = _octets(jwk, "k")
    if primitive.algorithm.family == "HMAC" and len(octets) < primitive.algorithm.sizes["tag"]:
        raise refused()  # RFC 7518, 3.2: a key at least as long as the hash
    return primitive.decode_private(octets)


def _matched(primitive: Keyed, public: bytes, private: bytes | None) -> KeyPair:
    """Return the handles; the private part must belong to the public one."""
    if private is None:
        return KeyPair(primitive.decode_public(public), None)
    pair = primitive.decode_private(private)
    if not hmac.compare_digest(primitive.encode_public(pair.public), public):
        raise refused()
    return pair


def _curve(jwk: Mapping[str, Any], primitive: Keyed) -> KeyPair:
    size = (primitive.algorithm.sizes["public"] - 1) // 2
    public = b"\x04" + _octets(jwk, "x", size) + _octets(jwk, "y", size)
    return _matched(primitive, public, _octets(jwk, "d", size) if "d" in jwk else None)


def _octet_pair(jwk: Mapping[str, Any], primitive: Keyed) -> KeyPair:
    size = primitive.algorithm.sizes["public"]
    return _matched(primitive, _octets(jwk, "x", size), _octets(jwk, "d", size) if "d" in jwk else None)


def _rsa(jwk: Mapping[str, Any], primitive: Keyed) -> KeyPair:
    """RFC 7518, 6.3: with a private exponent, all the numbers of two primes; keys of more primes are refused."""
    n, e = _number(jwk, "n"), _number(jwk, "e")
    if n.bit_length() != int(primitive.algorithm.name.split("-")[1]) or "oth" in jwk:
        raise refused()
    private = der.rsa_private_to_der([_number(jwk, name) for name in _RSA]) if "d" in jwk else None
    return _matched(primitive, der.rsa_public_to_der(n, e), private)


def _algorithm_pair(jwk: Mapping[str, Any], primitive: Keyed) -> KeyPair:
    """RFC 9964, 3; draft-ietf-jose-pq-composite-sigs-04, 4.1."""
    private = _octets(jwk, "priv", _private_bytes("AKP", primitive.algorithm)) if "priv" in jwk else None
    return _matched(primitive, _octets(jwk, "pub", primitive.algorithm.sizes.get("public", 0)), private)


def _private_bytes(kty: str, algorithm: Algorithm) -> int:
    """Return the octets of ``d`` or ``priv``. Raises ``Unsupported`` where no text fixes its form."""
    if kty == "EC":
        return (algorithm.sizes["public"] - 1) // 2
    if kty == "OKP":
        return algorithm.sizes["public"]
    size = algorithm.sizes.get("private") or _SEEDS.get(algorithm.family)
    if size is None:
        raise Unsupported(f"no standard fixes the private key of {algorithm.name} in a JWK; keep it in a key store")
    return size


_IMPORTS: Mapping[str, Callable[[Mapping[str, Any], Keyed], KeyPair]] = {
    "EC": _curve,
    "OKP": _octet_pair,
    "RSA": _rsa,
    "AKP": _algorithm_pair,
}


def export_key(key: Key, *, private: bool = False) -> Jwk:
    """Return the JWK of the public part, or of both. Raises ``Unsupported`` where there is no standard form.

    A symmetric key has no public part: exporting it takes ``private``.
    """
    algorithm = key.primitive.algorithm
    kty = key_type(algorithm)
    if kty == "oct":
        if not private:
            raise Unsupported(f"a key of {algorithm.name} has no public part")
        return {"kty": "oct", "kid": key.kid, "alg": algorithm.jose, "k": _text(key.primitive.encode_private(key.pair))}
    jwk: Jwk = {"kty": kty, "kid": key.kid}
    if algorithm.kind == "signature" or kty == "AKP":
        jwk["alg"] = algorithm.jose
    _export_public(jwk, algorithm, key.primitive.encode_public(key.pair.public))
    if private:
        _export_private(jwk, algorithm, key.primitive.encode_private(key.pair))
    return jwk


def _export_public(jwk: Jwk, algorithm: Algorithm, public: bytes) -> None:
    if jwk["kty"] == "EC":
        half = len(public) // 2
        jwk |= {"crv": algorithm.name, "x": _text(public[1 : half + 1]), "y": _text(public[half + 1 :])}
    elif jwk["kty"] == "OKP":
        jwk |= {"crv": algorithm.name, "x": _text(public)}
    elif jwk["kty"] == "RSA":
        jwk |= dict(zip(_RSA, map(_number_text, der.rsa_public_from_der(public)), strict=False))
    else:
        jwk["pub"] = _text(public)


def _export_private(jwk: Jwk, algorithm: Algorithm, private: bytes) -> None:
    if jwk["kty"] == "RSA":
        jwk |= dict(zip(_RSA, map(_number_text, der.rsa_private_from_der(private)), strict=True))
        return
    if len(private) != _private_bytes(jwk["kty"], algorithm):
        raise Unsupported(f"this provider of {algorithm.name} keeps private keys in a form of its own, which no JWK holds")
    jwk["priv" if jwk["kty"] == "AKP" else "d"] = _text(private)


_COORDINATES = {"P-256": 32, "P-384": 48, "P-521": 66}
_OCTET_PAIRS = {"X25519": 32, "X448": 56}


def ephemeral_jwk(curve: str, public: bytes) -> Jwk:
    """Return the ``epk`` (RFC 7518, 4.6.1.1) of a public key as a KEM has it: ``04||x||y`` or raw octets."""
    if curve in _OCTET_PAIRS:
        return {"kty": "OKP", "crv": curve, "x": _text(public)}
    half = _COORDINATES[curve]
    return {"kty": "EC", "crv": curve, "x": _text(public[1 : half + 1]), "y": _text(public[half + 1 :])}


def ephemeral_octets(curve: str, epk: Any) -> bytes:
    """Return the public key that ``epk`` holds, which must be of this curve and public only. Raises ``Refused``."""
    pair = curve in _OCTET_PAIRS
    if type(epk) is not dict or "d" in epk or epk.get("kty") != ("OKP" if pair else "EC") or epk.get("crv") != curve:
        raise refused()
    if pair:
        return _octets(epk, "x", _OCTET_PAIRS[curve])
    half = _COORDINATES[curve]
    return b"\x04" + _octets(epk, "x", half) + _octets(epk, "y", half)


def _text(octets: bytes) -> str:
    return b64u_encode(octets).decode()


def _number_text(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))
