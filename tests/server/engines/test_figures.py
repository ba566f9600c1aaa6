"""Figures of the engines and of the store."""

from __future__ import annotations

from uuid import uuid4

from tidegate_server.engines.figures import _Sum


def test_a_sum_over_tenants_never_falls() -> None:
    """A tenant that goes, or whose state begins anew, takes nothing away from a counter."""
    one, other = uuid4(), uuid4()
    counted = _Sum()
    totals = []
    for counts in ({one: 5}, {one: 8, other: 100}, {other: 101}, {other: 0}, {other: 2}):
        counted.add(counts)
        totals.append(counted.total)
    assert totals == [0, 3, 4, 4, 6]
