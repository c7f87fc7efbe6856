"""Fixtures that several test modules share: a workspace of toy operators, and the command line in one process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

OPERATORS = '''
"""Toy operators: nothing here is cryptography."""
import hashlib
import os
import signal
import time
from anka_flow import CheckFailed, Mac, Signer, operator

@operator
def payload(payload_bytes: int, seed: int) -> bytes:
    return bytes([seed % 251]) * payload_bytes

@operator
def digest(data: bytes, rounds: int = 1) -> bytes:
    for _ in range(rounds):
        data = hashlib.sha256(data).digest()
    return data

@operator
def check(data: bytes, length: int = 32) -> None:
    if len(data) != length:
        raise CheckFailed(f"{len(data)} octets, not {length}")

@operator
def text(data: bytes) -> str:
    return data.hex()

@operator
def die(data: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return data

@operator
def sleep(data: bytes, seconds: float = 60.0) -> bytes:
    time.sleep(seconds)
    return data
'''

SPEC = """
name: toy
payloads: [1 KiB, 4 KiB]
axes:
  alg: {kind: mac, name: [HMAC-SHA256, HMAC-SHA512, CMAC-AES-128]}
payload: {use: toy.payload}
prove: null
meters: [wall, cpu]
run: {warmup: 1, iterations: 4, rounds: 2}
pipeline:
  - {id: hash, use: toy.digest, with: {data: $payload}, measure: HASH}
  - {use: toy.check, with: {data: $hash}}
columns: {ALG: alg, BYTES: payload_bytes, HASH_MS: HASH.wall.median.ms, CPU_HASH_MS: HASH.cpu.median.ms}
"""


@dataclass
class Workspace:
    """A folder with ``specs/`` and ``operators/`` outside the project."""

    root: Path

    def spec(self, text: str = SPEC, name: str = "toy") -> Path:
        path = self.root / "specs" / f"{name}.yaml"
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def operators(self, text: str, name: str) -> Path:
        path = self.root / "operators" / f"{name}.py"
        path.write_text(dedent(text), encoding="utf-8")
        return path


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with the toy operators and no spec yet."""
    for folder in ("specs", "operators"):
        (tmp_path / folder).mkdir()
    space = Workspace(tmp_path)
    space.operators(OPERATORS, "toy")
    return space


@dataclass
class Told:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run the command line in this process."""
    from anka_flow import cli as module

    def call(*words: str | Path) -> Told:
        monkeypatch.setattr(sys, "argv", ["anka-flow", *map(str, words)])
        code = 0
        try:
            module.main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capfd.readouterr()
        return Told(code, out, err)

    return call
