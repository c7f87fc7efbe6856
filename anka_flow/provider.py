"""Crypto libraries as providers: what each offers, whether it is here, and which one serves an algorithm.

A provider module imports its library only when a method needs it, so that looking at a plan stays cheap. The order of
preference is catalog data (``prefer``, and ``default_order`` for the rest).
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import entry_points
from typing import Any

from .errors import Refused, Unsupported
from .primitives import Algorithm, KeyPair, Primitive
from .registry import Registry


class Provider(ABC):
    """One crypto library. ``mechanisms`` maps an algorithm's id to the library's own name for it.

    An algorithm's catalog row may add a mechanism for a provider; the provider's ``implement`` reads ``mechanism(algorithm)``.
    ``jit`` says that its code is compiled as it runs, so that it must be warmed up to a steady state.
    ``obtain`` is the sentence that tells how to get the library.
    """

    name: str
    obtain: str
    jit: bool = False
    mechanisms: Mapping[str, str]

    @abstractmethod
    def unavailable(self) -> str | None:
        """Return why the library cannot be used here, or None. Must not import the library before it has looked for it."""

    @abstractmethod
    def version(self) -> str:
        """Return the library's version as it says it itself, e.g. ``cryptography 50.0.2 (OpenSSL 4.0.3)``."""

    @abstractmethod
    def implement(self, algorithm: Algorithm) -> Primitive:
        """Return the algorithm made usable. Raises ``Unsupported`` if the library, once asked, does not have it."""

    def mechanism(self, algorithm: Algorithm) -> str | None:
        """Return the library's own name for the algorithm, or None if it does not offer it."""
        return algorithm.mechanisms.get(self.name) or self.mechanisms.get(algorithm.id)

    def revision(self, algorithm: Algorithm) -> str:
        """Return which text of the algorithm this library follows, where texts differ (HQC, Frodo), or nothing."""
        return ""

    def refusal(self, algorithm: Algorithm) -> str | None:
        """Return why a mechanism that the library has is not to be used for this algorithm, or None."""
        return None

    def options(self) -> Mapping[str, str]:
        """Return facts about the build worth a line in the run's record (CPU capability, flags)."""
        return {}


class RawKeys:
    """Key encodings of a library whose handles are the standard's octets themselves (most PQC libraries)."""

    def encode_public(self, public: bytes) -> bytes:
        return bytes(public)

    def decode_public(self, data: bytes) -> bytes:
        return bytes(data)

    def encode_private(self, pair: KeyPair) -> bytes:
        """Return uint32 length of the public key, public key, private key: a raw private key need not hold the public one."""
        return b"".join((len(pair.public).to_bytes(4, "big"), pair.public, pair.private))

    def decode_private(self, data: bytes) -> KeyPair:
        cut = 4 + int.from_bytes(data[:4], "big")
        return KeyPair(bytes(data[4:cut]), bytes(data[cut:]))


class SecretKeys(ABC):
    """Keys of a secret-key primitive (MAC, AEAD, key wrap): octets, and one handle that serves both sides.

    ``sizes.key`` of the algorithm is the length that ``generate`` makes, and unless ``any_length`` the only one that loads.
    """

    algorithm: Algorithm
    any_length = False

    @abstractmethod
    def handle(self, raw: bytes) -> Any:
        """Return the key ready to use, with its octets as ``raw``. ``ValueError`` if the library refuses them."""

    def generate(self) -> KeyPair:
        return self.decode_private(os.urandom(self.algorithm.sizes["key"]))

    def encode_public(self, public: Any) -> bytes:
        return bytes(public.raw)

    def decode_public(self, data: bytes) -> Any:
        if not data or not (self.any_length or len(data) == self.algorithm.sizes["key"]):
            raise Refused(f"not a key of {self.algorithm.name}")
        try:
            return self.handle(bytes(data))
        except ValueError:
            raise Refused(f"not a key of {self.algorithm.name}") from None

    def encode_private(self, pair: KeyPair) -> bytes:
        return bytes(pair.private.raw)

    def decode_private(self, data: bytes) -> KeyPair:
        handle = self.decode_public(data)
        return KeyPair(handle, handle)


@lru_cache(maxsize=1)
def providers() -> Registry[Provider]:
    """Return every provider: the modules of ``anka_flow.providers`` and entry points ``anka_flow.providers``."""
    registry: Registry[Provider] = Registry("provider")
    package = importlib.import_module("anka_flow.providers")
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"anka_flow.providers.{info.name}")
        if provider := getattr(module, "PROVIDER", None):
            registry.add(provider.name, provider)
    for point in entry_points(group="anka_flow.providers"):
        provider = point.load()
        registry.add(provider.name, provider)
    return registry


@cache
def availability(name: str) -> str | None:
    """Return why the named provider cannot be used here, or None; asked once per process."""
    return providers().get(name).unavailable()


def offering(algorithm: Algorithm, order: Sequence[str]) -> list[Provider]:
    """Return the providers that offer the algorithm, present or not, in order of preference."""
    known = providers()
    ranks = [*algorithm.prefer, *order]
    names = sorted(known, key=lambda name: ranks.index(name) if name in ranks else len(ranks))
    return [known.get(name) for name in names if known.get(name).mechanism(algorithm)]


def choose(algorithm: Algorithm, order: Sequence[str], only: Sequence[str] = ()) -> Provider:
    """Return the preferred present provider of the algorithm; ``only`` restricts and reorders the choice.

    Raises ``Unsupported`` with a reason that names what would bring the algorithm.
    """
    candidates = offering(algorithm, order)
    if only:
        candidates = sorted((p for p in candidates if p.name in only), key=lambda p: list(only).index(p.name))
    reasons = []
    for provider in candidates:
        reason = availability(provider.name) or provider.refusal(algorithm)
        if reason is None:
            return provider
        reasons.append(f"{provider.name}: {reason}; {provider.obtain}")
    raise Unsupported("; or ".join(reasons) or f"no provider offers {algorithm.name}")
