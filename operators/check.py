"""Checks: they raise ``CheckFailed`` where an iteration gave a wrong result, and return nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from anka_flow import Buffer, CheckFailed, operator
from anka_flow.streams import BytesSource, Source


@operator
def equal(left: Buffer | Source, right: Buffer | Source) -> None:
    """Both sides are the same octets; sources are read chunk by chunk."""
    if isinstance(left, Source) or isinstance(right, Source):
        if any(_differ(a, b) for a, b in zip_longest(_chunks(left), _chunks(right))):
            raise CheckFailed("the two sides differ")
    elif left != right:
        raise CheckFailed(f"the two sides differ ({len(left)} and {len(right)} octets)")


@operator
def different(left: Buffer, right: Buffer) -> None:
    """The two sides are not the same octets."""
    if left == right:
        raise CheckFailed("the two sides are equal")


@operator
def true(value: bool) -> None:
    """The value is true, and nothing that merely counts as true."""
    if value is not True:
        raise CheckFailed("the value is not true")


@operator
def size(value: Buffer, octets: int) -> None:
    """The value has so many octets."""
    if len(value) != octets:
        raise CheckFailed(f"the value has {len(value)} octets, not {octets}")


def _differ(a: Buffer | None, b: Buffer | None) -> bool:
    """Tell whether two chunks differ. As bytes: views are compared octet by octet, a hundred times slower."""
    return a is None or b is None or bytes(a) != bytes(b)


def _chunks(value: Buffer | Source) -> Iterator[Buffer]:
    return value.chunks() if isinstance(value, Source) else BytesSource(value).chunks()
