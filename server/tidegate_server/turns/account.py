"""The cost of a tenant's decisions, which determines whether they are made on the loop or off it.

A tenant starts as unknown, and so do changed definitions. It is light once enough of its calls were
measured, and heavy for a while as soon as one step shows it; afterwards it is unknown again. All
costs are CPU time of the thread, so waiting for a processor makes nobody heavy. That time still
grows where other programs share caches and cores, and a virtual machine also counts time that its
host took. So a long step shows a heavy decision only if one of its decisions did much work, which
the engine counts.
"""

from __future__ import annotations

from typing import TypeAlias

STEP_NS = 2_000_000
"""The target cost of calls that are decided together."""
LIGHT_NS = 1_000_000
"""A tenant is heavy when a call costs more."""
HELD_NS = 5_000_000
"""A tenant is heavy also when a step costs more than this and a decision in it takes much work.

Otherwise many light calls hide a heavy one.
"""
LIGHT_WORK = 18_000
"""Units of work of a decision that can take a millisecond; a decision's limit takes 50."""
TERM_NS = 1_000_000_000
"""How long a tenant stays heavy after the last step that showed it.

Short, so that a hiccup of the machine makes nobody heavy for long.
"""
LONGEST_TERM_NS = 300_000_000_000
"""The term doubles, up to here, each time a tenant is heavy again.

A tenant that alternates delays the loop once in that time, for one decision.
"""
FORGIVEN_NS = 2 * LONGEST_TERM_NS
"""After this long without a heavy step the term is the first one again."""
ENOUGH = 8
"""How many calls it takes before cost makes a tenant heavy; the first are expensive for everybody.
"""
PROOF = 32
"""Calls after which a tenant that was never heavy counts as light."""
MARGIN = 4
"""An event this many times larger than any so far is first measured off the loop.

A larger event than any so far may cost more than any so far.
"""
MANY = 64
"""The most calls that earlier measurements count as."""
SMALL_BYTES = 4_096
"""No event up to this size is too large for a light tenant."""

Revision: TypeAlias = tuple[int, int]


class Account:
    """The cost of one tenant's decisions.

    Args:
        proof: calls that are measured before the tenant counts as light.
    """

    __slots__ = (
        "_heavy_until",
        "_largest",
        "_last_heavy",
        "_mean",
        "_proof",
        "_revision",
        "_seen",
        "_term",
        "_unproven",
        "cost",
    )

    def __init__(self, proof: int = PROOF) -> None:
        self._proof = proof
        self._revision: Revision | None = None
        self._heavy_until: int | None = None
        self._last_heavy: int | None = None
        self._term = TERM_NS
        self._begin()

    def _begin(self) -> None:
        self._unproven = self._proof
        self._largest = SMALL_BYTES
        self._seen = 0
        self._mean = 0.0
        """The mean cost of the last calls, in nanoseconds."""
        self.cost = 0.0
        """The expected cost of a call, in nanoseconds; 0 if unknown."""

    def is_of(self, revision: Revision) -> None:
        """Measure these definitions from now on, and ignore measurements of others."""
        if revision != self._revision:
            self._revision = revision
            self._begin()

    def is_heavy(self, now: int) -> bool:
        """Whether the tenant is heavy.

        Args:
            now: nanoseconds of a monotonic clock, as everywhere here.
        """
        return self._heavy_until is not None and now < self._heavy_until

    def largest(self, now: int) -> int:
        """Return the size in bytes of the largest event to decide on the loop; -1 for none."""
        if self._heavy_until is not None:
            if now < self._heavy_until:
                return -1
            self._heavy_until = None
            self._begin()
        return -1 if self._unproven > 0 else self._largest

    def calls(self, most: int) -> int:
        """Return how many calls a step should have: 1 to ``most``."""
        if not self.cost:
            return most if self._unproven <= 0 else 1
        return min(most, max(1, int(STEP_NS / self.cost)))

    def charge(self, calls: int, largest: int, spent: int, work: int, now: int) -> bool:
        """Count a step.

        Args:
            calls: how many it had, at least 1.
            largest: bytes of their largest event.
            spent: nanoseconds of CPU time.
            work: units of work of its most expensive decision.
            now: when it ended.

        Returns:
            Whether this made the tenant heavy.
        """
        each = spent / calls
        was_heavy = self.is_heavy(now)
        if spent > STEP_NS:
            # At once, so that the next step is shorter.
            self.cost = max(each, self.cost)
        elif not was_heavy:
            # A heavy tenant is represented by its most expensive call.
            self.cost += (each - self.cost) * calls / (calls + self._seen)
        self._mean += (each - self._mean) * calls / (calls + self._seen)
        self._seen = min(self._seen + calls, MANY)
        is_dear = work > LIGHT_WORK and (spent > HELD_NS or (was_heavy and each > LIGHT_NS))
        if is_dear or (self._mean > LIGHT_NS and self._seen >= ENOUGH):
            self._be_heavy(was_heavy, now)
            return not was_heavy
        self._unproven -= calls
        self._largest = max(self._largest, MARGIN * largest)
        return False

    def _be_heavy(self, was_heavy: bool, now: int) -> None:
        last = self._last_heavy
        if last is None or now - last > FORGIVEN_NS:
            self._term = TERM_NS
        elif not was_heavy:
            self._term = min(2 * self._term, LONGEST_TERM_NS)
        self._last_heavy = now
        self._heavy_until = now + self._term
