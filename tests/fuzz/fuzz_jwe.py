"""Coverage-guided fuzzing of JWE reading: anything but ``Refused`` that escapes is a fault. Not collected by pytest.

    pip install atheris
    python tests/fuzz/fuzz_jwe.py --seeds CORPUS              writes valid tokens to begin with
    python tests/fuzz/fuzz_jwe.py CORPUS -max_total_time=600  runs ten minutes

The first octet of an input chooses the reader. Every reader runs with the real content algorithm, and with one that finds every
tag right, so that what lies behind the verification is reached too. A payload that opens with the real one must be the one that
was sealed.
"""

from __future__ import annotations

from typing import Any

import atheris
from harness import WITHOUT_END, Reader, main

with atheris.instrument_imports(include=["anka_flow.jose"]):
    from anka_flow.jose import jwe_steps
    from anka_flow.jose.composite_kem import CompositeKem
    from anka_flow.jose.jwe import CompactJwe, decrypt_compact, encrypt_compact, reencrypt_compact
    from anka_flow.jose.jwe_json import GeneralJwe, decrypt_general, encrypt_for, encrypt_general
    from anka_flow.jose.management import Agreement, Direct, Encapsulation, GcmWrapping, Mode, Wrapping
    from anka_flow.jose.passphrase import Passphrase
    from anka_flow.jose.protector import PassphraseProtector
    from anka_flow.jose.stream import decrypt_stream, encrypt_stream, reencrypt_stream, token_facts

from anka_flow.errors import Refused
from anka_flow.keys import Key
from anka_flow.plan import primitive
from anka_flow.primitives import Buffer
from anka_flow.streams import BytesSource

PAYLOAD = b"a payload"
GCM: Any = primitive("aead", "AES-256-GCM")
KW: Any = primitive("wrap", "AES-256-KW")
KMAC: Any = primitive("mac", "KMAC256", "pycryptodome")


class Lax:
    """A content algorithm that finds every tag right, and does not decrypt."""

    streams = True
    algorithm, key_bytes, nonce_bytes, tag_bytes = GCM.algorithm, GCM.key_bytes, GCM.nonce_bytes, GCM.tag_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(GCM, name)

    def open(self, key: object, nonce: Buffer, data: Buffer, aad: Buffer) -> bytes:
        if len(data) < self.tag_bytes:
            raise Refused("too short")
        return bytes(data[: -self.tag_bytes])

    def opener(self, key: object, nonce: Buffer, aad: Buffer) -> Lax:
        return self

    def update_into(self, data: Buffer, out: memoryview) -> int:
        out[: len(data)] = data
        return len(data)

    def finish(self, tag: Buffer) -> None:
        if len(tag) != self.tag_bytes:
            raise Refused("tag of a wrong length")


class Collected:
    """A sink in memory; what it holds counts only once it was committed."""

    def __init__(self) -> None:
        self.octets, self.committed = bytearray(), False

    def write(self, data: Buffer) -> None:
        assert not self.committed
        self.octets += data

    def commit(self) -> None:
        self.committed = True

    def abort(self) -> None:
        assert not self.committed
        self.octets.clear()


def _key(mode: Any) -> Key:
    return Key(mode, mode.generate(), limit=WITHOUT_END)


DIRECT = _key(Direct(GCM))
COMPOSITE = _key(CompositeKem(primitive("kem", "X25519"), primitive("kem", "ML-KEM-768")))  # type: ignore[arg-type]
MODES: list[Mode] = [
    Wrapping(KW),
    GcmWrapping(primitive("wrap", "AES-256-GCMKW")),  # type: ignore[arg-type]
    Agreement(primitive("kem", "P-256"), KW),  # type: ignore[arg-type]
    Agreement(primitive("kem", "X25519")),  # type: ignore[arg-type]
    Encapsulation(primitive("kem", "ML-KEM-768"), KMAC),  # type: ignore[arg-type]
    Passphrase(KW, count=1000),
]
KEYS = [_key(mode) for mode in MODES]
LAX: Any = Lax()
GUARD = PassphraseProtector("passphrase", KW, log2_n=1)


def _same(plain: Buffer) -> None:
    assert plain == PAYLOAD, "another payload was opened"


def _streamed(key: Key, data: bytes, content: Any, profile: str, *, quarantined: bool = False) -> None:
    sink = Collected()
    decrypt_stream(key, BytesSource(data), sink, content, profile, quarantined=quarantined)
    assert sink.committed
    if content is GCM:
        _same(sink.octets)


def _stream(key: Key, profile: str) -> bytes:
    sink = Collected()
    encrypt_stream(key, BytesSource(PAYLOAD), sink, GCM, profile)
    return bytes(sink.octets)


def _compact(key: Key) -> bytes:
    return bytes(encrypt_compact(key, PAYLOAD, GCM))


READERS: list[Reader] = [
    (lambda data: _same(decrypt_compact(DIRECT, data, GCM)), lambda: _compact(DIRECT)),
    (lambda data: decrypt_compact(DIRECT, data, LAX), lambda: _compact(DIRECT)),
    (lambda data: reencrypt_compact(DIRECT, KEYS[0], data, LAX, GCM), lambda: _compact(DIRECT)),
    (lambda data: _same(decrypt_general(COMPOSITE, data, GCM)), lambda: bytes(encrypt_general(COMPOSITE, PAYLOAD, GCM))),
    (lambda data: decrypt_general(COMPOSITE, data, LAX), lambda: bytes(encrypt_general(COMPOSITE, PAYLOAD, GCM))),
    (
        lambda data: decrypt_general(KEYS[0], data, LAX),
        lambda: bytes(encrypt_for([KEYS[0], KEYS[1]], PAYLOAD, GCM, aad=b"aad")),
    ),
    (jwe_steps.parse, lambda: bytes(encrypt_general(COMPOSITE, PAYLOAD, GCM))),
    (lambda data: _streamed(COMPOSITE, data, GCM, "S1"), lambda: _stream(COMPOSITE, "S1")),
    (lambda data: _streamed(COMPOSITE, data, LAX, "S1", quarantined=True), lambda: _stream(COMPOSITE, "S1")),
    (lambda data: _streamed(DIRECT, data, GCM, "S2"), lambda: _stream(DIRECT, "S2")),
    (lambda data: _streamed(DIRECT, data, LAX, "S2"), lambda: _stream(DIRECT, "S2")),
    (lambda data: _streamed(COMPOSITE, data, LAX, "S2"), lambda: _stream(COMPOSITE, "S2")),
    (
        lambda data: reencrypt_stream(DIRECT, DIRECT, BytesSource(data), Collected(), LAX, GCM),
        lambda: _stream(DIRECT, "S1"),
    ),
    (lambda data: token_facts(BytesSource(data), GCM), lambda: _stream(DIRECT, "S2")),
    (lambda data: CompactJwe(data).facts(), lambda: _compact(DIRECT)),
    (lambda data: GeneralJwe(data).facts(), lambda: bytes(encrypt_general(COMPOSITE, PAYLOAD, GCM))),
    (GUARD.reveal, lambda: GUARD.protect(PAYLOAD)),
    (COMPOSITE.primitive.decode_public, lambda: COMPOSITE.primitive.encode_public(COMPOSITE.pair.public)),
    (COMPOSITE.primitive.decode_private, lambda: COMPOSITE.primitive.encode_private(COMPOSITE.pair)),
    *[(lambda data, k=key: decrypt_compact(k, data, LAX), lambda k=key: _compact(k)) for key in KEYS],  # type: ignore[misc]
]


if __name__ == "__main__":
    main("jwe", READERS)
