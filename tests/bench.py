"""``make bench``: what anka-flow adds to the operations it measures, as ratios in one process. Prints figures; asserts nothing.

Two things are compared by turns, so that a disturbance of the machine meets both; the figure is the median of the ratios.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import platform
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pybase64

from anka_flow import Key, Meter, operator, primitive
from anka_flow.discovery import Operators, bundled
from anka_flow.jose import composite_kem, composite_signature, jwe, jws, jws_stream, stream
from anka_flow.jose.management import Direct
from anka_flow.loop import Gauge, Loop
from anka_flow.pipeline import Use, compile_pipeline
from anka_flow.streams import Arena, BytesSource

MIB = 1 << 20
TURN_NS = 25e6
Call = Callable[[], Any]


def once_ns(call: Call, repeats: int) -> float:
    began = time.perf_counter_ns()
    for _ in range(repeats):
        call()
    return (time.perf_counter_ns() - began) / repeats


def compare(ours: Call, theirs: Call, seconds: float = 1.5) -> tuple[float, float, float]:
    """Return (ratio, ours ns, theirs ns): medians over turns of about 25 ms each.

    In turns of one call each side would pay for the pages that the other has given back to the system.
    """
    for _ in range(3):
        ours(), theirs()
    repeats = max(1, int(TURN_NS / max(once_ns(theirs, 1), 1)))
    mine, yours = [], []
    gc.collect()
    gc.disable()
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(mine) < 7:
        mine.append(once_ns(ours, repeats))
        yours.append(once_ns(theirs, repeats))
    gc.enable()
    return median(a / b for a, b in zip(mine, yours, strict=True)), median(mine), median(yours)


def show(name: str, found: tuple[float, float, float], bound: str) -> None:
    ratio, mine, yours = found
    print(f"{name:<62} {ratio:7.3f} x   {mine / 1e3:12.2f} us against {yours / 1e3:12.2f} us   (bound {bound})", flush=True)


@operator
def nothing(a: int, b: int) -> None:
    """Do nothing."""


def harness() -> None:
    """What an iteration costs beyond the operation and the clock reads."""
    meters = Operators([bundled("operators")])

    def per_iteration(*names: str) -> tuple[float, float]:
        chosen: dict[str, Meter] = {name: meters.meter(name) for name in names}
        steps = [Use("x", "b.n", {"a": 1, "b": "$seed"}, measure="X")]
        nodes = compile_pipeline(steps, {"seed": int}, lambda _: nothing)
        gauge, loop = Gauge(chosen), Loop(nodes, {"seed": 1})
        gauge.watch("X")
        gc.collect()
        gc.disable()
        cost = min(once_ns(lambda: loop.iterate(gauge.take), 5000) for _ in range(9))
        gc.enable()
        return cost, sum(2 * clock.cost for clock in gauge.clocks.values())

    for names in (("wall",), ("wall", "cpu")):
        cost, reads = per_iteration(*names)
        over = f"{cost - reads:7.0f} ns beyond {reads:.0f} ns of clock reads"
        print(f"harness, an empty operation under {'+'.join(names):<9}: {over}"
              "   (bound 2000 ns beyond two reads)", flush=True)  # fmt: skip


def compact() -> None:
    """JWS and JWE compact against jwcrypto and joserfc."""
    import joserfc.jwk
    import joserfc.jws as rfc_jws
    from jwcrypto import jwe as other_jwe
    from jwcrypto import jwk as other_jwk
    from jwcrypto import jws as other_jws

    octets = os.urandom(32)
    theirs = other_jwk.JWK(kty="oct", k=pybase64.urlsafe_b64encode(octets).rstrip(b"=").decode())
    rfc_key = joserfc.jwk.OctKey.import_key(octets)
    mac = primitive("mac", "HMAC-SHA256")
    key = Key(mac, mac.decode_private(octets), limit=1 << 60)
    for size, label in ((MIB, "1 MiB"), (1024, "1 KiB")):
        payload = os.urandom(size)

        def jwcrypto_sign(payload: bytes = payload) -> str:
            token = other_jws.JWS(payload)
            token.add_signature(theirs, "HS256", '{"alg":"HS256"}')
            return str(token.serialize(compact=True))

        def joserfc_sign(payload: bytes = payload) -> str:
            return rfc_jws.serialize_compact({"alg": "HS256"}, payload, rfc_key)

        def mine(payload: bytes = payload) -> Any:
            return jws.sign_compact(key, payload)

        show(f"JWS compact HS256 sign {label} / jwcrypto", compare(mine, jwcrypto_sign), "0.2 at 1 MiB")
        show(f"JWS compact HS256 sign {label} / joserfc", compare(mine, joserfc_sign), "1.2 at 1 KiB")
        token = bytes(jws.sign_compact(key, payload))
        text = token.decode()

        def jwcrypto_verify(text: str = text) -> bytes:
            found = other_jws.JWS()
            found.deserialize(text, theirs)
            return bytes(found.payload)

        show(f"JWS compact HS256 verify {label} / jwcrypto",
             compare(lambda token=token: jws.verify_compact(key, token), jwcrypto_verify), "-")  # fmt: skip
        if size < 100_000:  # joserfc refuses larger tokens
            show(f"JWS compact HS256 verify {label} / joserfc",
                 compare(lambda token=token: jws.verify_compact(key, token),
                         lambda text=text: rfc_jws.deserialize_compact(text, rfc_key)), "-")  # fmt: skip
    aead = primitive("aead", "AES-256-GCM")
    direct = Key(Direct(aead), aead.decode_private(octets), limit=1 << 60)  # type: ignore[arg-type]  # the row is an AEAD
    payload = os.urandom(MIB)

    def jwcrypto_encrypt() -> str:
        token = other_jwe.JWE(payload, '{"alg":"dir","enc":"A256GCM"}')
        token.add_recipient(theirs)
        return str(token.serialize(compact=True))

    sealed = jwcrypto_encrypt()

    def jwcrypto_decrypt() -> bytes:
        token = other_jwe.JWE()
        token.deserialize(sealed, theirs)
        return bytes(token.payload)

    show("JWE compact dir A256GCM encrypt 1 MiB / jwcrypto",
         compare(lambda: jwe.encrypt_compact(direct, payload, aead), jwcrypto_encrypt), "0.25")  # fmt: skip
    mine = bytes(jwe.encrypt_compact(direct, payload, aead))
    show("JWE compact dir A256GCM decrypt 1 MiB / jwcrypto",
         compare(lambda: jwe.decrypt_compact(direct, mine, aead), jwcrypto_decrypt), "0.25")  # fmt: skip


def streams(size: int) -> None:
    """Composite streams against bare loops over the same chunks."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    from anka_flow.streams import CHUNK_BYTES

    payload = memoryview(os.urandom(size))
    source = BytesSource(payload)
    aead = primitive("aead", "AES-256-GCM")
    pair = composite_kem.CompositeKem(primitive("kem", "X25519"), primitive("kem", "ML-KEM-768"))
    key = Key(pair, pair.generate(), limit=1 << 60)
    sealed, opened, bare = (Arena(size * 4 // 3 + (1 << 20)) for _ in range(3))
    octets, nonce = os.urandom(32), os.urandom(12)

    def bare_encrypt() -> None:
        cipher = Cipher(algorithms.AES(octets), modes.GCM(nonce)).encryptor()
        buffer = memoryview(bytearray(CHUNK_BYTES + 16))
        bare.rewind()
        for chunk in source.chunks():
            written = cipher.update_into(chunk, buffer)
            bare.write(pybase64.b64encode(buffer[:written], b"-_"))
        cipher.finalize()

    def mine_encrypt() -> None:
        stream.encrypt_stream(key, source, sealed.rewind(), aead)

    show(f"composite stream encrypt {size >> 20} MiB / bare GCM + base64url", compare(mine_encrypt, bare_encrypt, 4), "1.25")
    mine_encrypt()
    bare_encrypt()
    bare.commit()
    encoded = bare.view
    step = CHUNK_BYTES // 3 * 4

    def one_pass(keep: Arena | None) -> None:
        cipher = Cipher(algorithms.AES(octets), modes.GCM(nonce)).decryptor()
        buffer = memoryview(bytearray(CHUNK_BYTES + 16))
        for start in range(0, len(encoded), step):
            written = cipher.update_into(pybase64.b64decode(encoded[start : start + step], b"-_", validate=True), buffer)
            if keep is not None:
                keep.write(buffer[:written])

    def bare_decrypt() -> None:
        one_pass(None)
        one_pass(opened.rewind())

    show(f"composite stream decrypt {size >> 20} MiB, two passes / bare, same passes",
         compare(lambda: stream.decrypt_stream(key, sealed, opened.rewind(), aead), bare_decrypt, 4), "1.25")  # fmt: skip
    signer = composite_signature.CompositeSigner(primitive("signature", "Ed25519"), primitive("signature", "ML-DSA-65"))
    pair_key = Key(signer, signer.generate(), limit=1 << 60)

    def bare_hash() -> bytes:
        digest = hashlib.sha512()
        for chunk in source.chunks():
            digest.update(chunk)
        return digest.digest()

    show(f"composite stream sign {size >> 20} MiB / bare SHA-512",
         compare(lambda: jws_stream.sign_stream(pair_key, source), bare_hash, 4), "1.15")  # fmt: skip
    detached = jws_stream.sign_stream(pair_key, source)
    show(f"composite stream verify {size >> 20} MiB / bare SHA-512",
         compare(lambda: jws_stream.verify_stream(pair_key, source, detached), bare_hash, 4), "1.15")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100, help="MiB to stream")
    parser.add_argument("--only", choices=["harness", "compact", "streams", "primitives"])
    words = parser.parse_args()
    from anka_flow.environment import collect
    from tests.bench_primitives import primitives

    cpu = collect()["cpu"]["model"]
    print(f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}")
    parts: dict[str, Call] = {
        "harness": harness, "compact": compact, "streams": lambda: streams(words.size << 20), "primitives": primitives
    }  # fmt: skip
    for name, part in parts.items():
        if words.only in (None, name):
            part()


if __name__ == "__main__":
    main()
