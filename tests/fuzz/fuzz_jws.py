"""Coverage-guided fuzzing of JWS and JWK reading: anything but ``Refused`` that escapes is a fault. Not collected by pytest.

    pip install atheris
    python tests/fuzz/fuzz_jws.py --seeds CORPUS              writes valid tokens to begin with
    python tests/fuzz/fuzz_jws.py CORPUS -max_total_time=600  runs ten minutes

The first octet of an input chooses the reader. Every reader runs under a key that verifies, and some under one that says yes to
every signature, so that what lies behind the verification is reached too.
"""

from __future__ import annotations

from typing import Any

import atheris
from harness import WITHOUT_END, Reader, main

with atheris.instrument_imports(include=["anka_flow.jose"]):
    from anka_flow.jose import jwk
    from anka_flow.jose.composite_signature import CompositeSigner
    from anka_flow.jose.jws import CompactToken, resign_compact, sign_compact, verify_compact
    from anka_flow.jose.jws_json import sign_flattened, verify_json
    from anka_flow.jose.jws_stream import resign_stream, sign_stream, verify_detached, verify_stream

from anka_flow.keys import Key
from anka_flow.plan import primitive
from anka_flow.primitives import Buffer
from anka_flow.streams import BytesSource

PAYLOAD = b"a payload"


class Yes:
    """A signer that finds every signature valid."""

    streams = False

    def __init__(self, signer: Any) -> None:
        self.algorithm = signer.algorithm

    def sign(self, private: object, message: Buffer, context: bytes = b"") -> bytes:
        return b"signature"

    def verify(self, public: object, message: Buffer, signature: Buffer, context: bytes = b"") -> bool:
        return True


def _endless(key: Key) -> Key:
    key.limit = WITHOUT_END
    return key


MAC = _endless(jwk.generate(primitive("mac", "HMAC-SHA256")))  # type: ignore[arg-type]
EC = _endless(jwk.generate(primitive("signature", "P-256")))
PAIR = CompositeSigner(primitive("signature", "P-256"), primitive("signature", "ML-DSA-44"))  # type: ignore[arg-type]
COMPOSITE = _endless(jwk.generate(PAIR))
LAX = Key(Yes(MAC.primitive), MAC.pair, limit=WITHOUT_END, kid="lax")
SOURCE = BytesSource(PAYLOAD)
RSA = primitive("signature", "RSA-2048")

READERS: list[Reader] = [
    (lambda data: verify_compact(MAC, data), lambda: bytes(sign_compact(MAC, PAYLOAD))),
    (lambda data: verify_compact(LAX, data), lambda: bytes(sign_compact(MAC, PAYLOAD))),
    (lambda data: resign_compact(LAX, LAX, data), lambda: bytes(sign_compact(MAC, PAYLOAD))),
    (lambda data: verify_json(LAX, data), lambda: sign_flattened(MAC, PAYLOAD)),
    (lambda data: verify_json(LAX, data, payload=PAYLOAD), lambda: bytes(sign_stream(MAC, SOURCE))),
    (lambda data: verify_stream(LAX, SOURCE, data), lambda: bytes(sign_stream(MAC, SOURCE))),
    (lambda data: resign_stream(LAX, LAX, SOURCE, data), lambda: bytes(sign_stream(MAC, SOURCE))),
    (lambda data: verify_detached(LAX, data, PAYLOAD), lambda: sign_stream(MAC, SOURCE).compact()),
    (lambda data: verify_compact(EC, data), lambda: bytes(sign_compact(EC, PAYLOAD))),
    (lambda data: verify_compact(COMPOSITE, data), lambda: bytes(sign_compact(COMPOSITE, PAYLOAD))),
    (
        lambda data: PAIR.verify(COMPOSITE.pair.public, PAYLOAD, data),
        lambda: PAIR.sign(COMPOSITE.pair.private, PAYLOAD),
    ),
    (PAIR.decode_private, lambda: PAIR.encode_private(COMPOSITE.pair)),
    (PAIR.decode_public, lambda: PAIR.encode_public(COMPOSITE.pair.public)),
    (lambda data: jwk.parse_key(data, EC.primitive), lambda: _json(EC)),
    (lambda data: jwk.parse_key(data, PAIR), lambda: _json(COMPOSITE)),
    (lambda data: jwk.parse_key(data, MAC.primitive), lambda: _json(MAC)),
    (lambda data: jwk.parse_key(data, RSA), lambda: _json(jwk.generate(RSA))),
    (lambda data: CompactToken(bytearray(data)).facts(), lambda: bytes(sign_compact(MAC, PAYLOAD))),
]


def _json(key: Key) -> bytes:
    import json

    return json.dumps(jwk.export_key(key, private=True)).encode()


if __name__ == "__main__":
    main("jws", READERS)
