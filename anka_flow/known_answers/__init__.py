"""Truth before speed: each (provider, algorithm) gives a known answer and proves its identity before it is timed.

The answers lie beside this module, a JSON file per kind, each with its source: a standard's own example, or octets that one
library made and another confirmed. The private keys among them were made for this purpose and guard nothing.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from anka_flow.errors import IdentityFailed, Refused
from anka_flow.primitives import Algorithm, KeyPair

MESSAGE = b"anka-flow known answer"
NO_ANSWER = "none: the catalog row has no known answer"


@lru_cache(maxsize=5)
def _answers(kind: str) -> Mapping[str, Any]:
    """Return the answers of a kind by algorithm name; kinds without a file have none."""
    path = Path(__file__).with_name(f"{kind}.json")
    answers: Mapping[str, Any] = json.loads(path.read_text("ascii")) if path.is_file() else {}
    return answers


def answer_of(algorithm: Algorithm) -> Mapping[str, Any] | None:
    """Return the known answer of the algorithm as stored (octets in base64), or None."""
    answer: Mapping[str, Any] | None = _answers(algorithm.kind).get(algorithm.name)
    return answer


def check_known_answer(primitive: Any, algorithm: Algorithm, provider: str) -> str:
    """Check the known answer and return where it comes from.

    Raises ``IdentityFailed`` if the primitive gives another one. Where there is no answer that the provider can load, the
    sentence returned says so and begins with ``none``.
    """
    answer = answer_of(algorithm)
    if answer is None:
        return NO_ANSWER
    try:
        return _CHECKS[algorithm.kind](primitive, answer, provider)
    except Refused as refusal:
        raise IdentityFailed(f"{algorithm.name}: {provider} refuses the known answer ({answer['source']}): {refusal}") from None
    except _WrongAnswer as wrong:
        raise IdentityFailed(
            f"{algorithm.name}: {provider} gives another {wrong} than the known answer ({answer['source']})"
        ) from None


class _WrongAnswer(Exception):
    """Names the part that differs."""


def _must(good: bool, what: str) -> None:
    if not good:
        raise _WrongAnswer(what)


def _octets(answer: Mapping[str, Any], *names: str) -> tuple[bytes, ...]:
    return tuple(b64decode(answer[name]) for name in names)


def _check_mac(primitive: Any, answer: Mapping[str, Any], _: str) -> str:
    key, message, tag = _octets(answer, "key", "message", "tag")
    _must(primitive.tag(primitive.decode_private(key).private, message) == tag, "tag")
    return str(answer["source"])


def _check_aead(primitive: Any, answer: Mapping[str, Any], _: str) -> str:
    key, nonce, aad, data, sealed = _octets(answer, "key", "nonce", "aad", "data", "sealed")
    private = primitive.decode_private(key).private
    _must(primitive.seal(private, nonce, data, aad) == sealed, "ciphertext")
    _must(primitive.open(private, nonce, sealed, aad) == data, "plaintext")
    return str(answer["source"])


def _check_wrap(primitive: Any, answer: Mapping[str, Any], _: str) -> str:
    key, content_key, wrapped = _octets(answer, "private", "content_key", "wrapped")
    _must(primitive.unwrap(primitive.decode_private(key).private, wrapped) == content_key, "content key")
    return str(answer["source"])


def _check_signature(primitive: Any, answer: Mapping[str, Any], _: str) -> str:
    public, message, signature = _octets(answer, "public", "message", "signature")
    handle = primitive.decode_public(public)
    _must(primitive.verify(handle, message, signature) is True, "verdict")
    _must(primitive.verify(handle, message + b"\0", signature) is False, "verdict on a changed message")
    return str(answer["source"])


def _check_kem(primitive: Any, answer: Mapping[str, Any], provider: str) -> str:
    answer = answer.get("own", {}).get(provider, answer)
    ciphertext, secret = _octets(answer, "ciphertext", "secret")
    tried = [primitive.decapsulate(pair.private, ciphertext) == secret for pair in _loaded(primitive, answer, provider)]
    if not tried:
        return "none: this provider's private keys have a form of their own"
    _must(any(tried), "secret")
    return str(answer["source"])


def _loaded(primitive: Any, answer: Mapping[str, Any], provider: str = "") -> Iterator[KeyPair]:
    """Yield the answer's key for each form of it that the provider loads: a standard form is one, a library's may be two."""
    for form in _forms(answer, provider):
        try:
            yield primitive.decode_private(form)
        except Refused:
            continue


def _forms(answer: Mapping[str, Any], provider: str) -> Iterator[bytes]:
    if "seed" in answer:
        yield b64decode(answer["seed"])
    private = b64decode(answer["private"])
    yield private
    public = answer.get("public")
    if public is None:
        return
    # A number stands for so many octets that decapsulation does not read: a megabyte for Classic McEliece.
    known = bytes(public) if isinstance(public, int) else b64decode(public)
    head = b64decode(answer.get("heads", {}).get(provider, ""))  # of PKCS #8, where a library wants it
    yield len(known).to_bytes(4, "big") + known + head + private
    yield known + head + private


_CHECKS = {"mac": _check_mac, "aead": _check_aead, "wrap": _check_wrap, "signature": _check_signature, "kem": _check_kem}


def prove_identity(primitive: Any, algorithm: Algorithm, pair: KeyPair | None = None) -> None:
    """Prove identity: sizes as the catalog says, a round trip, and refusal of a wrong key and of a flipped bit.

    ``pair`` spares making a key (one of RSA-8192 takes seconds); a stateful one loses an index. Raises ``IdentityFailed``.
    """
    try:
        _PROOFS[algorithm.kind](primitive, algorithm, pair or primitive.generate())
    except _WrongAnswer as wrong:
        raise IdentityFailed(f"{algorithm.name}: {wrong}") from None
    except Refused as refusal:
        raise IdentityFailed(f"{algorithm.name}: its own output is refused: {refusal}") from None


def _sized(algorithm: Algorithm, name: str, data: bytes) -> None:
    size, limit = algorithm.sizes.get(name), algorithm.sizes.get(f"{name}_max")
    if size is not None and len(data) != size:
        raise _WrongAnswer(f"{name} has {len(data)} octets, the catalog says {size}")
    if limit is not None and len(data) > limit:
        raise _WrongAnswer(f"{name} has {len(data)} octets, the catalog says at most {limit}")


def _flipped(data: bytes) -> bytes:
    changed = bytearray(data)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


def _prove_kem(primitive: Any, algorithm: Algorithm, pair: KeyPair) -> None:
    _sized(algorithm, "public", primitive.encode_public(pair.public))
    ciphertext, secret = primitive.encapsulate(pair.public)
    _sized(algorithm, "ciphertext", ciphertext)
    _sized(algorithm, "secret", secret)
    _must(primitive.decapsulate(pair.private, ciphertext) == secret, "decapsulation gives another secret")
    _must(
        _attempt(primitive.decapsulate, pair.private, _flipped(ciphertext)) != secret,
        "a flipped bit leaves the secret as it was",
    )
    foreign, secret = primitive.encapsulate(_stranger(primitive, algorithm))
    _must(_attempt(primitive.decapsulate, pair.private, foreign) != secret, "another key's ciphertext gives its secret")


def _prove_signature(primitive: Any, algorithm: Algorithm, pair: KeyPair) -> None:
    _sized(algorithm, "public", primitive.encode_public(pair.public))
    signature = primitive.sign(pair.private, MESSAGE)
    _sized(algorithm, "signature", signature)
    _must(primitive.verify(pair.public, MESSAGE, signature) is True, "its own signature does not verify")
    for public, message, changed in (
        (pair.public, MESSAGE, _flipped(signature)),
        (pair.public, _flipped(MESSAGE), signature),
        (_stranger(primitive, algorithm), MESSAGE, signature),
    ):
        _must(not _attempt(primitive.verify, public, message, changed), "a wrong signature, message or key verifies")


def _prove_mac(primitive: Any, algorithm: Algorithm, pair: KeyPair) -> None:
    tag = primitive.tag(pair.private, MESSAGE)
    _sized(algorithm, "tag", tag)
    _must(primitive.tag(pair.private, MESSAGE) == tag, "the tag is not repeatable")
    _must(primitive.tag(pair.private, _flipped(MESSAGE)) != tag, "a flipped bit leaves the tag as it was")
    _must(primitive.tag(_another(primitive, pair).private, MESSAGE) != tag, "another key gives the same tag")


def _prove_aead(primitive: Any, algorithm: Algorithm, pair: KeyPair) -> None:
    _sized(algorithm, "key", primitive.encode_private(pair))
    nonce = os.urandom(algorithm.sizes["nonce"])
    sealed = primitive.seal(pair.private, nonce, MESSAGE, b"aad")
    blocks = 16 - len(MESSAGE) % 16 if algorithm.family == "AES-CBC-HMAC" else 0
    _must(len(sealed) == len(MESSAGE) + blocks + algorithm.sizes["tag"], "the tag has another size than the catalog says")
    _must(primitive.open(pair.private, nonce, sealed, b"aad") == MESSAGE, "opening gives other data")
    for private, changed in ((pair.private, _flipped(sealed)), (_another(primitive, pair).private, sealed)):
        _must(_attempt(primitive.open, private, nonce, changed, b"aad") is None, "a wrong message or key opens")


def _prove_wrap(primitive: Any, algorithm: Algorithm, pair: KeyPair) -> None:
    content_key = os.urandom(32)
    wrapped = primitive.wrap(pair.public, content_key)
    _must(primitive.unwrap(pair.private, wrapped) == content_key, "unwrapping gives another key")
    _must(_attempt(primitive.unwrap, pair.private, _flipped(wrapped)) is None, "a flipped bit unwraps")
    secret = algorithm.kty == "oct"
    stranger = _another(primitive, pair).public if secret else _stranger(primitive, algorithm)
    foreign = primitive.wrap(stranger, content_key)
    _must(_attempt(primitive.unwrap, pair.private, foreign) is None, "another key's wrapping unwraps")


_PROOFS = {"mac": _prove_mac, "aead": _prove_aead, "wrap": _prove_wrap, "signature": _prove_signature, "kem": _prove_kem}


def _attempt(call: Any, *arguments: Any) -> Any:
    """Return what the call gives, or None if it refuses."""
    try:
        return call(*arguments)
    except Refused:
        return None


def _another(primitive: Any, pair: KeyPair) -> KeyPair:
    """Return a secret key that differs in one bit."""
    other: KeyPair = primitive.decode_private(_flipped(primitive.encode_private(pair)))
    return other


def _stranger(primitive: Any, algorithm: Algorithm) -> Any:
    """Return a public key of someone else: the known answer's where the provider loads it, since making keys can be slow."""
    answer = answer_of(algorithm) or {}
    public = answer.get("public")
    if public is not None:  # of Classic McEliece only the size is stored, and zeros are a public key too
        return primitive.decode_public(bytes(public) if isinstance(public, int) else b64decode(public))
    for pair in _loaded(primitive, answer) if "private" in answer else ():
        return pair.public
    return primitive.generate().public
