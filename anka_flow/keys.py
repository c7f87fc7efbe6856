"""Keys with their limits, and the store that hands them from one process of a run to the next.

A ``Key`` ties key handles to the primitive that uses them and counts its uses. The store keeps octets in files of mode 0600
behind a ``Protector``; it knows nothing of what the octets mean. Secrets have no repr and enter no error text.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .errors import AnkaError, Refused
from .primitives import Keyed, KeyPair

MAX_USES = 100_000
MAX_AGE_S = 365 * 24 * 3600


class KeySpent(AnkaError):
    """A key has reached its usage limit or its expiry, or a stateful key was asked for a second time."""


@dataclass(slots=True, repr=False)
class Key:
    """A key pair, the primitive that uses it, and its limits: at most ``limit`` uses, none after ``expires_s`` (epoch)."""

    primitive: Any
    pair: KeyPair
    limit: int = MAX_USES
    expires_s: float = field(default_factory=lambda: time.time() + MAX_AGE_S)
    uses: int = 0
    kid: str = ""

    def __post_init__(self) -> None:
        if not self.kid:
            algorithm = self.primitive.algorithm
            secret = algorithm.kind in ("mac", "aead", "wrap")  # its "public" handle is the key itself
            data = os.urandom(32) if secret else self.primitive.encode_public(self.pair.public)
            self.kid = hashlib.sha256(data).hexdigest()[:32]

    def __repr__(self) -> str:
        return f"Key({self.primitive.algorithm.name}, kid={self.kid})"

    def spend(self) -> None:
        """Count one use. Raises ``KeySpent`` past the usage limit or the expiry."""
        self.uses += 1
        if self.uses > self.limit:
            raise KeySpent(f"key {self.kid} has reached its limit of {self.limit:,} uses; make a new key")
        if time.time() > self.expires_s:
            raise KeySpent(f"key {self.kid} has expired; make a new key")

    def dump(self) -> bytes:
        """Return the key with its limits as octets that ``load`` reads. They are secret."""
        head = {"kid": self.kid, "limit": self.limit, "expires_s": self.expires_s, "uses": self.uses}
        return json.dumps(head).encode() + b"\n" + bytes(self.primitive.encode_private(self.pair))

    @classmethod
    def load(cls, data: bytes, primitive: Keyed) -> Key:
        """Return the key in ``data`` for the same algorithm and provider. Raises ``Refused`` if it is not one."""
        head, _, body = data.partition(b"\n")
        try:
            fields = json.loads(head)
            return cls(primitive, primitive.decode_private(body), **fields)
        except (ValueError, TypeError):
            raise Refused("stored key is not readable") from None


class Protector(Protocol):
    """Guards octets at rest. ``reveal`` raises ``Refused`` on anything that ``protect`` did not make."""

    def protect(self, data: bytes) -> bytes: ...
    def reveal(self, data: bytes) -> bytes: ...


class PassThrough:
    """The protector that protects nothing: keys of a benchmark run are worth nothing and live as long as the run."""

    def protect(self, data: bytes) -> bytes:
        return data

    def reveal(self, data: bytes) -> bytes:
        return data


class KeyStore:
    """Named secrets in one folder (0700), a file each (0600). Isolated: a run has its own and removes it at its end."""

    def __init__(self, folder: Path, protector: Protector | None = None) -> None:
        self.folder, self.protector = folder, protector or PassThrough()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.key"

    def put(self, name: str, data: bytes) -> None:
        """Store atomically; a second ``put`` of a name replaces it."""
        path = self._path(name)
        fresh = path.with_suffix(f".{os.getpid()}")
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(self.protector.protect(data))
        fresh.replace(path)

    def get(self, name: str) -> bytes | None:
        """Return the secret, or None if the store has none of that name."""
        try:
            return self.protector.reveal(self._path(name).read_bytes())
        except FileNotFoundError:
            return None

    def take(self, name: str) -> bytes:
        """Return a stateful key and forget it here, so that no two holders can use one index. Raises ``KeySpent``."""
        path = self._path(name)
        held = path.with_suffix(f".taken{os.getpid()}")
        try:
            path.replace(held)  # only one taker can win
        except FileNotFoundError:
            raise KeySpent(f"stateful key '{name}' was handed out before; make a new key") from None
        data = held.read_bytes()
        held.unlink()
        return self.protector.reveal(data)

    def clear(self) -> None:
        """Remove every secret and the folder."""
        if self.folder.exists():
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
