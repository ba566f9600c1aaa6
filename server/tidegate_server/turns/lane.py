"""A tenant's calls in order of arrival, and the known cost of its decisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import attrs

from tidegate_server.turns.account import Account
from tidegate_server.turns.gate import Gate

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.turns.call import HotCall

STEP_BYTES = 1024 * 1024
"""Bytes of events in one step: they are copied on the loop."""
FEW = 256
"""A batch adds more calls only when at most this many wait, so it takes turns like others."""


@attrs.frozen
class Step:
    """Calls of one tenant that are decided together."""

    calls: Sequence[HotCall]
    are_looked_up: bool
    """Whether their idempotency keys were looked up and not found."""
    largest: int
    """Bytes of the largest event."""


class Lane:
    """One tenant's calls, decided in order, a step at a time.

    Args:
        tenant_id: the tenant.
        account: the cost of its decisions.
        most_waiting: how many calls may wait.
        opened: called with the lane when a step may start again.
    """

    def __init__(
        self, tenant_id: UUID, account: Account, most_waiting: int, opened: Callable[[Lane], None]
    ) -> None:
        self.tenant_id = tenant_id
        self.account = account
        self.gate = Gate(lambda: opened(self))
        self.is_listed = False
        """Whether it is queued for its next step."""
        self.last_turn = 0
        """The turn of its last step."""
        self.line: object | None = None
        """The line in which it last waited for a thread."""
        self.had = 0
        """Its CPU time there, in nanoseconds, as :class:`Line` counts it."""
        self.since = 0
        """When it began to wait there."""
        self._most_waiting = most_waiting
        self._calls: list[HotCall] = []
        self._looked_up: list[HotCall] = []
        self._adding = asyncio.Lock()
        self._wanting_room: asyncio.Future[None] | None = None

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._calls) + len(self._looked_up)

    @property
    def may_step(self) -> bool:
        """Whether it has calls, and no step is in progress."""
        return bool(self._calls or self._looked_up) and not self.gate.under_way

    def add(self, calls: Sequence[HotCall]) -> Sequence[HotCall]:
        """Take calls; return those that don't fit."""
        room = max(0, self._most_waiting - self.waiting)
        self._calls.extend(calls[:room] if room < len(calls) else calls)
        return calls[room:]

    def add_looked_up(self, call: HotCall) -> None:
        """Take back a call that was admitted before: its idempotency key is new."""
        self._looked_up.append(call)

    @property
    def next_bytes(self) -> int:
        """Return the size of the next event in bytes; there must be one."""
        return len((self._looked_up or self._calls)[0].body)

    def take(self, most: int, largest: int) -> Step:
        """Take the next step; there must be calls.

        Args:
            most: how many calls it may have.
            largest: bytes of the largest event it may have after the first.
        """
        are_looked_up = bool(self._looked_up)
        calls = self._looked_up if are_looked_up else self._calls
        count = all_bytes = biggest = 0
        for call in calls:
            size = len(call.body)
            all_bytes += size
            if count and (count == most or size > largest or all_bytes > STEP_BYTES):
                break
            count += 1
            biggest = max(size, biggest)
        taken, rest = (calls, []) if count == len(calls) else (calls[:count], calls[count:])
        if are_looked_up:
            self._looked_up = rest
        else:
            self._calls = rest
        self._tell_of_room()
        return Step(taken, are_looked_up, biggest)

    def take_all(self) -> Sequence[HotCall]:
        """Take all waiting calls."""
        taken = self._looked_up + self._calls
        self._calls, self._looked_up = [], []
        self._tell_of_room()
        return taken

    @asynccontextmanager
    async def room(self) -> AsyncIterator[None]:
        """Wait until few calls wait and nobody else adds any; then the block can add calls."""
        async with self._adding:
            while len(self._calls) > FEW:
                self._wanting_room = asyncio.get_running_loop().create_future()
                await self._wanting_room
            yield

    def _tell_of_room(self) -> None:
        wanting = self._wanting_room
        if wanting is not None and len(self._calls) <= FEW:
            self._wanting_room = None
            if not wanting.done():
                wanting.set_result(None)
