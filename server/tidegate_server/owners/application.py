"""The application of one of several processes: it has the owner answer each request.

It reads a request as far as its owner needs it. Health is answered here, and so is everything of a
partition that this process owns for as long as it lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from tidegate_server.connection.bounds import share_of
from tidegate_server.connection.held import HeldBytes
from tidegate_server.connection.protocol import HEALTHY
from tidegate_server.http.exchange import read_body, respond
from tidegate_server.http.limits import MAX_BODIES, MAX_BODIES_EACH
from tidegate_server.http.problems import problem_of, problem_of_reason
from tidegate_server.owners.answers import refused
from tidegate_server.owners.messages import MAX_BODY_BYTES, Answered, Asked
from tidegate_server.owners.metrics_page import labelled

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from tidegate_server.http.exchange import Message, Receive, Scope, Send
    from tidegate_server.owners.forwarding import Forwarding
    from tidegate_server.owners.route_lookup import RouteLookup

_HEALTH, _READINESS, _METRICS = "/healthz", "/readyz", "/metrics"


class OwnersApplication:
    """The application of a process, whichever processes are the owners.

    Args:
        partitions: asks the owner of each; partitions may be added.
        routes: finds the partition of a request, if there are several.
        own: the application of each partition that this process owns for as long as it lives.
    """

    def __init__(
        self,
        partitions: Mapping[int, Forwarding],
        routes: RouteLookup,
        own: Mapping[int, ASGIApp] | None = None,
    ) -> None:
        self._partitions = partitions
        self._routes = routes
        self._own = own or {}
        self._bodies = HeldBytes(MAX_BODIES_EACH, MAX_BODIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, query = scope["raw_path"], scope["query_string"]
        asked = Asked(
            scope["method"],
            path + b"?" + query if query else path,
            list(scope["headers"]),
            b"",
            scope["client"],
            scope["scheme"],
        )
        if asked.path == _HEALTH and asked.method in ("GET", "HEAD"):
            await respond(send, HEALTHY)
            return
        try:
            forwarding = await self._of(asked)
            if forwarding is not None and forwarding.partition in self._own:
                await self._own[forwarding.partition](scope, receive, send)
                return
            # A body is held until it is answered; the length that a head announces counts for
            # nothing.
            with self._bodies.receiving(share_of(scope["client"]), receive) as counted:
                body = await read_body(scope, counted, MAX_BODY_BYTES)
                asked = msgspec.structs.replace(asked, body=body)
                made = await (self._page(asked) if forwarding is None else forwarding.ask(asked))
        except Exception as error:
            made = refused(problem_of(error), asked)
        start: Message = {"status": made.status, "headers": made.headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": made.body})

    async def _of(self, asked: Asked) -> Forwarding | None:
        """Return what asks the owner of a request; None for the page of all owners."""
        path, partitions, ready = asked.path, self._partitions, self._ready()
        if path == _READINESS and not ready:
            raise problem_of_reason("no-owner")
        if len(partitions) == 1:
            return partitions[0]
        if path == _METRICS and ready and asked.method == "GET":
            return None
        number = None if path == _READINESS else await self._routes.partition_of(asked)
        if number is not None:
            return partitions[number]
        # All owners answer it alike.
        return ready[0] if ready else partitions[0]

    def _ready(self) -> list[Forwarding]:
        """Return those whose owner can be reached, this process first."""
        found = [each for each in self._partitions.values() if each.can_reach_owner]
        return sorted(found, key=lambda each: not each.is_here)

    async def _page(self, asked: Asked) -> Answered:
        """Return the metrics of the owners that can be reached, labelled with their partitions."""
        ready = self._ready()
        answers = await asyncio.gather(*(each.ask(asked) for each in ready))
        first = answers[0]
        if first.status != HTTPStatus.OK:
            return first
        pages: dict[int, bytes | None] = dict.fromkeys(self._partitions)
        for each, answer in zip(ready, answers, strict=True):
            if answer.status == HTTPStatus.OK:
                pages[each.partition] = answer.body
        body = labelled(pages)
        headers = [each for each in first.headers if each[0].lower() != b"content-length"]
        return Answered(first.status, [*headers, (b"content-length", b"%d" % len(body))], body)
