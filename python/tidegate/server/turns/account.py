"""What a tenant's decisions cost, and where they are therefore made: on the loop or beside it.

A tenant begins as unknown, and so do changed definitions.  It is light when enough of its calls
were measured, and heavy for a while as soon as one step shows it; afterwards it is unknown again.
All costs are processor time of the thread, since a busy machine makes nobody heavy.
"""

from __future__ import annotations

from typing import TypeAlias

STEP_NS = 2_000_000
"""What calls that are decided together should cost."""
LIGHT_NS = 1_000_000
"""A tenant is heavy when a call costs more."""
HELD_NS = 5_000_000
"""And when a step does: many light calls hide a heavy one."""
HEAVY_FOR_NS = 300_000_000_000
"""How long a tenant stays heavy after the last step that showed it: whoever alternates holds up
the loop once in that time, for one decision."""
PROOF = 32
"""Calls after which a tenant that was never heavy counts as light."""
MARGIN = 4
"""A larger event than any so far may cost more than any so far: only one that is this many times
larger is measured beside the loop first."""
MANY = 64
"""Calls of a step that count as much as all before."""
SMALL_BYTES = 4_096
"""No event is too large for a light tenant up to here."""

Revision: TypeAlias = tuple[int, int]


class Account:
    """What the decisions of one tenant cost.

    Args:
        proof: calls that are measured before the tenant counts as light.
    """

    __slots__ = ("_heavy_until", "_largest", "_proof", "_revision", "_unproven", "cost")

    def __init__(self, proof: int = PROOF) -> None:
        self._proof = proof
        self._revision: Revision | None = None
        self._heavy_until: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._unproven = self._proof
        self._largest = SMALL_BYTES
        self.cost = 0.0
        """What a call is expected to cost, in nanoseconds; 0 when nothing is known."""

    def is_of(self, revision: Revision) -> None:
        """What is measured from now on is of these definitions; of others nothing is known."""
        if revision != self._revision:
            self._revision = revision
            self._begin()

    def is_heavy(self, now: int) -> bool:
        """Whether the tenant is heavy.

        Args:
            now: nanoseconds of a clock that does not go back, as everywhere here.
        """
        if self._heavy_until is None:
            return False
        if now < self._heavy_until:
            return True
        self._heavy_until = None
        self._begin()
        return False

    def largest(self, now: int) -> int:
        """Bytes of the largest event that may be decided on the loop; -1: none may."""
        return -1 if self.is_heavy(now) or self._unproven > 0 else self._largest

    def calls(self, most: int) -> int:
        """How many calls a step should have: 1 to ``most``."""
        if not self.cost:
            return most if self._unproven <= 0 else 1
        return min(most, max(1, int(STEP_NS / self.cost)))

    def charge(self, calls: int, largest: int, spent: int, now: int) -> bool:
        """Count a step.

        Args:
            calls: how many it had, at least 1.
            largest: bytes of the largest of their events.
            spent: nanoseconds of processor time.
            now: when it ended.

        Returns:
            Whether the tenant is heavy by this and was not before.
        """
        each = spent / calls
        was_heavy = self.is_heavy(now)
        if not self.cost or spent > STEP_NS:
            # At once, so that the next step is shorter.
            self.cost = max(each, self.cost)
        elif not was_heavy:
            # A heavy tenant's dearest call stands for all.  A step of few calls says little.
            self.cost += (each - self.cost) * calls / (calls + MANY)
        if each > LIGHT_NS or spent > HELD_NS:
            self._heavy_until = now + HEAVY_FOR_NS
            return not was_heavy
        self._unproven -= calls
        self._largest = max(self._largest, MARGIN * largest)
        return False
