"""Where installed providers lie in the user's data folder. Nothing here looks into them or makes them."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    """Return the folder of anka-flow's own data; ``ANKA_FLOW_DATA`` overrides the platform's place for it."""
    if chosen := os.environ.get("ANKA_FLOW_DATA"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_data_dir

    return Path(user_data_dir("anka-flow"))


def providers_folder() -> Path:
    """Return the folder that holds one folder per installed provider."""
    return data_folder() / "providers"


def provider_folder(name: str) -> Path:
    """Return where the named provider is, or would be, installed."""
    return providers_folder() / name


def shared_object(folder: Path, stem: str) -> Path | None:
    """Return the shared library ``lib<stem>`` in ``folder`` (or its ``lib``, ``lib64``), or None."""
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    for place in (folder / "lib", folder / "lib64", folder / "bin", folder):
        for name in (f"lib{stem}{suffix}", f"{stem}{suffix}"):
            if (place / name).is_file():
                return place / name
    return None
