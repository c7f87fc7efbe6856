"""The folder of installed providers: one writer at a time, whole or not at all.

A provider is made in a hidden folder beside its place and renamed into it at the end; what an interrupted run left behind is
hidden, and goes with the next one. Nothing here knows what a provider is made of.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anka_flow.errors import Unfit
from anka_flow.providers.place import data_folder, provider_folder, providers_folder


@contextmanager
def locked() -> Iterator[None]:
    """Hold the folder alone, with the leftovers of interrupted runs cleared away. Raises ``Unfit`` if another run holds it."""
    root = providers_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Unfit(f"cannot write to {root}: {error.strerror}; set ANKA_FLOW_DATA to a folder of yours") from None
    try:
        _hold(handle)
        for left in root.glob(".*"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(handle)  # the system frees the lock with the last handle, also when this process is killed


def _hold(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock; the rename at the end still keeps installs whole
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Unfit("another 'anka-flow providers install' is running; wait for it to end") from None


@contextmanager
def workshop(name: str) -> Iterator[Path]:
    """Give a hidden folder to build in; it goes whatever happens."""
    made = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=providers_folder()))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def publish(name: str, finished: Path) -> None:
    """Put a finished folder in the provider's place; the moment without one is between two renames."""
    place = provider_folder(name)
    if place.exists():
        place.rename(finished.with_name("replaced"))
    finished.rename(place)


def remove(name: str) -> bool:
    """Take the provider's folder away, first by name. Returns whether there was one."""
    place = provider_folder(name)
    if not place.exists():
        return False
    hidden = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=providers_folder()))
    place.rename(hidden / "removed")
    shutil.rmtree(hidden, ignore_errors=True)
    return True


def log_path(name: str) -> Path:
    """Return where the log of the provider's installation is kept if it fails."""
    folder = data_folder() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"install-{name}.log"
