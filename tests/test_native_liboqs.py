"""liboqs as a provider: it is looked for before it is imported, says what it is, and is never asked for another text's name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anka_flow.catalog import bundled
from anka_flow.errors import Refused
from anka_flow.provider import availability, providers

CATALOG = bundled()
PROVIDER = providers().get("liboqs")
needs_library = pytest.mark.skipif(availability("liboqs") is not None, reason=str(availability("liboqs")))


def run(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, every warning an error, liboqs named by nothing but ``env``."""
    kept = {key: value for key, value in os.environ.items() if key != "OQS_INSTALL_PATH"}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, env={**kept, **env}, capture_output=True, text=True, timeout=60, check=False)


def test_without_the_library_nothing_is_imported(tmp_path: Path) -> None:
    """Asking for liboqs where there is none says so, imports no liboqs-python, and leaves the interpreter alive."""
    code = (
        "import ctypes.util, sys; ctypes.util.find_library = lambda name: None\n"
        "from anka_flow.catalog import bundled; from anka_flow.errors import Unsupported\n"
        "from anka_flow.provider import providers; liboqs = providers().get('liboqs')\n"
        "print(liboqs.unavailable())\n"
        "try: liboqs.implement(bundled().get('kem', 'ML-KEM-512'))\n"
        "except Unsupported as error: print(error)\n"
        "print('oqs' in sys.modules)"
    )
    done = run(code, HOME=str(tmp_path), ANKA_FLOW_DATA=str(tmp_path))
    assert done.stdout.splitlines() == ["the library liboqs is missing"] * 2 + ["False"], done.stderr


def test_a_library_that_does_not_load_is_a_reason(tmp_path: Path) -> None:
    """A file that is no library of this machine makes liboqs unavailable, with a reason, and clones nothing."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "liboqs.so").write_bytes(b"not a library")
    code = (
        "import subprocess; subprocess.run = lambda *a, **k: exit('cloned')\n"
        "from anka_flow.provider import providers; print(providers().get('liboqs').unavailable())"
    )
    done = run(code, OQS_INSTALL_PATH=str(tmp_path), HOME=str(tmp_path))
    assert done.stdout.startswith("liboqs-python cannot load the library liboqs"), done.stderr


@needs_library
def test_loading_is_silent() -> None:
    """liboqs-python's line on stdout and its version warning do not reach the user; the environment is as before."""
    code = "import os; from anka_flow.provider import providers; before = dict(os.environ)\n"
    code += "providers().get('liboqs').version(); assert dict(os.environ) == before"
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_library
def test_says_version_and_capability() -> None:
    """The version names library and package; the options say which instruction sets the library found."""
    assert PROVIDER.version().startswith("liboqs 0.")
    assert "liboqs-python" in PROVIDER.version()
    assert set(PROVIDER.options()) >= {"cpu", "path"}


@pytest.mark.parametrize(
    "algorithm", [a for a in CATALOG.algorithms.values() if a.family in ("HQC", "SLH-DSA")], ids=lambda a: a.id
)
def test_other_texts_are_not_offered(algorithm: object) -> None:
    """HQC of 2023 and SPHINCS+ r3.1 are not offered as HQC and SLH-DSA, and the reason says why."""
    assert PROVIDER.mechanism(algorithm) is None
    assert "another algorithm" in str(PROVIDER.refusal(algorithm))


def test_revision_names_the_text_where_texts_differ() -> None:
    """Frodo is round 3, which ISO calls eFrodoKEM; ML-KEM has one text and needs no word."""
    assert "round 3" in PROVIDER.revision(CATALOG.get("kem", "FRODO-976"))
    assert PROVIDER.revision(CATALOG.get("kem", "ML-KEM-768")) == ""


@needs_library
def test_seed_makes_the_same_key() -> None:
    """A private key of ML-KEM is written as its seed of 64 octets, from which the same public key comes."""
    kem = PROVIDER.implement(CATALOG.get("kem", "ML-KEM-768"))
    pair = kem.generate()
    seed = kem.encode_private(pair)
    assert len(seed) == 64
    assert kem.decode_private(seed).public == pair.public
    assert "seed" not in repr(pair.private)


@needs_library
def test_context_is_bound_to_the_signature() -> None:
    """An ML-DSA signature verifies under its own context alone; a context past 255 octets is refused."""
    signer = PROVIDER.implement(CATALOG.get("signature", "ML-DSA-44"))
    pair = signer.generate()
    signature = signer.sign(pair.private, b"message", b"context")
    assert signer.verify(pair.public, b"message", signature, b"context")
    assert not signer.verify(pair.public, b"message", signature)
    assert not signer.verify(pair.public, b"message", signature, b"contexT")
    with pytest.raises(Refused):
        signer.sign(pair.private, b"message", bytes(256))
