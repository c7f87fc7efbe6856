"""Sizes and durations read as people write them."""

import pytest

from anka_flow.units import format_ns, format_size, parse_duration_ns, parse_size


@pytest.mark.parametrize(
    ("text", "octets"), [("5 MiB", 5 << 20), ("1KiB", 1024), ("1.5 KiB", 1536), ("2 KB", 2000), (7, 7), ("0", 0)]
)
def test_sizes(text: str | int, octets: int) -> None:
    """KiB is 1024, KB is 1000, a plain number is octets."""
    assert parse_size(text) == octets


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1 XB", "0.3 B", "1e3", True, "9" * 30])
def test_bad_sizes(text: str | bool) -> None:
    """What is no whole number of octets is refused."""
    with pytest.raises(ValueError, match="bad size"):
        parse_size(text)


@pytest.mark.parametrize(("text", "ns"), [("20 ms", 20_000_000), ("2 s", 2 * 10**9), (5, 5 * 10**9), ("1 min", 60 * 10**9)])
def test_durations(text: str | int, ns: int) -> None:
    """A plain number is seconds."""
    assert parse_duration_ns(text) == ns


def test_sizes_are_shown_whole() -> None:
    """The largest unit that keeps a size whole is used, with no thousands mark."""
    assert [format_size(n) for n in (5 << 20, 1500, 1 << 30)] == ["5 MiB", "1500 B", "1 GiB"]


def test_durations_are_shown_with_their_unit() -> None:
    """Four digits and the fitting unit."""
    assert [format_ns(n) for n in (12.0, 1234.0, 5_000_000.0, 2.5e9)] == ["12 ns", "1.234 µs", "5 ms", "2.5 s"]
