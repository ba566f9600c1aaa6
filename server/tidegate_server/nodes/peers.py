"""A node's own questions to its peers, the owners of partitions; they travel like calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import orjson

from tidegate_server.logging import log
from tidegate_server.nodes.messages import Asked
from tidegate_server.service import DECISION
from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.hot.call_queue import Elsewhere
    from tidegate_server.http.exchange import Receive, Scope, Send
    from tidegate_server.nodes.forwarding import Forwarding
    from tidegate_server.nodes.route_lookup import RouteLookup
    from tidegate_server.operators.key_ring import ApiKey
    from tidegate_server.service import Service

BETWEEN_NODES = "tidegate"
"""The scheme that marks a node's own questions; callers have that of their connection."""
TELL_SECONDS = 2.0
"""How long a change waits until a tenant's owner knows of it."""


class Peers:
    """The peers of a partition, as its service needs them.

    Args:
        number: of this partition.
        partitions: asks the owner of each.
        whose: finds the partition of a tenant.
    """

    elsewhere: Elsewhere | None = None
    """None, as the node's route lookup sends hot calls to the right owner."""

    def __init__(
        self, number: int, partitions: Mapping[int, Forwarding], routes: RouteLookup
    ) -> None:
        self._number = number
        self._partitions = partitions
        self._routes = routes

    @property
    def count(self) -> int:
        """The number of partitions."""
        return len(self._partitions)

    async def replace(self, keys: Iterable[ApiKey]) -> None:
        """See :class:`~tidegate_server.partitions.peers.Others`; nodes look keys up instead."""

    async def tell(self, tenant_id: UUID, what: str) -> bool:
        """See :class:`~tidegate_server.partitions.peers.Others`."""
        # An owner that isn't told looks within a second.
        try:
            number = await self._routes.partition_of_tenant(tenant_id)
            if number == self._number:
                return True
            async with asyncio.timeout(TELL_SECONDS):
                return await question(self._partitions[number], what) is not None
        except (StoreUnavailableError, TimeoutError):
            return False

    async def tell_all(self, what: str) -> bool:  # noqa: ARG002
        """See :class:`~tidegate_server.partitions.peers.Others`.

        Only a tenant's owner reads its keys, and it has made the change.
        """
        return True


async def has_decision(partitions: Mapping[int, Forwarding], decision_id: UUID) -> int | None:
    """Return the partition whose log has a decision, as far as owners can be asked."""
    open_ones = {number: each for number, each in partitions.items() if each.can_reach_owner}
    found = await asyncio.gather(
        *(question(each, f"{DECISION}{decision_id}") for each in open_ones.values())
    )
    return next((number for number, has in zip(open_ones, found, strict=True) if has), None)


async def question(partition: Forwarding, what: str) -> Any:
    """Return the reply of a partition's owner to a question; None if there is none."""
    asked = Asked("GET", b"/" + quote(what, safe="").encode(), [], b"", None, BETWEEN_NODES)
    answered = await partition.ask(asked)
    return orjson.loads(answered.body) if answered.status == HTTPStatus.OK else None


def replying(
    service: Service, application: Callable[[Scope, Receive, Send], Any]
) -> Callable[[Scope, Receive, Send], Any]:
    """Return an application that also answers the questions of peers.

    Args:
        service: replies to the questions.
        application: answers everything else.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["scheme"] != BETWEEN_NODES:
            await application(scope, receive, send)
            return
        what = unquote(scope["raw_path"].decode()).removeprefix("/")
        status, reply = HTTPStatus.OK, None
        try:
            reply = await service.asked(what)
        except Exception:
            log.exception("a question of a node could not be answered", what=what)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        await send({"type": "http.response.start", "status": int(status), "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(reply)})

    return answer
