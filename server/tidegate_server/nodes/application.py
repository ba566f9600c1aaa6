"""The application of a node: it answers its own health, and asks owners for everything else."""

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
from tidegate_server.http.problems import problem_of
from tidegate_server.nodes.messages import MAX_BODY_BYTES, Answered, Asked
from tidegate_server.nodes.plain import refused, unanswered
from tidegate_server.partitions.gateway import METRICS
from tidegate_server.partitions.pages import labelled

if TYPE_CHECKING:
    from tidegate_server.http.exchange import Message, Receive, Scope, Send
    from tidegate_server.nodes.forwarding import Forwarding
    from tidegate_server.nodes.route_lookup import RouteLookup

_HEALTH, _READINESS, _METRICS = b"/healthz", b"/readyz", METRICS.encode()


class NodeApplication:
    """The application of a node, whichever nodes are the owners.

    Args:
        partitions: asks the owner of each; partitions may be added.
        whose: finds the partition of a request, if there are several.
    """

    def __init__(self, partitions: Mapping[int, Forwarding], routes: RouteLookup) -> None:
        self._partitions = partitions
        self._routes = routes
        self._bodies = HeldBytes(MAX_BODIES_EACH, MAX_BODIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path, query = scope["raw_path"], scope["query_string"]
        if path == _HEALTH and scope["method"] in ("GET", "HEAD"):
            await respond(send, HEALTHY)
            return
        asked = Asked(
            scope["method"],
            path + b"?" + query if query else path,
            list(scope["headers"]),
            b"",
            scope["client"],
            scope["scheme"],
        )
        try:
            # A body is held until it is answered; the length that a head announces counts for
            # nothing.
            with self._bodies.receiving(share_of(scope["client"]), receive) as counted:
                body = await read_body(scope, counted, MAX_BODY_BYTES)
                made = await self._answer(path, msgspec.structs.replace(asked, body=body))
        except Exception as error:
            made = refused(problem_of(error), asked)
        start: Message = {"status": made.status, "headers": made.headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": made.body})

    async def _answer(self, path: bytes, asked: Asked) -> Answered:
        partitions = self._partitions
        ready = [each for each in partitions.values() if each.can_reach_owner]
        if path == _READINESS and not ready:
            return unanswered("no-owner", asked)
        if len(partitions) == 1:
            return await partitions[0].ask(asked)
        if path == _METRICS and ready and asked.method == "GET":
            return await _page(ready, asked)
        number = None if path == _READINESS else await self._routes.partition_of(asked)
        if number is not None:
            return await partitions[number].ask(asked)
        return await (ready[0] if ready else partitions[0]).ask(asked)


async def _page(partitions: list[Forwarding], asked: Asked) -> Answered:
    """Return the metrics of several owners, with the partition as a label."""
    answers = await asyncio.gather(*(each.ask(asked) for each in partitions))
    first = answers[0]
    if first.status != HTTPStatus.OK:
        return first
    body = labelled(
        {
            each.partition: answer.body
            for each, answer in zip(partitions, answers, strict=True)
            if answer.status == HTTPStatus.OK
        }
    )
    headers = [each for each in first.headers if each[0].lower() != b"content-length"]
    return Answered(first.status, [*headers, (b"content-length", b"%d" % len(body))], body)
