"""Readers of the formats that published test vectors come in. Values are octets."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def wycheproof(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield (group, test) of a Wycheproof file; hexadecimal fields stay text."""
    for group in json.loads(path.read_text())["testGroups"]:
        for test in group["tests"]:
            yield group, test


def vec(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (section, record) of a Botan ``.vec`` file; a blank line ends a record, a comment does not."""
    section, record = "", {}
    for line in [*path.read_text().splitlines(), ""]:
        text = line.strip()
        if text.startswith("#"):
            continue
        if match := re.fullmatch(r"\[(.+)\]", text):
            section = match[1]
        elif "=" in text:
            name, _, value = text.partition("=")
            record[name.strip()] = value.strip()
        elif record:
            yield section, record
            record = {}


def rsp(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records of a NIST ``.rsp`` file (or one like it), parted by blank lines."""
    record: dict[str, str] = {}
    for line in [*path.read_text().splitlines(), ""]:
        name, found, value = line.partition("=")
        if found and not line.startswith("#"):
            record[name.strip()] = value.strip()
        elif not line.strip() and record:
            yield record
            record = {}


def octets(text: str) -> bytes:
    """Return hexadecimal text as octets."""
    return bytes.fromhex(text)


def unbase64url(text: str) -> bytes:
    """Return base64url text without padding as octets."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
