"""Where published test vectors lie: read in place, copied nowhere. Tests that need them are skipped where they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def folder(name: str) -> Path:
    """Return the folder ``name`` of the vectors (``ANKA_FLOW_VECTORS``, or ``shared/vectors`` beside the project), or skip."""
    root = Path(os.environ.get("ANKA_FLOW_VECTORS") or Path(__file__).resolve().parents[2] / "shared" / "vectors")
    if not (root / name).is_dir():
        pytest.skip(f"no test vectors '{name}' in {root}; ANKA_FLOW_VECTORS names their folder")
    return root / name
