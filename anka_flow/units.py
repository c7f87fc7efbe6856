"""Sizes and durations as people write them."""

from __future__ import annotations

import re

_SIZES = {"B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]*)\s*")


def parse_size(value: str | int) -> int:
    """Return octets: ``1 KiB`` and ``1 KB`` differ, a plain number is octets. Raises ``ValueError``."""
    return _parse(value, _SIZES, "size", "as in 512, 1 KiB, 5 MiB", upper=True, default="B")


def parse_duration_ns(value: str | int | float) -> int:
    """Return nanoseconds; a plain number is seconds. Raises ``ValueError``."""
    return _parse(value, _TIMES, "duration", "as in 20 ms, 2 s, 5 min", upper=False, default="s")


def _parse(value: str | int | float, units: dict[str, int], what: str, hint: str, *, upper: bool, default: str) -> int:
    match = None if isinstance(value, bool) else _NUMBER.fullmatch(str(value))
    unit = (match[2].upper() if upper else match[2]) or default if match else ""
    if match is None or unit not in units:
        raise ValueError(f"bad {what} {value!r}; write it {hint}")
    exact = float(match[1]) * units[unit] if "." in match[1] else int(match[1]) * units[unit]
    if exact != int(exact) or exact > 1 << 62:
        raise ValueError(f"bad {what} {value!r}; it must be a whole number of the smallest unit")
    return int(exact)


def format_size(size: int) -> str:
    """Return octets with the largest unit that keeps them whole: 5242880 is ``5 MiB``."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def format_ns(value: float) -> str:
    """Return a duration with four significant digits and a fitting unit."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.4g} ns"
