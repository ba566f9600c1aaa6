"""The database in memory: the logs of partitions, and the sessions of members with their locks.

Each call is one transaction, at the moment it arrives. Arriving late, twice or never is the
network's business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import attrs
from tests.simulation.world.partition_log import Table

from tidegate_server.cluster.ownership import Member, Partition, View
from tidegate_server.stores.base import HeldError, StoreUnavailableError


class Database:
    """Logs, and the locks that sessions hold.

    Args:
        partitions: how many.
        told: called after each change that members are notified of.
    """

    def __init__(self, partitions: int, told: Callable[[], None] = lambda: None) -> None:
        self.tables = {number: Table() for number in range(partitions)}
        self.members: dict[str, Member] = {}
        self.sessions: dict[int, str] = {}
        """The member of each session that is alive."""
        self._told = told
        self._partitions = {number: Partition(number) for number in range(partitions)}
        self._owners: dict[int, int] = {}
        self._level: dict[int, frozenset[int]] = {}
        self._last_session = 0

    def view(self) -> View:
        """The members and partitions as they are."""
        alive = {name: session for session, name in self.sessions.items()}
        members = {
            name: attrs.evolve(each, session=alive.get(name)) for name, each in self.members.items()
        }
        partitions = {
            number: attrs.evolve(
                each,
                owner=self.sessions.get(self._owners.get(number, 0)),
                level=frozenset(
                    self.sessions[session]
                    for session, level in self._level.items()
                    if number in level
                ),
                epoch=self.tables[number].epoch,
            )
            for number, each in self._partitions.items()
        }
        return View(members, partitions)

    # --- sessions -----------------------------------------------------------------------------

    def join(self, name: str, address: str, *, is_draining: bool) -> int:
        """Begin a session of a member; return its number."""
        if name in self.sessions.values():
            raise HeldError(f"a node named `{name}` is connected")
        known = self.members.get(name)
        run = 1 if known is None else known.run + 1
        self.members[name] = Member(name, address, run, is_draining=is_draining)
        self._last_session += 1
        self.sessions[self._last_session] = name
        self._told()
        return self._last_session

    def check(self, session: int) -> None:
        """Return if a session is alive."""
        if session not in self.sessions:
            raise StoreUnavailableError("the session ended")

    def beat(self, session: int, level: Collection[int]) -> View:
        """Show that a member lives, and what it has the states of."""
        self.check(session)
        member = self.members[self.sessions[session]]
        self.members[member.name] = attrs.evolve(member, beat=member.beat + 1)
        if self._level.get(session, frozenset()) != frozenset(level):
            self._level[session] = frozenset(level)
            self._told()
        return self.view()

    def take(self, session: int, number: int) -> int | None:
        """Take a partition; return the term, None if another session holds it."""
        self.check(session)
        if self._owners.setdefault(number, session) != session:
            return None
        partition = self._partitions[number]
        is_there = partition.preferred == self.sessions[session]
        self._partitions[number] = attrs.evolve(
            partition,
            term=partition.term + 1,
            preferred=partition.preferred if is_there else None,
        )
        self._told()
        return partition.term + 1

    def release(self, session: int, number: int) -> None:
        """Release a partition, if the session holds it."""
        if self._owners.get(number) == session:
            del self._owners[number]
            self._told()

    def holds(self, session: int, number: int) -> bool:
        """Whether a session holds a partition."""
        return self._owners.get(number) == session

    def end(self, session: int) -> None:
        """End a session, with all its locks."""
        self.sessions.pop(session, None)
        self._level.pop(session, None)
        self._owners = {n: owner for n, owner in self._owners.items() if owner != session}
        self._told()

    # --- what happens to it -------------------------------------------------------------------

    def promote(self) -> None:
        """The standby becomes the primary: no claim from before is good, and no session."""
        for session in list(self.sessions):
            self.end(session)
        for table in self.tables.values():
            table.begin()

    def drain(self, name: str) -> None:
        """An operator drains a member."""
        if name in self.members:
            self.members[name] = attrs.evolve(self.members[name], is_draining=True)
            self._told()

    def move(self, partition: int, name: str) -> None:
        """An operator moves a partition to a member."""
        self._partitions[partition] = attrs.evolve(self._partitions[partition], preferred=name)
        self._told()
