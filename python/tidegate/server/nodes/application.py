"""What a node answers: its own health, and everything else by asking the owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.server.connection.protocol import HEALTHY
from tidegate.server.http.exchange import declared_length, read_body, respond
from tidegate.server.http.problems import Problem, problem_of
from tidegate.server.nodes.messages import MAX_BODY_BYTES, Asked
from tidegate.server.nodes.refusals import answered, refused

if TYPE_CHECKING:
    from tidegate.server.http.exchange import Message, Receive, Scope, Send
    from tidegate.server.nodes.forwarding import Forwarding

_MAX_READING_BYTES = 8 * MAX_BODY_BYTES
_HEALTH, _READINESS = b"/healthz", b"/readyz"


class NodeApplication:
    """The application of a node, whoever the owner is.

    Args:
        forwarding: asks the owner.
    """

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding
        self._reading = 0
        """Bytes of bodies that arrive, at most as many as their heads say."""

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
            body = await self._body(scope, receive)
        except Exception as error:
            made = refused(problem_of(error), asked)
        else:
            if path == _READINESS and not self._forwarding.can_reach_owner:
                made = answered("no-owner", asked)
            else:
                made = await self._forwarding.ask(
                    Asked(
                        asked.method, asked.target, asked.headers, body, asked.client, asked.scheme
                    )
                )
        start: Message = {"status": made.status, "headers": made.headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": made.body})

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        is_chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        has_length = any(name == b"content-length" for name, _ in scope["headers"])
        size = declared_length(scope, MAX_BODY_BYTES) if is_chunked or has_length else 0
        if self._reading + size > _MAX_READING_BYTES:
            raise Problem("overloaded", "too much is under way", headers={"retry-after": "1"})
        self._reading += size
        try:
            return await read_body(scope, receive, MAX_BODY_BYTES)
        finally:
            self._reading -= size
