"""Counting different values in little room."""

from __future__ import annotations

import pytest
import xxhash

from tidegate.stores.index import sketch


def hashes(count: int) -> list[int]:
    return [xxhash.xxh3_64_intdigest(b"%d" % number) for number in range(count)]


@pytest.mark.parametrize("count", [0, 1, 10, 100, 1_000, 10_000, 200_000])
def test_an_estimate_is_near(count: int) -> None:
    """Within three standard errors of what it counts."""
    found = sketch.estimate(sketch.add(sketch.EMPTY, hashes(count)))
    assert abs(found - count) <= 0.2 * count


def test_the_same_values_change_nothing() -> None:
    """Repeated values do not change the estimate, in whatever order they come."""
    once = sketch.add(sketch.EMPTY, hashes(500))
    assert sketch.add(once, hashes(400)) == once
    in_parts = sketch.add(sketch.add(sketch.EMPTY, hashes(500)[250:]), hashes(250))
    assert in_parts == once
    assert len(once) == sketch.REGISTERS
