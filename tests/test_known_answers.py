"""Known answers and identity, for every provider and algorithm, and the faults that they must catch."""

from __future__ import annotations

from typing import Any

import pytest

import anka_flow.known_answers as known_answers
from anka_flow.errors import IdentityFailed
from anka_flow.known_answers import check_known_answer, prove_identity
from anka_flow.primitives import KeyPair

from .offers import CATALOG, algorithm_of, flipped, key, pairs, present, primitive


class Impostor:
    """A primitive that says it is one algorithm and runs another."""

    def __init__(self, inner: Any, algorithm: str) -> None:
        self.inner, self.algorithm = inner, algorithm_of(algorithm)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize(("provider", "algorithm"), pairs())
def test_known_answer_is_given(provider: str, algorithm: str) -> None:
    """Every provider gives the known answer of every algorithm, and the answer names its source."""
    source = check_known_answer(primitive(provider, algorithm), algorithm_of(algorithm), provider)
    assert not source.startswith("none")
    assert any(c.isdigit() for c in source)


@pytest.mark.parametrize(("provider", "algorithm"), pairs())
def test_identity_is_proved(provider: str, algorithm: str) -> None:
    """Every provider runs the algorithm that it names: sizes, round trip, wrong key and flipped bit."""
    prove_identity(primitive(provider, algorithm), algorithm_of(algorithm), key(provider, algorithm))


@pytest.mark.parametrize("algorithm", [a for a in CATALOG.algorithms if present(a)])
def test_every_algorithm_has_an_answer(algorithm: str) -> None:
    """Whatever some provider here can do has a known answer with a source."""
    answer = known_answers.answer_of(algorithm_of(algorithm))
    assert answer is not None
    assert answer["source"]


@pytest.mark.parametrize("part", ["tag", "key", "message"])
def test_flipped_bit_in_a_mac_answer_is_caught(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit changed in the stored answer ends in ``IdentityFailed``."""
    _spoil(monkeypatch, "mac:HMAC-SHA256", part)
    with pytest.raises(IdentityFailed, match=r"another tag than the known answer \(RFC 4231"):
        check_known_answer(primitive("openssl", "mac:HMAC-SHA256"), algorithm_of("mac:HMAC-SHA256"), "openssl")


@pytest.mark.parametrize(
    ("algorithm", "part"),
    [
        ("aead:AES-128-GCM", "sealed"), ("aead:AES-256-CCM", "key"), ("wrap:AES-128-KW", "wrapped"),
        ("signature:P-256", "signature"), ("signature:ML-DSA-65", "signature"), ("signature:RSA-2048", "message"),
        ("kem:X25519", "secret"), ("kem:RSA-2048", "ciphertext"), ("kem:ML-KEM-768", "ciphertext"),
    ],
)  # fmt: skip
def test_flipped_bit_in_an_answer_is_caught(algorithm: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit changed in the stored answer ends in ``IdentityFailed``, for every kind."""
    _spoil(monkeypatch, algorithm, part)
    with pytest.raises(IdentityFailed):
        check_known_answer(primitive("openssl", algorithm), algorithm_of(algorithm), "openssl")


def _spoil(monkeypatch: pytest.MonkeyPatch, algorithm: str, part: str) -> None:
    from base64 import b64decode, b64encode

    row = algorithm_of(algorithm)
    answer = dict(known_answers.answer_of(row) or {})
    data = b64decode(answer[part])
    answer[part] = b64encode(flipped(data, len(data) // 2)).decode()
    monkeypatch.setattr(known_answers, "_answers", lambda kind: {row.name: answer})


def test_smaller_parameter_set_under_a_larger_name_is_caught() -> None:
    """A provider that runs HQC-128 under the name HQC-192 fails on its key size, and on the known answer."""
    impostor = Impostor(primitive("pqcrypto", "kem:HQC-128"), "kem:HQC-192")
    with pytest.raises(IdentityFailed, match="HQC-192: public has 2241 octets, the catalog says 4514"):
        prove_identity(impostor, algorithm_of("kem:HQC-192"))


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ("mac:HMAC-SHA256", "mac:HMAC-SHA3-256"), ("aead:AES-128-CCM", "aead:SM4-CCM"), ("aead:SM4-GCM", "aead:AES-128-GCM"),
        ("mac:CMAC-AES-128", "mac:KMAC128"), ("signature:ML-DSA-44", "signature:ML-DSA-65"),
        ("signature:Ed25519", "signature:P-256"), ("kem:ML-KEM-768", "kem:ML-KEM-1024"), ("kem:P-256", "kem:X25519"),
    ],
)  # fmt: skip
def test_another_algorithm_under_the_name_is_caught(runs: str, says: str) -> None:
    """A primitive that runs another algorithm than it says fails the known answer, even where all sizes agree."""
    row = algorithm_of(says)
    with pytest.raises(IdentityFailed):
        check_known_answer(Impostor(primitive("openssl", runs), says), row, "openssl")


def test_signer_that_accepts_everything_is_caught() -> None:
    """A signer whose verification always says yes is no signer."""
    impostor = Impostor(primitive("openssl", "signature:Ed25519"), "signature:Ed25519")
    impostor.verify = lambda *_: True  # type: ignore[attr-defined]  # the fault that is injected
    with pytest.raises(IdentityFailed, match="a wrong signature, message or key verifies"):
        prove_identity(impostor, algorithm_of("signature:Ed25519"))


def test_kem_that_ignores_its_key_is_caught() -> None:
    """A KEM that gives one secret for every key and ciphertext fails."""
    impostor = Impostor(primitive("openssl", "kem:X25519"), "kem:X25519")
    impostor.encapsulate = lambda public: (bytes(32), bytes(32))  # type: ignore[attr-defined]  # the fault that is injected
    impostor.decapsulate = lambda private, ciphertext: bytes(32)  # type: ignore[attr-defined]  # as above
    with pytest.raises(IdentityFailed, match="a flipped bit leaves the secret as it was"):
        prove_identity(impostor, algorithm_of("kem:X25519"))


def test_aead_that_checks_no_tag_is_caught() -> None:
    """An AEAD that opens what was changed fails."""
    inner = primitive("openssl", "aead:AES-256-GCM")
    impostor = Impostor(inner, "aead:AES-256-GCM")
    impostor.open = lambda key, nonce, data, aad: known_answers.MESSAGE  # type: ignore[attr-defined]  # injected fault
    with pytest.raises(IdentityFailed, match="a wrong message or key opens"):
        prove_identity(impostor, algorithm_of("aead:AES-256-GCM"))


def test_mac_of_another_size_is_caught() -> None:
    """A tag of another size than the catalog's fails, and the message says both."""
    impostor = Impostor(primitive("openssl", "mac:HMAC-SHA512"), "mac:HMAC-SHA256")
    pair: KeyPair = primitive("openssl", "mac:HMAC-SHA512").generate()
    with pytest.raises(IdentityFailed, match="tag has 64 octets, the catalog says 32"):
        prove_identity(impostor, algorithm_of("mac:HMAC-SHA256"), pair)


def test_algorithm_without_an_answer_says_so() -> None:
    """A row that somebody added has no known answer, which is said and is no failure."""
    from dataclasses import replace

    row = replace(algorithm_of("mac:HMAC-SHA256"), name="HMAC-SHA224")
    assert check_known_answer(primitive("openssl", "mac:HMAC-SHA256"), row, "openssl").startswith("none")
