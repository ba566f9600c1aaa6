"""A node, from start to stop: always a member and a gateway; the owner of some partitions."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Any

from tidegate_server.connection.handshakes import Handshakes
from tidegate_server.connection.protocol import Protocol, Shared, close_late_connections
from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.logging import log
from tidegate_server.nodes.application import NodeApplication
from tidegate_server.nodes.certificate import contexts
from tidegate_server.nodes.forwarding import TICK_SECONDS
from tidegate_server.nodes.hot_paths import NodeHotPaths
from tidegate_server.nodes.inboxes import Inboxes
from tidegate_server.nodes.links import Link
from tidegate_server.nodes.membership import Membership
from tidegate_server.nodes.partition import NodePartition, Parts
from tidegate_server.nodes.peers import Peers, has_decision
from tidegate_server.nodes.route_lookup import RouteLookup
from tidegate_server.process import (
    BACKLOG,
    ListenError,
    Server,
    accepting,
    address_of,
    bounds_of,
    configuration,
    listen,
    proxies_of,
    settle_interpreter,
)
from tidegate_server.settings.bounds import split_address
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import need_partitions
from tidegate_server.workers.pools import WorkerPools

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from types import FrameType
    from uuid import UUID

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.nodes.forwarding import Forwarding
    from tidegate_server.nodes.inbox import Inbox
    from tidegate_server.operators.keys import Keys
    from tidegate_server.settings.whole import Settings
    from tidegate_server.workers.fork_server import ForkServer

_POLL_SECONDS = 0.005
_LOCAL_SECONDS = 2.0
"""How long the end of a term waits for the answers of hot calls."""


class _NodeServer(Server):
    """The server of a node, which hands its duties over before it stops."""

    def __init__(
        self,
        config: Any,
        started: Callable[[], None],
        stopping: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        super().__init__(config, started, stopping)
        self._stop = stop
        self._is_asked = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start the hand-over on the first signal; stop at once on the second."""
        if self._is_asked:
            super().handle_exit(sig, frame)
        else:
            self._is_asked = True
            asyncio.get_running_loop().call_soon_threadsafe(self._stop)


async def run_node(
    settings: Settings, keys: Keys, fork_server: ForkServer, started: Callable[[str], None]
) -> None:
    """Serve as a node of a cluster until the process gets a stop signal.

    Args:
        settings: of the process; they name the node and a database of PostgreSQL.
        keys: the key material that all nodes share.
        fork_server: of the worker processes.
        started: called with the address once connections are accepted.

    Raises:
        HeldError: a process of that name is running.
        ListenError: it can't listen on an address.
    """
    await _Node(settings, keys, fork_server).run(started)


class _Node:
    def __init__(self, settings: Settings, keys: Keys, fork_server: ForkServer) -> None:
        self._settings = settings
        self._keys = keys
        self._fork_server = fork_server
        self._name = settings.node.name
        self._pools: WorkerPools
        self._listening, self._calling = contexts(keys.pepper)
        self._membership: Membership
        self._server: _NodeServer
        self._routes = RouteLookup(settings.store.url, self._has_decision)
        self._partitions: dict[int, NodePartition] = {}
        self._forwardings: dict[int, Forwarding] = {}
        self._shared = Shared(
            bounds=bounds_of(settings.server), proxies=proxies_of(settings.server)
        )
        self._parts: Parts
        self._stopping: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, started: Callable[[str], None]) -> None:
        """Serve until the stop."""
        settings = self._settings
        listening = listen(settings.server)
        base_url = address_of(settings.server, listening)
        # Prepare everything slow that an owner needs before it is this node's turn.
        self._pools = WorkerPools(settings, self._keys, base_url, self._fork_server)
        await self._pools.start()
        count = await asyncio.to_thread(
            need_partitions, settings.store.url, settings.store.partitions
        )
        links = self._listen_for_links()
        inboxes = Inboxes(self._inbox_of)
        handshakes = Handshakes(links, self._listening, lambda: Link(inboxes.receive, inboxes.lost))
        handshakes.start()
        host, _ = split_address(settings.node.address)
        port = links.getsockname()[1]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._membership = Membership(
            settings.store.url, self._name, address, self._follow, self._level
        )
        self._parts = self._common(base_url)
        self._know(range(count))
        self._answer_hot_calls()
        application = NodeApplication(self._forwardings, self._routes)
        config = configuration(settings.server, application, self._shared)
        self._server = _NodeServer(
            config, lambda: started(base_url), self._answer_now, self._begin_stop
        )
        settle_interpreter()
        tasks = [
            asyncio.create_task(work)
            for work in (
                self._membership.run(),
                self._tick(),
                close_late_connections(self._server.server_state.connections),
            )
        ]
        tasks[0].add_done_callback(self._membership_ended)
        try:
            await self._server.serve(sockets=accepting(listening))
        finally:
            handshakes.close()
            links.close()
            await asyncio.gather(*(each.close() for each in self._partitions.values()))
            for task in tasks:
                task.cancel()
            ended, *_ = await asyncio.gather(*tasks, return_exceptions=True)
            await self._pools.stop()
            self._routes.close()
            listening.close()
        if isinstance(ended, Exception):
            raise ended

    def _common(self, base_url: str) -> Parts:
        return Parts(
            settings=self._settings,
            keys=self._keys,
            base_url=base_url,
            calling=self._calling,
            membership=self._membership,
            pools=lambda partition: self._pools.of(partition),
            others=self._others,
            changed=self._answer_hot_calls,
            finish_local=self._finish_local,
            is_stopping=lambda: self._stopping is not None,
            spawn=self._spawn,
        )

    def _listen_for_links(self) -> socket.socket:
        host, port = split_address(self._settings.node.address)
        try:
            family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            made = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        except OSError as error:
            raise ListenError(
                f"cannot listen for other nodes on {host}:{port}: {error.strerror or error};"
                " choose another with --node-address"
            ) from None
        made.setblocking(False)
        return made

    def _membership_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._server.should_exit = True

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            for each in self._forwardings.values():
                each.tick(now)

    def _answer_now(self) -> None:
        """Answer calls that wait for a change, as the server stops."""
        for each in self._forwardings.values():
            each.answer_now()

    # Partitions

    def _know(self, numbers: Iterable[int]) -> None:
        """Set up each partition."""
        for number in numbers:
            if number not in self._partitions:
                made = self._partitions[number] = NodePartition(number, self._parts)
                self._forwardings[number] = made.forwarding

    def _others(self, partition: int) -> Peers | None:
        if len(self._partitions) == 1:
            return None
        return Peers(partition, self._forwardings, self._routes)

    def _inbox_of(self, partition: int) -> Inbox | None:
        found = self._partitions.get(partition)
        return None if found is None else found.inbox

    def _has_decision(self, decision_id: UUID) -> Coroutine[Any, Any, int | None]:
        return has_decision(self._forwardings, decision_id)

    def _level(self) -> list[int]:
        return [each.number for each in self._partitions.values() if each.is_level]

    def _answer_hot_calls(self) -> None:
        """Use the short paths for hot calls; count refusals in an owned partition's metrics."""
        owned = [each.opened for each in self._partitions.values() if each.opened is not None]
        metrics = owned[0].hot.metrics if owned else HotMetrics()
        self._shared.hot = NodeHotPaths(metrics, self._partitions, self._routes)
        if owned:
            self._shared.accept_limit = owned[0].service.application.accept_limit

    def _follow(self) -> None:
        """Act on the view that was just seen."""
        ownership = self._membership.ownership
        duties = ownership.duties()
        self._know(ownership.view.partitions)
        for each in self._partitions.values():
            each.do(duties)
        me = ownership.view.members.get(self._name)
        if me is not None and me.is_draining and self._stopping is None:
            self._begin_stop()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        async def watched() -> None:
            try:
                await work
            except StoreUnavailableError as error:
                log.warning("the log could not be left", reason=str(error))

        self._tasks.add(task := asyncio.create_task(watched()))
        task.add_done_callback(self._tasks.discard)

    async def _finish_local(self, hot: HotPath) -> None:
        """Wait for calls of this node's connections that a hot path is deciding."""
        until = time.monotonic() + _LOCAL_SECONDS
        connections = self._server.server_state.connections
        while time.monotonic() < until:
            if not any(isinstance(each, Protocol) and each.is_with(hot) for each in connections):
                return
            await asyncio.sleep(_POLL_SECONDS)

    # Stopping

    def _begin_stop(self) -> None:
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())

    async def _stop(self) -> None:
        """Hand over if there is another node, then stop the server."""
        until = time.monotonic() + max(1.0, self._settings.server.drain_seconds)
        try:
            await self._membership.drain()
            while time.monotonic() < until and self._has_to_hand_over():
                await asyncio.sleep(_POLL_SECONDS)
        except StoreUnavailableError as error:
            log.warning("the stop hands nothing over", reason=str(error))
        finally:
            self._server.should_exit = True

    def _has_to_hand_over(self) -> bool:
        others = [
            each
            for each in self._membership.ownership.view.members.values()
            if each.name != self._name and each.session is not None and not each.is_draining
        ]
        if not others:
            return False
        return any(each.has_to_hand_over() for each in self._partitions.values())
