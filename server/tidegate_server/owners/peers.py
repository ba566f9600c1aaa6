"""A process's own questions to its peers, the owners of partitions; they travel like calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import orjson

from tidegate_server.http.problems import problem_of_reason
from tidegate_server.logging import log
from tidegate_server.owners.messages import Asked
from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.http.exchange import Receive, Scope, Send
    from tidegate_server.owners.forwarding import Forwarding
    from tidegate_server.owners.route_lookup import RouteLookup

BETWEEN_OWNERS = "tidegate"
"""The scheme that marks questions of peers; callers have that of their connection."""
DEFINITIONS, DECISION = "definitions", "decision "
"""A notice and a question that owners send each other."""
TELL_SECONDS = 2.0
"""How long a change waits until a tenant's owner knows of it."""


class Peers:
    """The peers of a partition, as its service needs them.

    Args:
        number: of this partition.
        partitions: asks the owner of each.
        routes: finds the partition of a tenant.
    """

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

    async def tell(self, tenant_id: UUID, what: str) -> bool:
        """Have a tenant's owner take over a change now, rather than at its next poll.

        Returns:
            Whether it has, or will when it starts.
        """
        # An owner that isn't told looks within a second.
        try:
            number = await self._routes.partition_of_tenant(tenant_id)
            if number == self._number:
                return True
            async with asyncio.timeout(TELL_SECONDS):
                return await question(self._partitions[number], what) is not None
        except (StoreUnavailableError, TimeoutError):
            return False


async def has_decision(partitions: Mapping[int, Forwarding], decision_id: UUID) -> int | None:
    """Return the partition whose log has a decision; None if every owner's log lacks it.

    Raises:
        Problem: ``not-ready``, the owners that answered lack it, and others didn't answer.
    """
    open_ones = {number: each for number, each in partitions.items() if each.can_reach_owner}
    found = await asyncio.gather(
        *(question(each, f"{DECISION}{decision_id}") for each in open_ones.values())
    )
    for number, has in zip(open_ones, found, strict=True):
        if has:
            return number
    if len(open_ones) < len(partitions) or None in found:
        raise problem_of_reason("no-owner")
    return None


async def question(partition: Forwarding, what: str) -> Any:
    """Return the reply of a partition's owner to a question; None if there isn't one."""
    asked = Asked("GET", b"/" + quote(what, safe="").encode(), [], b"", None, BETWEEN_OWNERS)
    answered = await partition.ask(asked)
    return orjson.loads(answered.body) if answered.status == HTTPStatus.OK else None


def replying(
    reply: Callable[[str], Awaitable[object]], application: Callable[[Scope, Receive, Send], Any]
) -> Callable[[Scope, Receive, Send], Any]:
    """Return an application that also answers the questions of peers.

    Args:
        reply: replies to a question.
        application: answers everything else.
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["scheme"] != BETWEEN_OWNERS:
            await application(scope, receive, send)
            return
        what = unquote(scope["raw_path"].decode()).removeprefix("/")
        status, found = HTTPStatus.OK, None
        try:
            found = await reply(what)
        except Exception:
            log.exception("a question of a peer could not be answered", what=what)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        await send({"type": "http.response.start", "status": int(status), "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(found)})

    return answer
