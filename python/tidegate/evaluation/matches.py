"""What matching a set against an event ends in."""

from __future__ import annotations

from typing import NamedTuple


class Matches(NamedTuple):
    """Which rules hold for one event."""

    # A tuple, for every call makes one: an attrs class takes several times as long. The
    # extension makes it without a call (rust/python/src/matches.rs).

    matched: list[str]
    """Ids of the rules that are true, in the order of the set."""
    errors: dict[str, str]
    """Id to error code of the rules that are errors; filled when asked for."""
