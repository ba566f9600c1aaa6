"""Counts of decisions that were answered but not recorded."""

from __future__ import annotations

import attrs


@attrs.frozen
class Gap:
    """One tenant's decisions that were answered but not recorded."""

    decisions: int
    first_ns: int
    """When the first of them arrived, in nanoseconds since 1970."""
    last_ns: int

    def __add__(self, other: Gap) -> Gap:
        first, last = min(self.first_ns, other.first_ns), max(self.last_ns, other.last_ns)
        return Gap(self.decisions + other.decisions, first, last)
