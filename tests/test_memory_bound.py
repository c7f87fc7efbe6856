"""Streaming stays within its bound of memory and makes no file; the watch that says so sees what it must."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anka_flow import CheckFailed, Key, primitive
from anka_flow.jose import jws_stream, stream
from anka_flow.jose.composite_kem import CompositeKem
from anka_flow.jose.composite_signature import CompositeSigner
from anka_flow.jose.stream import StreamToken
from anka_flow.streams import FileStore
from operators import bounded

MIB = 1 << 20
SIZE, BEYOND, GROWTH_KIB = 64 * MIB, 32 * MIB, 8 * 1024
CONTENT = primitive("aead", "AES-256-GCM")


def new_key() -> Key:
    pair = CompositeKem(primitive("kem", "X25519"), primitive("kem", "ML-KEM-768"))
    return Key(pair, pair.generate())


def new_signer() -> Key:
    pair = CompositeSigner(primitive("signature", "Ed25519"), primitive("signature", "ML-DSA-65"))
    return Key(pair, pair.generate())


@pytest.fixture(scope="module")
def prepared() -> dict[str, Any]:
    """A payload of 64 MiB, its token and its signature, all in files."""
    payload, sealed = bounded.payload(SIZE, 7), bounded.file()
    key, signer = new_key(), new_signer()
    stream.encrypt_stream(key, payload, sealed, CONTENT)
    return {
        "payload": payload, "token": StreamToken(sealed, CONTENT), "key": key, "new_key": new_key(), "signer": signer,
        "new_signer": new_signer(), "signature": jws_stream.sign_stream(signer, payload, issued_at_s=0), "out": bounded.file(),
    }  # fmt: skip


def _operations(p: dict[str, Any]) -> dict[str, Callable[[], object]]:
    out: FileStore = p["out"]
    return {
        "encrypt": lambda: stream.encrypt_stream(p["key"], p["payload"], out.rewind(), CONTENT),
        "encrypt in segments": lambda: stream.encrypt_stream(p["key"], p["payload"], out.rewind(), CONTENT, "S2"),
        "decrypt": lambda: stream.decrypt_stream(p["key"], p["token"], out.rewind(), CONTENT),
        "reencrypt": lambda: stream.reencrypt_stream(p["key"], p["new_key"], p["token"], out.rewind(), CONTENT),
        "sign": lambda: jws_stream.sign_stream(p["signer"], p["payload"], issued_at_s=0),
        "verify": lambda: jws_stream.verify_stream(p["signer"], p["payload"], p["signature"]),
        "resign": lambda: jws_stream.resign_stream(p["signer"], p["new_signer"], p["payload"], p["signature"], issued_at_s=0),
    }


@pytest.mark.parametrize("name", ["encrypt", "encrypt in segments", "decrypt", "reencrypt", "sign", "verify", "resign"])
def test_operation_stays_within_its_bound(prepared: dict[str, Any], name: str) -> None:
    """64 MiB streamed with 32 MiB of address space to spare: it ends, grows by at most 8 MiB, and makes no file."""
    found = bounded.watched(_operations(prepared)[name], BEYOND)
    assert (found["fault"], found["made"]) == ("", [])
    assert found["growth_kib"] <= GROWTH_KIB


def test_check_reports_all_six_operations(prepared: dict[str, Any]) -> None:
    """The operator of the suite tells the growth of each operation."""
    names = ("key", "new_key", "signer", "new_signer", "payload", "token", "signature")
    found = bounded.check(**{name: prepared[name] for name in names}, content=CONTENT, beyond_mib=32).facts()
    assert set(found) == {f"{n}_growth_kib" for n in ("encrypt", "decrypt", "reencrypt", "sign", "verify", "resign")}


def test_check_fails_for_an_operation_that_takes_more(prepared: dict[str, Any]) -> None:
    """Without any growth allowed, the check names the operation."""
    names = ("key", "new_key", "signer", "new_signer", "payload", "token", "signature")
    with pytest.raises(CheckFailed, match=r"^encrypt: resident memory grew by"):
        bounded.check(**{name: prepared[name] for name in names}, content=CONTENT, max_growth_mib=0)


def test_watch_sees_memory() -> None:
    """An operation that fills 16 MiB shows at least that."""
    found = bounded.watched(lambda: bytes(bytearray(b"x") * (16 * MIB)), 64 * MIB)
    assert found["growth_kib"] >= 16 * 1024


def test_watch_sees_an_operation_that_wants_too_much() -> None:
    """An operation that asks for more than its bound fails with what it lacked."""
    assert bounded.watched(lambda: bytearray(64 * MIB), BEYOND)["fault"].startswith("MemoryError")


def test_watch_sees_a_temporary_file() -> None:
    """A file with a name, and one without, are both found."""
    assert bounded.watched(tempfile.NamedTemporaryFile, BEYOND)["made"]
    assert bounded.watched(tempfile.TemporaryFile, BEYOND)["made"]


def test_watch_sees_a_file_that_a_library_opens() -> None:
    """Descriptors that Python never heard of are found too."""
    import ctypes

    library, path = ctypes.CDLL(None), os.fsencode(Path(tempfile.gettempdir()) / f"anka-flow-{os.getpid()}")

    def make() -> None:
        import time

        descriptor = library.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        time.sleep(0.05)
        library.unlink(path)
        library.close(descriptor)

    assert any("anka-flow-" in made for made in bounded.watched(make, BEYOND)["made"])


def test_limit_bounds_the_address_space() -> None:
    """After ``limit`` the process has its size of that moment and so much more."""
    files = [bounded.payload(1000, 1), bounded.file(), bounded.file(), bounded.file()]

    def limited() -> None:
        limit = bounded.limit(*files, beyond_mib=100)
        assert resource.getrlimit(resource.RLIMIT_AS)[0] == limit.start_bytes + 100 * MIB

    assert bounded.watched(limited, 256 * MIB)["fault"] == ""


def test_limit_comes_before_any_result() -> None:
    """With a result in a file already, the limit refuses: it would count what the operation took."""
    sealed = bounded.file()
    sealed.write(b"token")
    sealed.commit()
    with pytest.raises(CheckFailed, match="too early or too late"):
        bounded.limit(bounded.payload(10, 1), sealed, bounded.file(), bounded.file())


def test_payload_is_seeded() -> None:
    """The same seed gives the same octets, whole chunks and a rest; another one others."""

    def read(store: FileStore) -> bytes:
        return b"".join(map(bytes, store.chunks()))

    first = read(bounded.payload(200_001, 1))
    assert len(first) == 200_001
    assert first == read(bounded.payload(200_001, 1)) != read(bounded.payload(200_001, 2))


def test_a_store_of_a_file_is_written_in_place() -> None:
    """Commit makes what was written readable, abort and rewind forget it."""
    store = bounded.file()
    store.write(b"one")
    store.commit()
    assert (len(store), b"".join(map(bytes, store.chunks()))) == (3, b"one")
    store.rewind().write(b"two")
    store.abort()
    assert (len(store), list(store.chunks())) == (0, [])
