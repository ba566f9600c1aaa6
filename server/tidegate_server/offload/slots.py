"""Slots that limit concurrent requests: in all, per operator, per tenant and per client.

A request takes a slot once it has arrived completely, so a slot is held for as long as the work
takes, not for as long as a caller likes. A request without a slot is refused at once, so that
nobody waits behind callers who ask for too much.

Once half of the slots are taken, a client without a credential can have one at a time. So a few
clients leave room for others, however many requests they send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import TypeAlias

from tidegate_server.http.problems import Problem
from tidegate_server.offload.kinds import Crowd


class Party(Enum):
    """The holders of slots."""

    OPERATOR = "operator"
    TENANT = "tenant"
    CLIENT = "client"


Holder: TypeAlias = tuple[Party, Hashable]


def default_slots() -> Mapping[Crowd, Places]:
    """Return the default slots of a service."""
    return slots_of(operator=6, tenant=12, heavy=64)


def slots_of(operator: int, tenant: int, heavy: int) -> Mapping[Crowd, Places]:
    """Return the slots of a service.

    Args:
        operator: slots per operator for heavy work; light work has four times as many, since a page
            of the console asks ten things at once, and may be loaded again meanwhile.
        tenant: slots per tenant, likewise.
        heavy: slots for heavy work in all.
    """
    return {
        # Only for operators: nobody without a token takes one of their slots.
        Crowd.LIGHT: Places(256, {Party.OPERATOR: 4 * operator, Party.TENANT: 4 * tenant}),
        Crowd.HEAVY: Places(heavy, {Party.OPERATOR: operator, Party.TENANT: tenant}),
        # The overview asks for two things, and may be loaded again and again meanwhile: what a page
        # asked for runs on when it is left, for a second at most.
        Crowd.TRAFFIC: Places(heavy, {Party.OPERATOR: 8, Party.TENANT: tenant}),
        Crowd.PUBLIC: Places(256, {Party.CLIENT: 16}),
        Crowd.LOGIN: Places(64, {Party.CLIENT: 8}),
        # All visitors may come through one proxy that isn't trusted to name them.
        Crowd.VISITORS: Places(256, {Party.CLIENT: 128}),
    }


class Places:
    """Slots that requests hold while they wait and run; use it only on the event loop.

    Args:
        most: slots in all.
        shares: how many of them one operator, tenant or client can hold.
    """

    def __init__(self, most: int, shares: Mapping[Party, int]) -> None:
        self._most = most
        self._shares = shares
        self._held: Counter[Holder] = Counter()
        self.taken = 0
        """Slots in use."""

    @contextmanager
    def take(self, holders: Iterable[Holder]) -> Iterator[None]:
        """Hold a slot on behalf of all holders, until the block ends.

        Raises:
            Problem: ``too-many-requests``, one of them holds its share; ``overloaded``, all are
                taken.
        """
        holders = tuple(holders)
        is_crowded = self.taken >= self._most
        is_half_taken = self.taken >= self._most // 2
        for party, name in holders:
            held = self._held[party, name]
            if held >= self._shares[party]:
                detail = f"the {party.value} has {self._shares[party]} of these requests under way"
                raise Problem("too-many-requests", detail, headers={"retry-after": "1"})
            is_crowded |= party is Party.CLIENT and is_half_taken and held > 0
        if is_crowded:
            detail = "too many of these requests are under way"
            raise Problem("overloaded", detail, headers={"retry-after": "1"})
        self.taken += 1
        self._held.update(holders)
        try:
            yield
        finally:
            self.taken -= 1
            for each in holders:
                self._held[each] -= 1
                if not self._held[each]:
                    del self._held[each]
