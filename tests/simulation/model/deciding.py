"""What an owner is given: who decides, who limits, and who remembers answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import attrs

from tidegate_server.cluster.follower import Applying, Follower, Remembering
from tidegate_server.cluster.messages import Call, Entry, Reason


class CallRefusedError(Exception):
    """A call that gets no decision.

    Args:
        reason: ``event``, or another one that ends the call.
        detail: for the caller, opaque here.
    """

    def __init__(self, reason: Reason, detail: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class Decider(Applying, Protocol):
    """A state that decides."""

    def decide(self, call: Call, received_at: int) -> Entry:
        """Decide on a call, and change the state by it.

        Args:
            call: of a tenant of the partition.
            received_at: in nanoseconds since 1970, by the owner's wall clock.

        Raises:
            CallRefusedError: the call gets no decision; the state is as before.
        """
        ...


class Limits(Protocol):
    """The limits of a partition's tenants, from a claim to its end."""

    def take(self, call: Call, now: float) -> float:
        """Count a call, if its tenant's limit has room for it.

        Args:
            call: one that was not counted before.
            now: monotonic seconds.

        Returns:
            0 when it was counted; otherwise the seconds until there is room.
        """
        ...


@attrs.frozen
class Known:
    """The recorded answer of a call.

    Attributes:
        answer: to the caller.
        is_same: the call had the same body.
    """

    answer: bytes
    is_same: bool


class Recorded(Remembering, Protocol):
    """The answers of entries that are durable."""

    def find(self, call: Call) -> Known | None:
        """The answer of a call by its decision id, or else by tenant and idempotency key."""
        ...


class RecentAnswers:
    """The answers of the last entries, in memory.

    Args:
        bound: how many entries are remembered.
    """

    def __init__(self, bound: int = 65_536) -> None:
        self._bound = bound
        self._by_id: dict[str, Entry] = {}
        self._by_key: dict[tuple[str, str], Entry] = {}
        self._order: deque[Entry] = deque()

    def find(self, call: Call) -> Known | None:
        """As :meth:`Recorded.find`."""
        entry = self._by_id.get(call.decision_id)
        if entry is None and call.key is not None:
            entry = self._by_key.get((call.tenant, call.key))
        return None if entry is None else Known(entry.answer, is_same(entry, call))

    def add(self, entries: Sequence[Entry]) -> None:
        """As :meth:`Recorded.add`."""
        for entry in entries:
            self._by_id[entry.decision_id] = entry
            if entry.key is not None:
                self._by_key[entry.tenant, entry.key] = entry
            self._order.append(entry)
        while len(self._order) > self._bound:
            self._forget(self._order.popleft())

    def _forget(self, entry: Entry) -> None:
        if self._by_id.get(entry.decision_id) is entry:
            del self._by_id[entry.decision_id]
        if entry.key is not None and self._by_key.get((entry.tenant, entry.key)) is entry:
            del self._by_key[entry.tenant, entry.key]


def is_same(entry: Entry, call: Call) -> bool:
    """Whether a call has the body that an entry was decided on."""
    return entry.body == call.body


DecidingFollower: TypeAlias = Follower[Decider, Recorded]
"""One whose state an owner decides by."""
