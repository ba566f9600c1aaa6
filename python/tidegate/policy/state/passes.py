"""The passes of solved challenges: revoked ones, and those presented from another network.

See docs/decision.md, "Proofs of challenges".
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PASSES = 100_000
"""Most passes that are remembered, whatever the number of keys."""


@attrs.frozen
class Pass:
    """The state of one pass; ``moved_to`` is the other network, if there is one."""

    expires_at: int
    is_revoked: bool = False
    moved_to: tuple[str | None, ...] = ()


@attrs.frozen
class Revoke:
    """A pass is no longer valid."""

    pass_id: UUID
    time: int
    expires_at: int


@attrs.frozen
class Move:
    """A pass was presented from another network."""

    pass_id: UUID
    time: int
    expires_at: int
    network: str | None


class Passes:
    """A tenant's passes with a state to remember.

    Args:
        max_passes: most passes to remember.
    """

    def __init__(self, max_passes: int) -> None:
        self._max = min(max_passes, MAX_PASSES)
        self._passes: dict[UUID, Pass] = {}

    def get(self, pass_id: UUID) -> Pass | None:
        """The state of a pass."""
        return self._passes.get(pass_id)

    def items(self) -> Iterator[tuple[UUID, Pass]]:
        """All passes in eviction order: unrevoked ones first, each kind by its end."""

        def place(entry: tuple[UUID, Pass]) -> tuple[bool, int, UUID]:
            return entry[1].is_revoked, entry[1].expires_at, entry[0]

        return iter(sorted(self._passes.items(), key=place))

    def apply(self, change: Revoke | Move) -> None:
        """Change a pass, after removing expired ones."""
        for pass_id, known in list(self._passes.items()):
            if known.expires_at <= change.time:
                del self._passes[pass_id]
        if change.expires_at <= change.time:
            return
        if change.pass_id not in self._passes:
            self._limit(self._max - 1)
        known = self._passes.get(change.pass_id, Pass(0))
        known = attrs.evolve(known, expires_at=max(known.expires_at, change.expires_at))
        if isinstance(change, Revoke):
            known = attrs.evolve(known, is_revoked=True)
        elif not known.moved_to:
            known = attrs.evolve(known, moved_to=(change.network,))
        self._passes[change.pass_id] = known

    def put(self, pass_id: UUID, known: Pass) -> None:
        """Insert a pass from a snapshot.

        Raises:
            ValueError: it exists already.
        """
        if pass_id in self._passes:
            raise ValueError("a pass is there twice")
        self._passes[pass_id] = known

    def limit(self) -> None:
        """Remove passes above the limit, in order."""
        self._limit(self._max)

    def _limit(self, most: int) -> None:
        for pass_id, _ in list(self.items())[: max(len(self._passes) - most, 0)]:
            del self._passes[pass_id]
