"""A node, from start to stop: a member and a gateway always, the owner when it is its turn."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from tidegate.cluster.rows import Drain
from tidegate.server.connection.protocol import Protocol, close_late_connections
from tidegate.server.logging import log
from tidegate.server.nodes.application import NodeApplication
from tidegate.server.nodes.certificate import contexts
from tidegate.server.nodes.desk import Desk
from tidegate.server.nodes.following import Following
from tidegate.server.nodes.forwarding import Forwarding
from tidegate.server.nodes.links import Link
from tidegate.server.nodes.membership import Membership
from tidegate.server.nodes.term import Term
from tidegate.server.process import (
    ListenError,
    Server,
    accepting,
    address_of,
    bounds_of,
    configuration,
    listen,
    settle_interpreter,
)
from tidegate.server.routing import docs_page
from tidegate.server.workers.crew import Crew
from tidegate.setting_bounds import split_address
from tidegate.stores.base import StoreError, StoreUnavailableError
from tidegate.stores.directory.claims import PARTITION

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from tidegate.config import Settings
    from tidegate.operators.keys import Keys

_RETRY_SECONDS = 0.5
_POLL_SECONDS = 0.005
_LOCAL_SECONDS = 2.0
"""How long the end of a term waits for hot calls whose bodies are on their way."""


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
        """The first signal begins the hand-over; the second one stops at once."""
        if self._is_asked:
            super().handle_exit(sig, frame)
        else:
            self._is_asked = True
            asyncio.get_running_loop().call_soon_threadsafe(self._stop)


async def run_node(settings: Settings, keys: Keys, started: Callable[[str], None]) -> None:
    """Serve as a node of a cluster until the process gets a signal to stop.

    Args:
        settings: of the process; they name the node and a database of PostgreSQL.
        keys: the key material that all nodes share.
        started: called with the address once connections are accepted.

    Raises:
        HeldError: a process of that name runs.
        ListenError: an address cannot be listened on.
        ReplacedError: another process has taken the name.
    """
    await _Node(settings, keys).run(started)


class _Node:
    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys
        self._name = settings.node.name
        self._crew: Crew
        self._desk = Desk()
        listening, calling = contexts(keys.pepper)
        self._listening = listening
        self._forwarding = Forwarding(self._name, self._desk, calling)
        self._membership: Membership
        self._server: _NodeServer
        self._base_url = ""
        self._following: Following | None = None
        self._term: Term | None = None
        self._owning: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._is_released = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, started: Callable[[str], None]) -> None:
        """Serve until the stop."""
        settings = self._settings
        listening = listen(settings.server)
        self._base_url = address_of(settings.server, listening)
        # What an owner needs and takes long is ready before it is this node's turn.
        self._crew = Crew(settings, self._keys, self._base_url, PARTITION)
        await self._crew.start()
        await asyncio.to_thread(docs_page.prepare)
        links = await self._listen_for_links()
        host, _ = split_address(settings.node.address)
        port = links.sockets[0].getsockname()[1]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._membership = Membership(settings.store.url, self._name, address, self._follow)
        Protocol.hot = None
        Protocol.bounds = bounds_of(settings.server)
        config = configuration(settings.server, NodeApplication(self._forwarding))
        self._server = _NodeServer(
            config,
            lambda: started(self._base_url),
            self._forwarding.answer_now,
            self._begin_stop,
        )
        settle_interpreter()
        tasks = [
            asyncio.create_task(work)
            for work in (
                self._membership.run(),
                self._forwarding.run(),
                close_late_connections(self._server.server_state.connections),
            )
        ]
        tasks[0].add_done_callback(self._membership_ended)
        try:
            await self._server.serve(sockets=accepting(listening))
        finally:
            links.close()
            if self._owning is not None:
                self._end_term()
                await asyncio.gather(self._owning, return_exceptions=True)
            if self._following is not None:
                await self._following.close()
            for task in tasks:
                task.cancel()
            ended, *_ = await asyncio.gather(*tasks, return_exceptions=True)
            await self._crew.stop()
            listening.close()
        if isinstance(ended, Exception):
            raise ended

    async def _listen_for_links(self) -> asyncio.Server:
        host, port = split_address(self._settings.node.address)
        desk = self._desk
        try:
            return await asyncio.get_running_loop().create_server(
                lambda: Link(desk.receive, desk.link_lost),
                host,
                port,
                ssl=self._listening,
            )
        except OSError as error:
            raise ListenError(
                f"cannot listen for other nodes on {host}:{port}: {error.strerror or error};"
                " choose another with --node-address"
            ) from None

    def _membership_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._server.should_exit = True

    # Duties

    def _follow(self) -> None:
        """Do what the rows say, which were just read."""
        directory = self._membership.directory
        self._forwarding.place(directory.rows)
        duties = directory.duties()
        number = duties.owns.get(PARTITION)
        term = self._term
        if term is not None and (number != term.number or PARTITION in duties.hands_over):
            term.is_handed_over = number == term.number
            term.over.set()
        if number is not None and self._owning is None and not self._is_released:
            following, self._following = self._following or self._new_following(), None
            self._owning = asyncio.create_task(self._own(number, following))
        self._keep_following(PARTITION in duties.follows)
        me = directory.rows.members.get(self._name)
        if me is not None and me.is_draining and self._stopping is None:
            self._begin_stop()

    def _keep_following(self, is_follower: bool) -> None:
        """Follow the log while the directory wants that, and say when the states are level."""
        following = self._following
        if is_follower and following is None and self._owning is None and not self._is_stopping():
            self._following = following = self._new_following()
            following.begin()
        elif not is_follower and following is not None:
            self._following = None
            self._spawn(following.close())
        if is_follower and following is not None and following.is_level:
            level = self._membership.directory.level(PARTITION)
            if level is not None:
                self._spawn(self._membership.change(level))

    def _new_following(self) -> Following:
        return Following(
            self._settings, self._keys, self._base_url, self._crew, self._membership.wake
        )

    def _is_stopping(self) -> bool:
        return self._stopping is not None

    def _spawn(self, work: Any) -> None:
        async def watched() -> None:
            try:
                await work
            except StoreUnavailableError as error:
                log.warning("the rows of the cluster cannot be changed", reason=str(error))

        self._tasks.add(task := asyncio.create_task(watched()))
        task.add_done_callback(self._tasks.discard)

    def _is_owner(self, number: int) -> bool:
        return self._membership.directory.duties().owns.get(PARTITION) == number

    async def _own(self, number: int, following: Following) -> None:
        """Be the owner for one term."""
        started = time.monotonic()
        was_level = following.is_level
        term = Term(self._settings, following, number, lambda: self._is_owner(number))
        self._term = term
        try:
            opened = await term.open()
            if opened is not None and not term.over.is_set():
                Protocol.reception = opened.service.application.reception
                self._desk.open(
                    opened.application, lambda: term.has_ended() or not self._is_leased()
                )
                Protocol.hot = opened.hot
                seconds = round(time.monotonic() - started, 3)
                log.info("this node is the owner", term=number, seconds=seconds, followed=was_level)
                await term.over.wait()
        except StoreError as error:
            log.error("this node cannot become the owner", error=str(error))
            await asyncio.sleep(_RETRY_SECONDS)
        finally:
            started = time.monotonic()
            Protocol.hot = None
            await self._finish_local()
            await self._desk.close()
            await term.close()
            self._term = None
            self._owning = None
            seconds = round(time.monotonic() - started, 3)
            log.info("this node is no owner", term=number, seconds=seconds)
            await self._release(number)

    def _is_leased(self) -> bool:
        return self._membership.is_leased

    async def _finish_local(self) -> None:
        """Wait for the hot calls that connections of this node have under way."""
        until = time.monotonic() + _LOCAL_SECONDS
        connections = self._server.server_state.connections
        while time.monotonic() < until:
            if not any(isinstance(each, Protocol) and each.is_deciding for each in connections):
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _release(self, number: int) -> None:
        """Make the follower the owner, where the directory wants that."""
        released = self._membership.directory.released(PARTITION, number)
        if released is not None:
            self._is_released = True
            try:
                await self._membership.change(released)
            except StoreUnavailableError as error:
                log.warning("the log could not be handed over", reason=str(error))
            self._is_released = False
        self._membership.wake()

    # Stopping

    def _begin_stop(self) -> None:
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())

    async def _stop(self) -> None:
        """Hand over, if there is somebody; then have the server stop."""
        until = time.monotonic() + max(1.0, self._settings.server.drain_seconds)
        try:
            await self._membership.change(Drain(self._name, is_draining=True))
            while time.monotonic() < until and self._has_to_hand_over():
                await asyncio.sleep(_POLL_SECONDS)
        except StoreUnavailableError as error:
            log.warning("the stop hands nothing over", reason=str(error))
        finally:
            self._server.should_exit = True

    def _has_to_hand_over(self) -> bool:
        rows = self._membership.directory.rows
        others = [
            each
            for each in rows.members.values()
            if each.name != self._name and each.is_connected and not each.is_draining
        ]
        if not others:
            return False
        placement = rows.placements.get(PARTITION)
        is_mine = placement is not None and placement.owner == self._name
        return self._owning is not None or is_mine or not self._forwarding.can_reach_owner

    def _end_term(self) -> None:
        if self._term is not None:
            self._term.over.set()
