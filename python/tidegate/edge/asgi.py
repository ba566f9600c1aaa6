"""Middleware for ASGI applications."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from tidegate.client import Client
from tidegate.edge.conventions import Boundary, early
from tidegate.edge.reply import problem
from tidegate.edge.sight import Sight
from tidegate.edge.visit import NoAddressError, header_text

if TYPE_CHECKING:
    from tidegate.decider import Decider, Decision
    from tidegate.edge.reply import Reply
    from tidegate.edge.visit import Visit

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsgiMiddleware:
    """Asks about every HTTP request before the application sees it.

    Bodies pass untouched in both directions; WebSockets and the lifespan go to the application.

    Args:
        app: the application.
        decider: an ``AsyncClient``, or an ``Engine``, which decides in microseconds on the loop.
        fail_open: whether a request passes when there is no decision; otherwise it is answered
            with 502.
        trusted_proxies: addresses and networks whose ``x-forwarded-for`` and
            ``x-forwarded-proto`` are believed; ``unix`` for whoever connects through a Unix socket.
        origin: scheme and host of the site, as in ``https://shop.example``, where a proxy in front
            does not hand on the visitor's; by default the request says.

    Raises:
        TypeError: the decider is a ``Client``, which would hold up the loop.
        ValueError: a proxy or the origin cannot be used.
    """

    def __init__(
        self,
        app: Application,
        decider: Decider[Decision] | Decider[Awaitable[Decision]],
        *,
        fail_open: bool = False,
        trusted_proxies: Iterable[str] = (),
        origin: str | None = None,
    ) -> None:
        if isinstance(decider, Client):
            raise TypeError("a `Client` would hold up the loop: use an `AsyncClient`")
        self.app = app
        self._decider = decider
        self._boundary = Boundary(fail_open)
        self._sight = Sight.of(trusted_proxies, origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have the application answer it."""
        if scope["type"] == "http":
            reply = await self._reply(scope)
            if reply is not None:
                await _send(scope, send, reply)
                return
        await self.app(scope, receive, send)

    async def _reply(self, scope: Scope) -> Reply | None:
        try:
            visit = self._visit(scope)
        except NoAddressError:
            return problem(None, "bad-request")
        if visit.has_proof:
            # Servers write their access log from the scope.
            scope["query_string"] = visit.clean_query.encode()
        return early(visit) or await self._asked(visit)

    async def _asked(self, visit: Visit) -> Reply | None:
        try:
            decision = self._decider.decide(visit.event())
            if inspect.isawaitable(decision):
                decision = await decision
        except Exception as error:
            return self._boundary.failed(visit, error)
        return self._boundary.decided(visit, decision)

    def _visit(self, scope: Scope) -> Visit:
        path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
        return self._sight.visit(
            method=scope["method"],
            scheme=scope.get("scheme", "http"),
            path=path.decode("latin-1"),
            query=scope["query_string"].decode("latin-1"),
            headers=[
                (name.decode("latin-1").lower(), header_text(value))
                for name, value in scope["headers"]
            ],
            peer=(scope.get("client") or ("",))[0],
        )


async def _send(scope: Scope, send: Send, reply: Reply) -> None:
    length = ("content-length", str(len(reply.body)))
    headers = [(name.encode(), value.encode()) for name, value in (*reply.headers, length)]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else reply.body
    await send({"type": "http.response.body", "body": body})
