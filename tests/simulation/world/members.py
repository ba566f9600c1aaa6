"""The members of a cluster over the database in memory: sessions, claims and notices.

They have the methods and errors of ``tidegate_server/stores/directory/members.py``, and pass the
same contract.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

import attrs
from tests.simulation.world.database import Database

from tidegate_server.cluster.ownership import Member, View
from tidegate_server.stores.base import StoreUnavailableError

T = TypeVar("T")


class Wire(Protocol):
    """A connection with the database."""

    def ask(self, do: Callable[[], T]) -> T:
        """Have something done there.

        Raises:
            StoreUnavailableError: the connection ended.
        """
        ...

    def close(self) -> None:
        """End it."""
        ...


@attrs.define(eq=False)
class Claim:
    """The lock of a partition; see ``SharedClaim``."""

    session: Session
    partition: int
    term: int
    _is_released: bool = attrs.field(default=False, init=False)

    def is_held(self) -> bool:
        """Whether the session that holds the lock is alive."""
        try:
            self.session.confirm()
        except StoreUnavailableError:
            return False
        return True

    def release(self) -> None:
        """Release the lock; calling it again does nothing."""
        if self._is_released:
            return
        self._is_released = True
        session = self.session
        try:
            session.wire.ask(lambda: session.database.release(session.number, self.partition))
        except StoreUnavailableError:
            return


class Session:
    """The session of a member; see ``MemberSession``.

    Args:
        database: where.
        wire: the connection, which the database calls the session.
        name: the member's name.
        address: its address for the others.
        is_draining: whether it is about to stop.
        begun: called at the database with the session's number.
    """

    def __init__(
        self,
        database: Database,
        wire: Wire,
        name: str,
        address: str,
        *,
        is_draining: bool = False,
        begun: Callable[[int], object] = lambda _: None,
    ) -> None:
        self.database = database
        self.wire = wire

        def joined() -> int:
            number = database.join(name, address, is_draining=is_draining)
            begun(number)
            return number

        try:
            self.number = wire.ask(joined)
        except BaseException:
            wire.close()
            raise

    def read(self) -> View:
        """Return the members and partitions."""
        return self._ask(self.database.view)

    def beat(self, level: Collection[int]) -> View:
        """Show that the member lives; return what it sees."""
        return self._ask(lambda: self.database.beat(self.number, level))

    def confirm(self) -> None:
        """Return if the session is alive."""
        self._ask(lambda: None)

    def take(self, partition: int) -> Claim | None:
        """Take a partition; return None if another session holds it."""
        term = self._ask(lambda: self.database.take(self.number, partition))
        return None if term is None else Claim(self, partition, term)

    def drain(self, name: str) -> None:
        """Have a member hand everything over and stop."""
        self._ask(lambda: self.database.drain(name))

    def move(self, partition: int, name: str) -> None:
        """Have a partition move to a member."""
        self._ask(lambda: self.database.move(partition, name))

    def end(self, member: Member) -> None:
        """End the session of a silent member."""

        def ended() -> None:
            if self.database.sessions.get(member.session or 0) == member.name:
                self.database.end(member.session or 0)

        self._ask(ended)

    def close(self) -> None:
        """End the session."""
        self.wire.close()

    def _ask(self, do: Callable[[], T]) -> T:
        def asked() -> T:
            self.database.check(self.number)
            return do()

        return self.wire.ask(asked)
