"""Spec and catalog to cases. (Being written: only ``primitive`` is here.)"""

from __future__ import annotations

from functools import cache

from .catalog import bundled
from .errors import Unsupported
from .primitives import Primitive
from .provider import choose, providers


@cache
def primitive(kind: str, name: str, provider: str = "") -> Primitive:
    """Return an algorithm made usable, by the named provider or the preferred one that is present.

    Raises ``KeyError`` for an unknown algorithm, ``Unsupported`` where no present provider offers it.
    """
    catalog = bundled()
    algorithm = catalog.get(kind, name)
    chosen = choose(algorithm, catalog.default_order, (provider,) if provider else ())
    if provider and provider not in providers():
        raise Unsupported(f"unknown provider '{provider}'")
    return chosen.implement(algorithm)
