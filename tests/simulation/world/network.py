"""Connections between simulated processes: bytes in order, until one end hears that it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.world.process import Process
    from tests.simulation.world.world import World


class End(asyncio.Transport):
    """One end of a connection.

    Args:
        process: that has it.
        run: of the process.
    """

    def __init__(self, process: Process, protocol: Any) -> None:
        super().__init__()
        self.process = process
        self.run = process.run
        self.protocol = protocol
        self.other: End
        self.is_over = False
        """This end was told that the connection has ended."""
        self.is_cut = False
        """Nothing arrives in either direction any longer."""
        self._arrives_at = 0.0

    # --- as the product uses it ---------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        world, other = self.process.world, self.other
        if self.is_over or self.is_cut:
            return
        if world.is_lost(self.process.name, other.process.name):
            self.cut()
            return
        self._arrives_at = max(self._arrives_at, world.now + world.delay())
        world.at(self._arrives_at - world.now, other.arrive, bytes(data))

    def abort(self) -> None:
        if self.is_over:
            return
        self.lose()
        if not self.is_cut:
            world = self.process.world
            self._arrives_at = max(self._arrives_at, world.now + world.delay())
            world.at(self._arrives_at - world.now, self.other.lose)

    close = abort

    def is_closing(self) -> bool:
        return self.is_over

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        del name
        return default

    # --- as the world does --------------------------------------------------------------------

    def arrive(self, data: bytes) -> None:
        """Hand over bytes, unless this end is gone."""
        if not self.is_over and not self.is_cut and self._is_there:
            self.process.soon(self._receive, data)

    def lose(self) -> None:
        """Tell this end that the connection has ended, once it knows of it."""
        if not self.is_over and self._is_there and self.protocol is not None:
            self.is_over = True
            self.process.soon(self.protocol.connection_lost, None)

    def cut(self) -> None:
        """Let nothing more through; each end hears of it in its own time, unless it asks."""
        for end in (self, self.other):
            if not end.is_cut:
                end.is_cut = True
                end.process.world.at(end.process.world.random.random() * 3.0, end.lose)

    def reset(self) -> None:
        """Let nothing more through, and tell both ends at once."""
        for end in (self, self.other):
            end.is_cut = True
            end.lose()

    @property
    def _is_there(self) -> bool:
        return self.process.is_alive and self.process.run == self.run

    def _receive(self, data: bytes) -> None:
        if not self.is_over:
            self.protocol.data_received(data)


def connect(
    world: World, one: Process, other: str, factory: Callable[[], Any], made: asyncio.Future[Any]
) -> None:
    """Connect a process to another one.

    Args:
        world: of both.
        one: that asks.
        other: its name.
        factory: makes the protocol of the end that asks.
        made: gets transport and protocol; it may have been cancelled by then.
    """
    run = one.run

    def refuse() -> None:
        if one.run == run and one.is_alive and not made.done():
            made.set_exception(ConnectionRefusedError(f"{other} cannot be reached"))

    def arrive() -> None:
        target = world.processes[other]
        if world.is_lost(one.name, other):
            return  # nobody hears anything
        if not target.is_alive or target.node is None:
            world.at(world.delay(), one.soon, refuse)
            return
        theirs = End(target, target.node.link())
        world.at(world.delay(), one.soon, welcome, theirs)
        # The link exists on one side before the other knows.
        target.soon(theirs.protocol.connection_made, theirs)
        target.ends.append(theirs)
        theirs.other = End(one, None)
        theirs.other.other = theirs

    def welcome(theirs: End) -> None:
        mine = theirs.other
        if one.run != run or made.done():
            mine.is_over = True
            theirs.process.world.at(0.001, theirs.lose)
            return
        mine.protocol = factory()
        one.ends.append(mine)
        mine.protocol.connection_made(mine)
        made.set_result((mine, mine.protocol))
        if theirs.is_over or mine.is_cut:
            mine.lose()

    world.at(world.delay(), arrive)
