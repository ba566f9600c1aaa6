"""A node without its sockets: always a member and a gateway; the owner of some partitions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.logging import log
from tidegate_server.nodes.membership import Membership
from tidegate_server.nodes.partition import NodePartition, Parts
from tidegate_server.owners.forwarding import TICK_SECONDS
from tidegate_server.owners.inboxes import Inboxes
from tidegate_server.owners.peers import Peers, has_decision
from tidegate_server.owners.route_lookup import RouteLookup
from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Coroutine, Iterable
    from uuid import UUID

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.nodes.preparing import Prepare
    from tidegate_server.owners.forwarding import Forwarding
    from tidegate_server.owners.inbox import Inbox
    from tidegate_server.owners.links import Link
    from tidegate_server.owners.route_lookup import RouteTable
    from tidegate_server.stores.directory.members import Members

_POLL_SECONDS = 0.005


@attrs.frozen(kw_only=True)
class Surroundings:
    """The process of a node, as the node needs it.

    Attributes:
        members: the members of the cluster.
        routes: the partitions of tenants.
        calling: the TLS context for links to other nodes.
        prepare: opens the log of a partition, and prepares its service.
        changed: called when this node starts or stops answering for a partition.
        finish_local: waits for calls of this node's callers that a hot path is deciding.
        end: ends the serving.
        drain_seconds: how long a stop may take to hand over.
    """

    members: Members
    routes: RouteTable
    calling: ssl.SSLContext
    prepare: Prepare
    changed: Callable[[], None]
    finish_local: Callable[[HotPath], Awaitable[None]]
    end: Callable[[], None]
    drain_seconds: float


class NodeCore:
    """The parts of a node that know no socket; use it only on the event loop's thread.

    Args:
        name: of the node.
        address: the address that peers reach it by.
        partitions: the number of partitions; more are known once they are seen.
        surroundings: of the node.
    """

    def __init__(
        self, name: str, address: str, partitions: int, surroundings: Surroundings
    ) -> None:
        self.name = name
        self.routes = RouteLookup(surroundings.routes, self._has_decision)
        self.partitions: dict[int, NodePartition] = {}
        self.forwardings: dict[int, Forwarding] = {}
        self.inboxes = Inboxes(self._inbox_of)
        self.membership = Membership(surroundings.members, name, address, self._follow, self._level)
        self._surroundings = surroundings
        self._parts = Parts(
            name=name,
            calling=surroundings.calling,
            membership=self.membership,
            prepare=surroundings.prepare,
            changed=surroundings.changed,
            finish_local=surroundings.finish_local,
            is_stopping=lambda: self._stopping is not None,
            spawn=self._spawn,
        )
        self._stopping: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._know(range(partitions))

    async def run(self, serve: Callable[[], Awaitable[None]]) -> None:
        """Take part in the cluster while the process serves.

        Args:
            serve: returns once the serving has ended.

        Raises:
            HeldError: a process of that name is running.
            Exception: what ended the membership, or the repetition of calls.
        """
        tasks = [asyncio.create_task(self.membership.run()), asyncio.create_task(self._tick())]
        for task in tasks:
            task.add_done_callback(self._task_ended)
        try:
            await serve()
        finally:
            await asyncio.gather(*(each.close() for each in self.partitions.values()))
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self.routes.close()
        for result in results:
            if isinstance(result, Exception):
                raise result

    def link(self) -> Link:
        """Return the end of a new link from another node."""
        return self.inboxes.link()

    def peers_of(self, partition: int) -> Peers | None:
        """Return the peers of a partition; None while it is the only one."""
        if len(self.partitions) == 1:
            return None
        return Peers(partition, self.forwardings, self.routes)

    def answer_now(self) -> None:
        """Answer calls that wait for a change, as the server stops."""
        for each in self.forwardings.values():
            each.answer_now()

    def begin_stop(self) -> None:
        """Hand over if there is another node, then end the serving."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._surroundings.end()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            for each in self.forwardings.values():
                each.tick(now)

    # Partitions

    def _know(self, numbers: Iterable[int]) -> None:
        """Set up each partition."""
        for number in numbers:
            if number not in self.partitions:
                made = self.partitions[number] = NodePartition(number, self._parts)
                self.forwardings[number] = made.forwarding

    def _inbox_of(self, partition: int) -> Inbox | None:
        found = self.partitions.get(partition)
        return None if found is None else found.inbox

    def _has_decision(self, decision_id: UUID) -> Coroutine[Any, Any, int | None]:
        return has_decision(self.forwardings, decision_id)

    def _level(self) -> list[int]:
        return [each.number for each in self.partitions.values() if each.is_level]

    def _follow(self) -> None:
        """Act on the view that was just seen."""
        ownership = self.membership.ownership
        duties = ownership.duties()
        self._know(ownership.view.partitions)
        for each in self.partitions.values():
            each.do(duties)
        me = ownership.view.members.get(self.name)
        if me is not None and me.is_draining:
            self.begin_stop()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        async def watched() -> None:
            try:
                await work
            except StoreUnavailableError as error:
                log.warning("the log could not be left", reason=str(error))

        self._tasks.add(task := asyncio.create_task(watched()))
        task.add_done_callback(self._tasks.discard)

    # Stopping

    async def _stop(self) -> None:
        """Hand over if there is another node, then stop the server."""
        until = time.monotonic() + max(1.0, self._surroundings.drain_seconds)
        try:
            await self.membership.drain()
            while time.monotonic() < until and self._has_to_hand_over():
                await asyncio.sleep(_POLL_SECONDS)
        except StoreUnavailableError as error:
            log.warning("the stop hands nothing over", reason=str(error))
        finally:
            self._surroundings.end()

    def _has_to_hand_over(self) -> bool:
        others = [
            each
            for each in self.membership.ownership.view.members.values()
            if each.name != self.name and each.session is not None and not each.is_draining
        ]
        if not others:
            return False
        return any(each.has_to_hand_over() for each in self.partitions.values())
