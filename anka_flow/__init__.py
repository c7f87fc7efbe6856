"""The door of anka-flow: what operators, providers, meters and sinks are written with.

Names load on first use, so that ``import anka_flow`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import CheckFailed as CheckFailed
    from .errors import IdentityFailed as IdentityFailed
    from .errors import Refused as Refused
    from .errors import Skip as Skip
    from .errors import Unsupported as Unsupported
    from .keys import Key as Key
    from .known_answers import check_known_answer as check_known_answer
    from .known_answers import prove_identity as prove_identity
    from .meter import Meter as Meter
    from .pipeline import operator as operator
    from .plan import primitive as primitive
    from .primitives import Aead as Aead
    from .primitives import Algorithm as Algorithm
    from .primitives import Buffer as Buffer
    from .primitives import Kem as Kem
    from .primitives import KeyPair as KeyPair
    from .primitives import KeyWrap as KeyWrap
    from .primitives import Mac as Mac
    from .primitives import Primitive as Primitive
    from .primitives import Signer as Signer
    from .provider import Provider as Provider
    from .provider import RawKeys as RawKeys
    from .results import ResultSink as ResultSink

_HOMES = {
    "errors": ("CheckFailed", "IdentityFailed", "Refused", "Skip", "Unsupported"),
    "keys": ("Key",),
    "known_answers": ("check_known_answer", "prove_identity"),
    "meter": ("Meter",),
    "pipeline": ("operator",),
    "plan": ("primitive",),
    "primitives": (
        "Aead", "Algorithm", "Buffer", "Kem", "KeyPair", "KeyWrap", "Mac", "Primitive", "Signer",
    ),
    "provider": ("Provider", "RawKeys"),
    "results": ("ResultSink",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}
__all__ = list(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'anka_flow' has no attribute '{name}'")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
