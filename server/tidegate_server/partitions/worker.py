"""A server worker: it owns its partition for as long as it lives, and asks the owners of others.

Its partition's lock keeps every other process from the log, so a worker needs no term and no
confirmation: a call that its predecessor left is found in the log.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.cluster.gateway import Bounds
from tidegate_server.http.problems import problem_of_reason
from tidegate_server.owners.application import OwnersApplication
from tidegate_server.owners.forwarding import TICK_SECONDS, Forwarding
from tidegate_server.owners.hot_paths import OwnersHotPaths
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.inboxes import Inboxes
from tidegate_server.owners.peers import Peers, has_decision, replying
from tidegate_server.owners.route_lookup import RouteLookup, RouteTable
from tidegate_server.owners.transports import over_unix

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from uuid import UUID

    from starlette.types import ASGIApp

    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.hot.metrics import HotMetrics
    from tidegate_server.partitions.slot import Slot
    from tidegate_server.service import Service

HOLD_SECONDS = 5.0
"""How long a call waits while its partition has no owner: a successor takes some seconds."""
HOT = Bounds(time=10.0, hold=HOLD_SECONDS, ask_again=10.0, calls=20_000)
"""Nothing is lost on a Unix socket, so an owner is asked again only after its link ends."""
OTHERS = Bounds(time=120.0, hold=HOLD_SECONDS, ask_again=120.0, calls=4_096, size=128 * 1024 * 1024)
_TERM = 1
"""Of every owner: each process has its own connections."""


@attrs.frozen
class _Partition:
    """A partition at a worker."""

    hot: HotPath | None
    forwarding: Forwarding


class Worker:
    """One of several server workers; make and use it only on the event loop's thread.

    Args:
        slot: of this worker.
        url: of the database that has the partitions of all tenants.
    """

    def __init__(self, slot: Slot, url: str) -> None:
        self._slot = slot
        self.routes = RouteLookup(RouteTable(url), self._has_decision)
        inboxes = {number: Inbox() for number in range(len(slot.paths))}
        self._inbox = inboxes[slot.number]
        self._inboxes = Inboxes(inboxes.get)
        self._server: asyncio.Server | None = None
        self._metrics: HotMetrics | None = None
        # Grows from one process of this machine to the next.
        run = time.monotonic_ns()
        self.forwardings: dict[int, Forwarding] = {}
        for number, path in enumerate(slot.paths):
            made = Forwarding(
                _name(slot.number),
                number,
                inboxes[number],
                over_unix,
                HOT,
                OTHERS,
                self._refused,
            )
            made.place(_name(number), path, _TERM, run)
            self.forwardings[number] = made
        self.peers = Peers(slot.number, self.forwardings, self.routes)

    def hot_paths(self, hot: HotPath) -> OwnersHotPaths:
        """Return the hot paths of all partitions.

        Args:
            hot: decides for this worker's partition.
        """
        self._metrics = hot.metrics
        own = self._slot.number
        places = {
            number: _Partition(hot if number == own else None, forwarding)
            for number, forwarding in self.forwardings.items()
        }
        return OwnersHotPaths(hot.metrics, places, self.routes)

    async def open(self, service: Service, application: ASGIApp, hot: HotPath) -> OwnersApplication:
        """Take calls of the other workers; return the application that answers any request.

        Args:
            service: of this worker's partition, started.
            application: answers its requests.
            hot: decides its hot calls.
        """
        replies: Any = replying(service.asked, application)
        self._inbox.open(replies, hot, _TERM, lambda: False, _confirmed)
        self._server = await asyncio.get_running_loop().create_unix_server(
            self._inboxes.link, sock=self._slot.inbox
        )
        own = {self._slot.number: application}
        return OwnersApplication(self.forwardings, self.routes, own)

    async def run(self) -> None:
        """Keep the links to the owners, for as long as the service runs."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            for each in self.forwardings.values():
                each.tick(now)

    def answer_now(self) -> None:
        """Answer calls that wait for a change, as the server stops."""
        for each in self.forwardings.values():
            each.answer_now()

    async def drain(self, seconds: float) -> None:
        """Wait a while for other workers' calls in progress."""
        await self._inbox.wait(seconds)

    async def close(self) -> None:
        """Stop taking calls, and end the links."""
        if self._server is not None:
            self._server.close()
        await self._inbox.close()
        self._inboxes.close()
        for each in self.forwardings.values():
            each.close()
        self.routes.close()

    def _refused(self, reason: str, count: int) -> None:
        """Count calls that no owner answered with the refusals of this worker's hot path."""
        if self._metrics is not None:
            self._metrics.refused(problem_of_reason(reason).code, count)

    def _has_decision(self, decision_id: UUID) -> Coroutine[Any, Any, int | None]:
        return has_decision(self.forwardings, decision_id)


def _name(number: int) -> str:
    return f"worker-{number}"


def _confirmed() -> asyncio.Future[bool]:
    """Return that this process was the owner: it is for as long as it lives."""
    made: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    made.set_result(True)
    return made
