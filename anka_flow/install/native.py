"""liboqs and Botan from source: the crates that carry them, fetched and checked by cargo, built by their own tools.

Builds are minimal: the algorithms of the catalog, with every SIMD implementation of them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from hashlib import file_digest
from importlib.resources import as_file, files
from pathlib import Path

from anka_flow.errors import Unfit

from .commands import Run, tool
from .folder import publish, workshop

OQS_CRATE, OQS_SHA256 = "oqs-sys-0.11.0+liboqs-0.13.0", "ac6d66ee528a895ce5cc08851698d109c5d7ee5d7a0b3b40d61550eda91e414f"
BOTAN_CRATE, BOTAN_SHA256 = "botan-src-0.31300.1", "e19afa24979ebb37fd22894895219e5f6bb6ba3d98f87c4aa147e59f4860efb7"
BOTAN_ARCHIVE, ARCHIVE_SHA256 = "Botan-3.13.0", "12f5a8358890bbee82edfe9d2e7769b0a610b6dd0e0698aea13d20a675d84620"

OQS_ALGORITHMS = (
    "KEM_ml_kem_512", "KEM_ml_kem_768", "KEM_ml_kem_1024", "KEM_frodokem_976_aes", "KEM_frodokem_1344_aes",
    "KEM_bike_l1", "KEM_bike_l3", "KEM_bike_l5",
    "KEM_classic_mceliece_348864", "KEM_classic_mceliece_460896", "KEM_classic_mceliece_6688128",
    "KEM_classic_mceliece_6960119", "KEM_classic_mceliece_8192128",
    "KEM_ntruprime_sntrup761", "KEM_ntruprime_sntrup761_avx2",  # its own filter does not find this one
    "SIG_ml_dsa_44", "SIG_ml_dsa_65", "SIG_ml_dsa_87", "SIG_falcon_512", "SIG_falcon_1024",
    "SIG_STFL_xmss_sha256_h10", "SIG_STFL_lms_sha256_h10_w4",
)  # fmt: skip
OQS_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DOQS_BUILD_ONLY_LIB=ON", "-DOQS_DIST_BUILD=ON",
    "-DOQS_USE_OPENSSL=OFF", "-DOQS_ENABLE_SIG_STFL_LMS=ON", "-DOQS_ENABLE_SIG_STFL_XMSS=ON",
    "-DOQS_HAZARDOUS_EXPERIMENTAL_ENABLE_SIG_STFL_KEY_SIG_GEN=ON", "-DCMAKE_INSTALL_LIBDIR=lib",
    f"-DOQS_MINIMAL_BUILD={';'.join(OQS_ALGORITHMS)}",
)  # fmt: skip

# A minimised build takes SIMD modules only by name; those of another processor are passed over.
BOTAN_MODULES = (
    "ffi", "system_rng", "cpuid_x86", "cpuid_aarch64",
    "aes", "aes_ni", "aes_vaes", "aes_vperm", "aes_armv8", "aria", "aria_avx512_gfni", "aria_hwaes",
    "camellia", "camellia_avx2_gfni", "camellia_avx512_gfni", "camellia_hwaes", "seed", "seed_avx512_gfni", "seed_hwaes",
    "sm4", "sm4_avx512", "sm4_gfni", "sm4_hwaes", "sm4_x86", "sm4_armv8",
    "gcm", "ccm", "ghash", "ghash_avx512_clmul", "ghash_cpu", "ghash_vperm", "ctr", "ctr_avx2", "ctr_simd32",
    "chacha20poly1305", "chacha", "chacha_avx2", "chacha_avx512", "chacha_simd32", "poly1305", "poly1305_avx2",
    "poly1305_avx512", "hmac", "kmac", "cmac",
    "sha2_32", "sha2_32_avx2", "sha2_32_simd", "sha2_32_x86", "sha2_32_armv8",
    "sha2_64", "sha2_64_avx2", "sha2_64_avx512", "sha2_64_x86", "sha2_64_armv8",
    "sha3", "keccak_perm", "keccak_perm_avx512", "keccak_perm_bmi2", "sm3", "sm3_avx2_bmi2", "sm3_x86", "sm3_armv8",
    "streebog", "streebog_avx512_gfni",
    "rsa", "eme_oaep", "emsa_pssr", "ecdh", "x25519", "x448", "ecdsa", "ed25519", "ed448", "sm2", "gost_3410",
    "pcurves_secp256r1", "pcurves_secp384r1", "pcurves_secp521r1", "pcurves_sm2p256v1", "pcurves_generic",
    "ml_kem", "ml_dsa", "slh_dsa_sha2", "frodokem_aes", "classic_mceliece", "xmss", "hss_lms",
)  # fmt: skip
BOTAN_OPTIONS = (
    "--minimized-build", f"--enable-modules={','.join(BOTAN_MODULES)}", "--build-targets=shared", "--build-tool=make",
    "--without-documentation", "--no-install-python-module",
)  # fmt: skip


def install_liboqs(run: Run) -> None:
    """Build liboqs and put it in its place. Raises ``Unfit`` with what is missing."""
    with workshop("liboqs") as folder:
        source = _vendor(run, "liboqs", folder, OQS_CRATE, OQS_SHA256) / "liboqs"
        finished = folder / "finished"
        _configure_liboqs(run, source, folder, finished)
        run.say("building")
        jobs, command = str(os.cpu_count() or 2), tool("cmake")
        run([command, "--build", "build", "--parallel", jobs], cwd=folder, failure="liboqs does not build")
        run([command, "--install", "build", "--strip"], cwd=folder, failure="liboqs does not install")
        for spare in ("include", "lib/cmake", "lib/pkgconfig"):
            shutil.rmtree(finished / spare, ignore_errors=True)
        _record(finished, OQS_CRATE, OQS_SHA256, OQS_OPTIONS)
        publish("liboqs", finished)


def _configure_liboqs(run: Run, source: Path, folder: Path, finished: Path) -> None:
    # Once only: a second run of cmake over a minimal build drops every SIMD implementation.
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    command = [tool("cmake"), "-S", str(source), "-B", "build", *generator, *OQS_OPTIONS]
    command += [f"-DCMAKE_INSTALL_PREFIX={finished}", f"-DCMAKE_PROJECT_liboqs_INCLUDE={folder / 'shim.cmake'}"]
    run(command, cwd=folder, failure="cmake does not accept this machine")


def install_botan(run: Run) -> None:
    """Build Botan and put it in its place. Raises ``Unfit`` with what is missing."""
    with workshop("botan") as folder:
        archive = _vendor(run, "botan", folder, BOTAN_CRATE, BOTAN_SHA256) / "vendor" / f"{BOTAN_ARCHIVE}.tar.xz"
        source = _unpack(archive, folder)
        compiler = [] if shutil.which("g++") or sys.platform == "darwin" else ["--cc=clang"]
        command = [sys.executable, "configure.py", *BOTAN_OPTIONS, *compiler]
        run(command, cwd=source, failure="Botan's configure.py does not accept this machine")
        run.say("building")
        total = (source / "build" / "compile_commands.json").read_text().count('"file": "src/lib/')
        jobs = str(os.cpu_count() or 2)
        run([tool("make"), "-j", jobs, "libs"], cwd=source, failure="Botan does not build", total=total)
        _keep_botan(run, source, folder / "finished")
        publish("botan", folder / "finished")


def _keep_botan(run: Run, source: Path, finished: Path) -> None:
    """Put aside the one library that was built, under its plain name and without its symbols."""
    (finished / "lib").mkdir(parents=True)
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    built = next(path for path in sorted(source.glob(f"libbotan-3*{suffix}*")) if not path.is_symlink())
    kept = finished / "lib" / f"libbotan-3{suffix}"
    shutil.copy2(built, kept)
    if strip := shutil.which("strip"):
        run([strip, "-x", str(kept)], cwd=finished, failure="strip does not read the library")
    _record(finished, BOTAN_CRATE, BOTAN_SHA256, BOTAN_OPTIONS)


def _vendor(run: Run, name: str, folder: Path, crate: str, sha256: str) -> Path:
    """Fetch the source and return its folder. cargo holds the crate against the lock file; so does this, once more."""
    with as_file(files("anka_flow.install") / "sources" / name) as shipped:
        shutil.copytree(shipped, folder, dirs_exist_ok=True)
    run.say(f"fetching {crate}")
    command = [tool("cargo"), "vendor", "--locked", "--versioned-dirs", "vendor"]
    run(command, cwd=folder, failure=f"cargo cannot fetch {crate}; is the network reachable?")
    source = folder / "vendor" / crate
    stated = json.loads((source / ".cargo-checksum.json").read_text())["package"]
    if stated != sha256:
        raise Unfit(f"{name}: the source {crate} is not the one that anka-flow was tried with")
    return source


def _unpack(archive: Path, folder: Path) -> Path:
    """Unpack Botan's own release, if it is the one that is meant."""
    with archive.open("rb") as file:
        if file_digest(file, "sha256").hexdigest() != ARCHIVE_SHA256:
            raise Unfit("botan: the archive is not the release that anka-flow was tried with")
    try:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
    except tarfile.CompressionError:
        raise Unfit("botan: this Python lacks the module lzma, which the archive takes") from None
    return folder / BOTAN_ARCHIVE


def _record(finished: Path, crate: str, sha256: str, options: tuple[str, ...]) -> None:
    """Leave a note of what was built from what, for the record of a run."""
    facts = {"source": crate, "sha256": sha256, "options": " ".join(options)}
    (finished / "build.json").write_text(json.dumps(facts, indent=1) + "\n")
