"""What every (provider, algorithm) must do, whichever library is behind it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Aead, Kem, KeyWrap, Mac, Signer
from anka_flow.provider import availability, providers

from .offers import CATALOG, MESSAGE, algorithm_of, flipped, keep, key, other_public, pairs, pieces, primitive, signed

SHAPES: dict[str, Any] = {"kem": Kem, "signature": Signer, "mac": Mac, "aead": Aead, "wrap": KeyWrap}
CONTENT_KEY = bytes(range(32))
BUFFERS = [bytes, bytearray, memoryview]

every = pytest.mark.parametrize(("provider", "algorithm"), pairs())
kems = pytest.mark.parametrize(("provider", "algorithm"), pairs("kem"))
signers = pytest.mark.parametrize(("provider", "algorithm"), pairs("signature"))
keyed_public = pytest.mark.parametrize(("provider", "algorithm"), [*pairs("kem"), *pairs("signature")])


@pytest.mark.parametrize("name", list(providers()))
def test_mechanisms_name_algorithms_of_the_catalog(name: str) -> None:
    """A provider offers only what the catalog knows, so that no mechanism is dead."""
    assert set(providers().get(name).mechanisms) <= set(CATALOG.algorithms)


@pytest.mark.parametrize("name", list(providers()))
def test_available_provider_says_its_version(name: str) -> None:
    """A provider that is here names its library and a version with digits."""
    if reason := availability(name):
        pytest.skip(f"{name}: {reason}")
    version = providers().get(name).version()
    assert version.split()[0].isascii()
    assert any(c.isdigit() for c in version)


def test_looking_at_the_registry_imports_no_library() -> None:
    """Listing providers and their availability by wheel imports no crypto library."""
    code = (
        "import sys; from anka_flow.provider import providers; known = providers();"
        "[known.get(n).unavailable() for n in ('openssl', 'pqcrypto', 'pycryptodome')];"
        "print([m for m in ('cryptography', 'pqcrypto', 'Crypto', 'oqs', 'jpype') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@every
def test_has_the_shape_of_its_kind(provider: str, algorithm: str) -> None:
    """What a provider returns is what operators expect of the kind, and names its algorithm."""
    made = primitive(provider, algorithm)
    assert isinstance(made, SHAPES[algorithm.split(":", maxsplit=1)[0]])
    assert made.algorithm == algorithm_of(algorithm)


@keyed_public
def test_public_key_has_the_standard_size(provider: str, algorithm: str) -> None:
    """An encoded public key is as long as the standard says."""
    made, sizes = primitive(provider, algorithm), algorithm_of(algorithm).sizes
    if "public" not in sizes:
        pytest.skip("no standard fixes the size")
    assert len(made.encode_public(key(provider, algorithm).public)) == sizes["public"]


@kems
def test_kem_agrees_on_a_secret(provider: str, algorithm: str) -> None:
    """Decapsulation gives the secret of the encapsulation; sizes are the standard's."""
    made, pair, sizes = primitive(provider, algorithm), key(provider, algorithm), algorithm_of(algorithm).sizes
    ciphertext, secret = made.encapsulate(pair.public)
    assert made.decapsulate(pair.private, ciphertext) == secret
    assert (len(ciphertext), len(secret)) == (sizes["ciphertext"], sizes["secret"])
    assert type(ciphertext) is type(secret) is bytes


@kems
def test_kem_secrets_are_fresh(provider: str, algorithm: str) -> None:
    """Two encapsulations to one key share neither ciphertext nor secret."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    first, second = made.encapsulate(pair.public), made.encapsulate(pair.public)
    assert first[0] != second[0]
    assert first[1] != second[1]


@kems
def test_kem_refuses_a_ciphertext_of_another_key(provider: str, algorithm: str) -> None:
    """A ciphertext for another key gives another secret or is refused."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    ciphertext, secret = made.encapsulate(other_public(provider, algorithm))
    assert _decapsulated(made, pair.private, ciphertext) != secret


@kems
def test_kem_refuses_a_flipped_bit(provider: str, algorithm: str) -> None:
    """A ciphertext with one bit changed gives another secret or is refused, wherever the bit is."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    ciphertext, secret = made.encapsulate(pair.public)
    for at in (0, len(ciphertext) // 2, len(ciphertext) - 1):
        assert _decapsulated(made, pair.private, flipped(ciphertext, at)) != secret


@kems
def test_kem_refuses_lengths_that_are_none(provider: str, algorithm: str) -> None:
    """A ciphertext that is too short or too long is refused, never a crash or a foreign error."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    ciphertext, _ = made.encapsulate(pair.public)
    for wrong in (b"", ciphertext[:-1], ciphertext + b"\0"):
        with pytest.raises(Refused):
            made.decapsulate(pair.private, wrong)


def _decapsulated(made: Any, private: Any, ciphertext: bytes) -> bytes | None:
    try:
        return bytes(made.decapsulate(private, ciphertext))
    except Refused:
        return None


@signers
def test_signature_verifies(provider: str, algorithm: str) -> None:
    """A signature verifies under its key; its size is the standard's."""
    made, pair, sizes = primitive(provider, algorithm), key(provider, algorithm), algorithm_of(algorithm).sizes
    signature = signed(provider, algorithm)
    assert made.verify(pair.public, MESSAGE, signature) is True
    assert len(signature) == sizes.get("signature", len(signature))
    assert len(signature) <= sizes.get("signature_max", len(signature))


@signers
def test_signature_is_refused_under_another_key(provider: str, algorithm: str) -> None:
    """A signature does not verify under another key."""
    made = primitive(provider, algorithm)
    assert made.verify(other_public(provider, algorithm), MESSAGE, signed(provider, algorithm)) is False


@signers
def test_signature_is_refused_for_another_message(provider: str, algorithm: str) -> None:
    """A signature does not verify for a message with one bit changed, a longer or an empty one."""
    made, pair, signature = primitive(provider, algorithm), key(provider, algorithm), signed(provider, algorithm)
    for message in (flipped(MESSAGE, 0), flipped(MESSAGE, len(MESSAGE) - 1), MESSAGE + b"\0", b""):
        assert made.verify(pair.public, message, signature) is False


@signers
def test_signature_with_a_flipped_bit_is_refused(provider: str, algorithm: str) -> None:
    """A signature with one bit changed does not verify, wherever the bit is."""
    made, pair, signature = primitive(provider, algorithm), key(provider, algorithm), signed(provider, algorithm)
    for at in (0, 1, len(signature) // 2, len(signature) - 1):
        assert _verdict(made, pair.public, flipped(signature, at)) is False


@signers
def test_signature_of_a_wrong_length_is_refused(provider: str, algorithm: str) -> None:
    """A signature that is empty, short, long or all zero does not verify, and never crashes."""
    made, pair, signature = primitive(provider, algorithm), key(provider, algorithm), signed(provider, algorithm)
    for wrong in (b"", signature[:1], signature[:-1], signature + b"\0", bytes(len(signature)), b"\xff" * len(signature)):
        assert _verdict(made, pair.public, wrong) is False


def _verdict(made: Any, public: Any, signature: bytes) -> bool:
    try:
        return bool(made.verify(public, MESSAGE, signature))
    except Refused:
        return False


@signers
def test_signing_in_pieces_is_signing_at_once(provider: str, algorithm: str) -> None:
    """A signature made in pieces verifies at once, one made at once verifies in pieces; or both forms say they are missing."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    if not made.streams:
        with pytest.raises(Unsupported):
            made.start_sign(pair.private)
        with pytest.raises(Unsupported):
            made.start_verify(pair.public)
        return
    signing = made.start_sign(pair.private)
    for piece in pieces(MESSAGE):
        signing.update(piece)
    assert made.verify(pair.public, MESSAGE, signing.finish()) is True
    assert _verified_inpieces(made, pair.public, MESSAGE, signed(provider, algorithm)) is True
    assert _verified_inpieces(made, pair.public, MESSAGE + b"\0", signed(provider, algorithm)) is False
    assert _verified_inpieces(made, pair.public, MESSAGE, flipped(signed(provider, algorithm), 9)) is False


def _verified_inpieces(made: Any, public: Any, message: bytes, signature: bytes) -> bool:
    verifying = made.start_verify(public)
    for piece in pieces(message):
        verifying.update(piece)
    return bool(verifying.finish(signature))


@signers
def test_context_binds_or_is_refused(provider: str, algorithm: str) -> None:
    """ML-DSA and SLH-DSA bind a context of up to 255 octets; every other scheme refuses one."""
    made, pair, row = primitive(provider, algorithm), key(provider, algorithm), algorithm_of(algorithm)
    if row.family not in ("ML-DSA", "SLH-DSA"):
        with pytest.raises(Refused):
            made.sign(pair.private, MESSAGE, b"context")
        with pytest.raises(Refused):
            made.verify(pair.public, MESSAGE, signed(provider, algorithm), b"context")
        return
    try:
        signature = made.sign(pair.private, MESSAGE, b"context")
    except Unsupported as error:
        pytest.skip(str(error))
    assert made.verify(pair.public, MESSAGE, signature, b"context") is True
    assert made.verify(pair.public, MESSAGE, signature, b"contexT") is False
    assert made.verify(pair.public, MESSAGE, signature) is False
    with pytest.raises(Refused):
        made.sign(pair.private, MESSAGE, bytes(256))


@every
def test_any_buffer_will_do(provider: str, algorithm: str) -> None:
    """Messages, ciphertexts, signatures and tags may be bytes, bytearray or memoryview."""
    made, pair, kind = primitive(provider, algorithm), key(provider, algorithm), algorithm.split(":", maxsplit=1)[0]
    for buffer in BUFFERS:
        if kind == "kem":
            ciphertext, secret = made.encapsulate(pair.public)
            assert made.decapsulate(pair.private, buffer(ciphertext)) == secret
        elif kind == "signature":
            assert made.verify(pair.public, buffer(MESSAGE), buffer(signed(provider, algorithm))) is True
        elif kind == "mac":
            assert made.tag(pair.private, buffer(MESSAGE)) == made.tag(pair.private, MESSAGE)
        elif kind == "aead":
            nonce = bytes(made.nonce_bytes)
            sealed = made.seal(pair.private, buffer(nonce), buffer(MESSAGE), buffer(b"aad"))
            assert made.open(pair.private, buffer(nonce), buffer(sealed), buffer(b"aad")) == MESSAGE
        else:
            assert made.unwrap(pair.private, buffer(made.wrap(pair.public, buffer(CONTENT_KEY)))) == CONTENT_KEY


@every
def test_keys_encode_and_decode(provider: str, algorithm: str) -> None:
    """A key that went through its encodings is the same key and works."""
    made, pair, row = primitive(provider, algorithm), key(provider, algorithm), algorithm_of(algorithm)
    encoded = made.encode_public(pair.public)
    assert type(encoded) is bytes
    assert made.encode_public(made.decode_public(encoded)) == encoded
    again = made.decode_private(made.encode_private(pair))
    keep(provider, algorithm, again)
    assert made.encode_public(again.public) == encoded
    if not row.stateful:
        assert made.encode_private(made.decode_private(made.encode_private(again))) == made.encode_private(again)
    if row.kind == "kem":
        ciphertext, secret = made.encapsulate(again.public)
        assert made.decapsulate(again.private, ciphertext) == secret
    elif row.kind == "signature":
        assert made.verify(again.public, MESSAGE, signed(provider, algorithm)) is True


@every
def test_garbage_is_no_public_key(provider: str, algorithm: str) -> None:
    """Octets that are no key are refused: nothing, one octet, a cut and a longer key."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    encoded = made.encode_public(pair.public)
    wrong = [b""] if getattr(made, "any_length", False) else [b"", b"\0", encoded[:-1], encoded + b"\0"]
    if algorithm.startswith(("mac:HMAC", "mac:KMAC")):
        wrong = [b""]  # any key length is a key
    for data in wrong:
        with pytest.raises(Refused):
            made.decode_public(data)


@every
def test_garbage_is_no_private_key(provider: str, algorithm: str) -> None:
    """Octets that are no key are refused: nothing, one octet, a cut and a longer key."""
    made, pair, row = primitive(provider, algorithm), key(provider, algorithm), algorithm_of(algorithm)
    wrong = [b""]
    if row.family not in ("HMAC", "KMAC"):
        wrong += [b"\0"]
    if row.family not in ("HMAC", "KMAC") and not row.stateful:
        encoded = made.encode_private(pair)
        wrong += [encoded[:-1], encoded + b"\0"]
    for data in wrong:
        with pytest.raises(Refused):
            made.decode_private(data)


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=["kem:P-256", "kem:P-384", "kem:P-521"]))
def test_point_off_the_curve_is_refused(provider: str, algorithm: str) -> None:
    """A point off the curve, the point at infinity, a compressed and a hybrid point are no public key and no ciphertext."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    point = made.encode_public(pair.public)
    width = len(point) // 2
    for wrong in (
        flipped(point, 2 * width),
        b"\4" + bytes(2 * width),
        b"\0",
        b"\2" + point[1 : width + 1],
        b"\6" + point[1:],
        b"\7" + point[1:],
    ):
        with pytest.raises(Refused):
            made.decode_public(wrong)
        with pytest.raises(Refused):
            made.decapsulate(pair.private, wrong)


@pytest.mark.parametrize(("provider", "algorithm"), pairs("kem", algorithms=["kem:X25519", "kem:X448"]))
def test_small_order_point_is_refused(provider: str, algorithm: str) -> None:
    """A ciphertext that forces the all-zero secret is refused (RFC 7748, 6)."""
    made, pair = primitive(provider, algorithm), key(provider, algorithm)
    for wrong in (bytes(algorithm_of(algorithm).sizes["public"]), b"\1" + bytes(algorithm_of(algorithm).sizes["public"] - 1)):
        with pytest.raises(Refused):
            made.decapsulate(pair.private, wrong)


def test_a_message_too_long_for_a_library_is_said_so() -> None:
    """pqcrypto 1.0.0 signs no message above 1 MiB with ML-DSA: the row must say that, and not speak of a context."""
    signer: Any = primitive("pqcrypto", "signature:ML-DSA-44")
    pair, message = signer.generate(), bytes(2 << 20)
    with pytest.raises(Unsupported, match="2,097,152 octets"):
        signer.sign(pair.private, message)
    with pytest.raises(Refused, match="context"):
        signer.sign(pair.private, b"message", bytes(256))
