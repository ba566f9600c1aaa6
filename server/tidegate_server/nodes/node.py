"""A node as a process, from start to stop: its sockets and worker processes around its core."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Any

from tidegate_server.connection.handshakes import Handshakes
from tidegate_server.connection.protocol import Protocol, Shared, close_late_connections
from tidegate_server.hot.metrics import HotMetrics, add_to_process
from tidegate_server.nodes.certificate import contexts
from tidegate_server.nodes.core import NodeCore, Surroundings
from tidegate_server.nodes.preparing import Preparing
from tidegate_server.owners.application import OwnersApplication
from tidegate_server.owners.hot_paths import OwnersHotPaths
from tidegate_server.owners.route_lookup import RouteTable
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
from tidegate_server.stores.databases import need_partitions
from tidegate_server.stores.directory.members import Members
from tidegate_server.telemetry.exporting import exporting
from tidegate_server.workers.pools import WorkerPools

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.operators.keys import Keys
    from tidegate_server.settings.whole import Settings
    from tidegate_server.telemetry.trace_context import Tracer
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
    async with exporting(settings.telemetry, settings.node.name, add_to_process) as tracer:
        await _Node(settings, keys, fork_server, tracer).run(started)


class _Node:
    def __init__(
        self, settings: Settings, keys: Keys, fork_server: ForkServer, tracer: Tracer | None
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._fork_server = fork_server
        self._core: NodeCore
        self._server: _NodeServer
        self._shared = Shared(
            bounds=bounds_of(settings.server), proxies=proxies_of(settings.server), tracer=tracer
        )

    async def run(self, started: Callable[[str], None]) -> None:
        """Serve until the stop."""
        settings = self._settings
        listening = listen(settings.server)
        base_url = address_of(settings.server, listening)
        # Prepare everything slow that an owner needs before it is this node's turn.
        pools = WorkerPools(settings, self._keys, base_url, self._fork_server)
        await pools.start()
        count = await asyncio.to_thread(
            need_partitions, settings.store.url, settings.store.partitions
        )
        links = self._listen_for_links()
        answering, calling = contexts(self._keys.pepper)
        handshakes = Handshakes(links, answering, lambda: self._core.link())
        handshakes.start()
        host, _ = split_address(settings.node.address)
        port = links.getsockname()[1]
        self._core = core = NodeCore(
            settings.node.name,
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            count,
            Surroundings(
                members=Members(settings.store.url),
                routes=RouteTable(settings.store.url),
                calling=calling,
                prepare=Preparing(
                    settings,
                    self._keys,
                    base_url,
                    lambda partition: pools.of(partition),
                    lambda partition: self._core.peers_of(partition),
                ),
                changed=self._answer_hot_calls,
                finish_local=self._finish_local,
                end=self._end,
                drain_seconds=settings.server.drain_seconds,
            ),
        )
        self._answer_hot_calls()
        application = OwnersApplication(core.forwardings, core.routes)
        config = configuration(settings.server, application, self._shared)
        self._server = _NodeServer(
            config, lambda: started(base_url), core.answer_now, core.begin_stop
        )
        settle_interpreter()

        async def serve() -> None:
            try:
                await self._server.serve(sockets=accepting(listening))
            finally:
                handshakes.close()
                links.close()

        late = asyncio.create_task(close_late_connections(self._server.server_state.connections))
        try:
            await core.run(serve)
        finally:
            late.cancel()
            await asyncio.gather(late, return_exceptions=True)
            await pools.stop()
            listening.close()

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

    def _end(self) -> None:
        self._server.should_exit = True

    def _answer_hot_calls(self) -> None:
        """Use the short paths for hot calls; count refusals in an owned partition's metrics."""
        core = self._core
        owned = [each.opened for each in core.partitions.values() if each.opened is not None]
        metrics = owned[0].hot.metrics if owned else HotMetrics()
        self._shared.hot = OwnersHotPaths(metrics, core.partitions, core.routes)
        if owned:
            self._shared.accept_limit = owned[0].service.application.accept_limit

    async def _finish_local(self, hot: HotPath) -> None:
        """Wait for calls of this node's connections that a hot path is deciding."""
        until = time.monotonic() + _LOCAL_SECONDS
        connections = self._server.server_state.connections
        while time.monotonic() < until:
            if not any(isinstance(each, Protocol) and each.is_with(hot) for each in connections):
                return
            await asyncio.sleep(_POLL_SECONDS)
