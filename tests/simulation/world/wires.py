"""Connections of simulated processes with the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tests.simulation.world.members import Session

from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from tests.simulation.world.process import Process

T = TypeVar("T")
DATABASE = "db"
"""The name of the database in the network."""


class ProcessWire:
    """A connection of a process, used on its threads.

    Args:
        process: whose.
        ended: called when the database notices that the connection has ended.
    """

    def __init__(self, process: Process, ended: Callable[[], None] = lambda: None) -> None:
        self._process = process
        self._ended = ended
        self.is_broken = False

    def ask(self, do: Callable[[], T]) -> T:
        """Have something done at the database, now; its result may be lost."""
        world, process = self._process.world, self._process
        if self.is_broken:
            raise StoreUnavailableError("the connection ended")
        if world.is_lost(process.name, DATABASE):
            self._break()
        made = do()
        if world.is_lost(process.name, DATABASE):
            self._break()
        return made

    def close(self) -> None:
        """End it; the database notices at once if the network lets it."""
        if not self.is_broken:
            self.is_broken = True
            world = self._process.world
            is_lost = world.is_lost(self._process.name, DATABASE)
            world.at(world.random.uniform(0.5, 3.0) if is_lost else 0.001, self._ended)

    def _break(self) -> None:
        """Each end hears of it in its own time."""
        world = self._process.world
        self.is_broken = True
        world.at(world.random.choice((0.02, world.random.uniform(0.5, 3.0))), self._ended)
        self._process.takes(world.random.random() * 3.0)
        raise StoreUnavailableError("the connection ended")


class ProcessMembers:
    """The members of the cluster, as a process joins them; see ``Members``.

    Args:
        process: which.
    """

    def __init__(self, process: Process) -> None:
        self._process = process

    def join(self, name: str, address: str, *, is_draining: bool) -> Session:
        """Begin a session."""
        process = self._process
        database = process.world.database
        numbers: list[int] = []

        def ended() -> None:
            for number in numbers:
                database.end(number)

        wire = ProcessWire(process, ended)
        process.session = wire
        session = Session(
            database,
            wire,
            name,
            address,
            is_draining=is_draining,
            begun=numbers.append,
        )
        process.world.note(f"{process.name} has session {session.number}")
        if not process.is_alive:  # it died while its request was on the way
            process.world.at(process.world.random.uniform(0.02, 3.0), ended)
        return session

    def listen(self, changed: Callable[[], Any]) -> Callable[[], None]:
        """Listen for changes."""
        process = self._process
        process.listens = changed

        def stop() -> None:
            process.listens = None

        return stop
