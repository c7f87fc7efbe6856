"""JSON Web Encryption: compact tokens, General JSON for composite keys, and both in a stream.

The key decides: a KEM, an AEAD (``dir``) or a composite pair. ``content`` is the content algorithm; a ``dir`` key has
its own instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anka_flow import Aead, CheckFailed, Kem, Key, Refused, Unsupported, operator, primitive
from anka_flow.jose import jwe, jwe_damage, jwe_json, jwe_steps, stream
from anka_flow.jose.composite_kem import Encapsulated
from anka_flow.jose.jwe import CompactJwe
from anka_flow.jose.jwe_json import GeneralJwe
from anka_flow.jose.jwe_steps import Parsed, Sealed
from anka_flow.jose.kdf import Kmac
from anka_flow.jose.management import Mode, mode_of
from anka_flow.jose.stream import Plaintext, Reencrypted, StreamToken
from anka_flow.streams import Arena, Comparison, NullSink, Source, Store


def _mode(algorithm: Kem | Aead) -> Mode:
    kmac = primitive("mac", "KMAC256", "pycryptodome")
    if not isinstance(kmac, Kmac):
        raise Unsupported("no provider offers KMAC256 with an output of any length")
    return mode_of(algorithm, kmac)


def _restore(data: bytes, algorithm: Kem | Aead, content: Aead) -> Key:
    return Key.load(data, _fitting(algorithm, content))


@operator(restore=_restore)
def generate(algorithm: Kem | Aead, content: Aead) -> Key:
    """Return a new key of the algorithm's key management mode. Raises ``Unsupported`` if it cannot serve the content."""
    mode = _fitting(algorithm, content)
    return Key(mode, mode.generate())


def _fitting(algorithm: Kem | Aead, content: Aead) -> Mode:
    if not content.algorithm.jose:
        raise Unsupported(f"{content.algorithm.name} has no JOSE name in the catalog, so no token can say that it is used")
    return _mode(algorithm)


@operator
def encrypt(key: Key, payload: bytes, content: Aead) -> CompactJwe | GeneralJwe:
    """Return the token: compact, or General JSON for a composite key."""
    chosen = key.primitive.content or content
    if key.primitive.compact:
        return jwe.encrypt_compact(key, payload, chosen)
    return jwe_json.encrypt_general(key, payload, chosen)


@operator
def decrypt(key: Key, token: CompactJwe | GeneralJwe, content: Aead) -> bytes | bytearray:
    """Return the payload of a token."""
    chosen = key.primitive.content or content
    if key.primitive.compact:
        return jwe.decrypt_compact(key, token, chosen)
    return jwe_json.decrypt_general(key, token, chosen)


@operator
def reencrypt(old: Key, new: Key, token: CompactJwe | GeneralJwe, content: Aead) -> CompactJwe | GeneralJwe:
    """Return the token under the new key; the plaintext stays inside."""
    return encrypt(new, decrypt(old, token, content), content)  # type: ignore[arg-type]  # bytearray serves as bytes


@operator
def encrypt_stream(key: Key, payload: Source, sink: Store, content: Aead, profile: str = "") -> StreamToken:
    """Write the token of a source to ``sink``: profile S1, or S2 where the content algorithm takes whole messages only."""
    chosen = key.primitive.content or content
    stream.encrypt_stream(key, payload, sink.rewind(), chosen, profile)
    return StreamToken(sink, chosen)


@operator
def decrypt_stream(
    key: Key, token: StreamToken, sink: Store, content: Aead, profile: str = "", quarantined: bool = False
) -> Plaintext:
    """Write the payload of a token to ``sink``, and nothing that is not verified: see ``jose.stream``."""
    chosen = key.primitive.content or content
    stream.decrypt_stream(key, token, sink.rewind(), chosen, profile, quarantined=quarantined)
    segmented = stream.profile_of(chosen, profile) == stream.S2
    return Plaintext(sink, chosen, segmented=segmented, quarantined=quarantined)


@operator
def reencrypt_stream(
    old: Key, new: Key, token: StreamToken, sink: Store, content: Aead, profile: str = "", quarantined: bool = False
) -> StreamToken:
    """Write the token under the new key to ``sink``; the plaintext stays inside."""
    source = old.primitive.content or content
    target = new.primitive.content or content
    stream.reencrypt_stream(old, new, token, sink.rewind(), source, target, profile=profile, quarantined=quarantined)
    segmented = stream.profile_of(source, profile) == stream.S2
    return Reencrypted(sink, target, segmented=segmented, quarantined=quarantined)


@operator
def check_stream(key: Key, token: StreamToken, payload: Source, content: Aead, profile: str = "") -> None:
    """The streamed token opens to the payload: compared in one pass while it is decrypted, and kept nowhere."""
    stream.decrypt_stream(key, token, Comparison(payload), key.primitive.content or content, profile, quarantined=True)


@operator
def seal(key: Key, content_key: bytes, payload: bytes, content: Aead) -> Sealed:
    """Return the payload encrypted under a composite key's content key: one step of ``encrypt``, apart."""
    return jwe_steps.seal(key, content_key, payload, content)


@operator
def serialize(key: Key, encapsulated: Encapsulated, sealed: Sealed) -> GeneralJwe:
    """Return the token of the parts: the last step of ``encrypt``, apart."""
    return jwe_steps.serialize(key, encapsulated, sealed)


@operator
def parse(token: GeneralJwe) -> Parsed:
    """Return the parts of a token: the first step of ``decrypt``, apart."""
    return jwe_steps.parse(token)


@operator
def open(content_key: bytes, parsed: Parsed, content: Aead) -> bytes:
    """Return the payload of a parsed token: the last step of ``decrypt``, apart."""
    return jwe_steps.open_parsed(content_key, parsed, content)


# Above this size only what the payload's size could change is tried again; the smaller payloads of a suite try all of it.
_LARGE = 2 << 20
_FLIPPED = tuple(f"a flipped bit in {part}" for part in ("part 4", "part 5", "ciphertext", "tag"))
_CHANGED = ("its end lost", "the last character of the ciphertext changed")


@operator
def check_refusals(key: Key, other: Key, token: CompactJwe | GeneralJwe, content: Aead) -> None:
    """The token is refused under another key, and under its own once it is damaged in any of the ways of ``jwe_damage``."""
    _must_refuse("another key", partial(decrypt, other, token, content))
    damages = jwe_damage.compact(token) if key.primitive.compact else jwe_damage.general(token)
    for what, octets in damages:
        if len(token) < _LARGE or what.startswith(_FLIPPED):
            _must_refuse(what, partial(decrypt, key, octets, content))  # type: ignore[arg-type]  # octets of a token


@operator
def check_stream_refusals(key: Key, other: Key, token: StreamToken, content: Aead, profile: str = "") -> None:
    """The streamed token is refused under another key, and under its own once it is damaged."""
    chosen = key.primitive.content or content
    _must_refuse(
        "another key", partial(stream.decrypt_stream, other, token, NullSink(), other.primitive.content or content, profile)
    )
    text = token.source.view if isinstance(token.source, Arena) else memoryview(b"".join(token.chunks()))
    for what, source in jwe_damage.streamed(text):
        if len(text) < _LARGE or what in _CHANGED:
            _must_refuse(what, partial(stream.decrypt_stream, key, source, NullSink(), chosen, profile))


def _must_refuse(what: str, decrypting: Callable[[], object]) -> None:
    try:
        decrypting()
    except Refused:
        return
    raise CheckFailed(f"a token with {what} was accepted")
