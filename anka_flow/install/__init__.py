"""Bringing crypto libraries onto a machine, and a report of which are there. Nothing is built or fetched unless asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anka_flow.errors import AnkaError, Unfit
from anka_flow.registry import suggest

if TYPE_CHECKING:
    from .commands import Run

NAMES = ("liboqs", "botan", "bouncycastle", "pyhsslms")
LMS = "pyhsslms==2.0.0"
_TOOLS = {"liboqs": ("cargo", "cmake", "ninja", "cc"), "botan": ("cargo", "make", "c++"), "bouncycastle": ("mvn",)}
_KINDS = {"kem": "KEM", "signature": "signature", "mac": "MAC", "aead": "AEAD", "wrap": "key wrap"}


class Row(NamedTuple):
    """One line of ``anka-flow providers``."""

    provider: str
    state: str
    version: str
    adds: str
    missing: str


def install(names: Iterable[str], *, jar: Path | None = None, progress: Callable[[str], object] = print) -> None:
    """Build or fetch the named providers, one after another; ``jar`` is BouncyCastle's, where Maven cannot fetch it.

    A provider appears whole or not at all. Raises ``Unfit`` that says what is missing and how to get it.
    """
    from .commands import Run, need
    from .folder import locked, log_path

    wanted = _known(names)
    need(*(t for name in wanted for t in _TOOLS.get(name, ()) if not (jar and name == "bouncycastle")))
    with locked():
        for name in wanted:
            log = log_path(name)
            run = Run(name, log, progress)
            _install(name, run, jar)
            log.unlink(missing_ok=True)
            run.say("ready")


def _install(name: str, run: Run, jar: Path | None) -> None:
    from .commands import pip

    if name == "bouncycastle":
        from .jar import install_bouncycastle

        install_bouncycastle(run, jar)
    elif name == "pyhsslms":
        pip(run, LMS)
    else:
        from .native import install_botan, install_liboqs

        {"liboqs": install_liboqs, "botan": install_botan}[name](run)


def uninstall(names: Iterable[str], *, progress: Callable[[str], object] = print) -> list[str]:
    """Remove what ``install`` brought and return the names of what was there. Java's wheels stay."""
    from importlib.util import find_spec

    from .commands import Run, pip_uninstall
    from .folder import locked, log_path, remove

    gone = []
    wanted = _known(names)
    with locked():
        for name in wanted:
            if remove(name):
                gone.append(name)
            elif name == "pyhsslms" and find_spec("pyhsslms"):
                pip_uninstall(Run(name, log_path(name), progress), "pyhsslms")
                log_path(name).unlink(missing_ok=True)
                gone.append(name)
    return gone


def installed() -> list[str]:
    """Return the names of what ``install`` brought and is there."""
    from importlib.util import find_spec

    from anka_flow.providers.place import provider_folder

    return [name for name in NAMES if provider_folder(name).is_dir() or (name == "pyhsslms" and find_spec(name))]


def _known(names: Iterable[str]) -> list[str]:
    wanted = list(dict.fromkeys(names))
    if not wanted:
        raise Unfit(f"name a provider to install or remove: {', '.join(NAMES)}; or --all")
    for name in wanted:
        if name not in NAMES:
            raise Unfit(f"there is nothing to install or remove for '{name}'{suggest(name, list(NAMES))}")
    return wanted


def report() -> list[Row]:
    """Return a row per provider: whether it is ready, its version, what it adds, and what is missing and how to get it."""
    return list(_rows())


def _rows() -> Iterator[Row]:
    from anka_flow.catalog import bundled
    from anka_flow.provider import availability, providers

    catalog = bundled()
    for name, provider in providers().items():
        offered = [a for a in catalog.algorithms.values() if provider.mechanism(a) and not provider.refusal(a)]
        counts = Counter(a.kind for a in offered)
        adds = ", ".join(f"{counts[kind]} {word}{'s' * (counts[kind] != 1)}" for kind, word in _KINDS.items() if counts[kind])
        reason, version = availability(name), ""
        if reason is None:
            try:
                version = provider.version()
            except AnkaError as error:
                reason = str(error)
        state, missing = ("ready", "") if reason is None else ("missing", f"{reason}; {provider.obtain}")
        yield Row(name, state, version, adds, missing)
