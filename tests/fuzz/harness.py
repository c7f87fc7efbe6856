"""What both fuzzers do with their readers: write seeds, choose one by the first octet; only ``Refused`` may escape it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import atheris

from anka_flow.errors import Refused

Reader = tuple[Callable[[bytes], object], Callable[[], bytes]]  # what reads an input, and what makes a valid one
WITHOUT_END = 1 << 62  # the usage limit of keys is no part of these tests


def main(name: str, readers: Sequence[Reader]) -> None:
    """Fuzz, or with ``--seeds FOLDER`` write a valid input of every reader."""

    def read(data: bytes) -> None:
        if not data:
            return
        reader, _ = readers[data[0] % len(readers)]
        try:
            reader(data[1:])
        except Refused:
            return

    if sys.argv[1:2] == ["--seeds"]:
        folder = Path(sys.argv[2])
        folder.mkdir(parents=True, exist_ok=True)
        for at, (_, seed) in enumerate(readers):
            (folder / f"{name}-{at:02}").write_bytes(bytes((at,)) + seed())
        return
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
