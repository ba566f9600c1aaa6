"""Middleware for ASGI applications."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import attrs

from tidegate.client import Client
from tidegate.edge.conventions import early
from tidegate.edge.guard import Guard, Options
from tidegate.edge.reply import problem
from tidegate.edge.visit import NoAddressError, header_text

if TYPE_CHECKING:
    from typing import Unpack

    from tidegate.decider import Decider, Decision
    from tidegate.edge.reply import Reply
    from tidegate.edge.visit import Visit
    from tidegate.event_form import Event

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class AsgiMiddleware:
    """Decides on every HTTP request before the application sees it, and reports rejections.

    Bodies pass unchanged in both directions; WebSockets and the lifespan go to the application.

    Args:
        app: the application.
        decider: an ``AsyncClient``, or an ``Engine``, which decides in microseconds on the loop.
        options: see :class:`tidegate.edge.guard.Options`; hooks get the scope. ``fields`` may give
            an awaitable.

    Raises:
        TypeError: the decider is a ``Client``, which would block the loop, or an option is unknown.
        ValueError: a proxy or the origin is invalid, or an engine challenges.
    """

    def __init__(
        self,
        app: Application,
        decider: Decider[Decision] | Decider[Awaitable[Decision]],
        **options: Unpack[Options[Scope]],
    ) -> None:
        if isinstance(decider, Client):
            raise TypeError("a `Client` would hold up the loop: use an `AsyncClient`")
        self.app = app
        self._decider = decider
        self._guard: Guard[Scope] = Guard(decider, **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request, or let the application respond."""
        if scope["type"] != "http" or self._guard.is_skipped(scope):
            await self.app(scope, receive, send)
            return
        asked = Asked(self._decider, self._guard)
        reply = await asked.reply(scope)
        if reply is not None:
            await _send(scope, send, reply)
            return
        status: int | None = None

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception:
            # The server responds so, if nothing was sent yet.
            status = HTTPStatus.INTERNAL_SERVER_ERROR if status is None else status
            raise
        finally:
            if status is not None:
                await asked.report(status)


@attrs.define
class Asked:
    """One request: the decision on it, and the report afterwards.

    Args:
        decider: the decider, called on the loop.
        guard: the settings.
    """

    _decider: Decider[Decision] | Decider[Awaitable[Decision]]
    _guard: Guard[Any]
    _event: Event | None = attrs.field(default=None, init=False)

    async def reply(self, scope: Scope, request: Any = None) -> Reply | None:
        """The response to the visitor; None if the application responds.

        Args:
            request: the request for hooks; the scope if None.
        """
        guard = self._guard
        hooked = scope if request is None else request
        try:
            visit = _visit(guard, scope)
        except NoAddressError:
            return guard.refused(problem(None, "bad-request"))
        if visit.has_proof:
            # Servers write their access log from the scope.
            scope["query_string"] = visit.clean_query.encode()
        refusal = early(visit)
        if refusal is not None:
            return guard.refused(refusal)
        fields = None if guard.fields is None else await _awaited(guard.fields(hooked))
        self._event = guard.event(visit, fields)
        try:
            decision: Decision = await _awaited(self._decider.decide(self._event))
        except Exception as error:
            return guard.failed(hooked, visit, error)
        return guard.decided(hooked, visit, decision)

    async def report(self, status: int) -> None:
        """Report the application's response, if it is one to report."""
        event = self._guard.outcome(self._event, status)
        if event is None:
            return
        send = getattr(self._decider, "send", self._decider.decide)
        try:
            await _awaited(send(event))
        except Exception as error:
            self._guard.not_reported(error)


async def _awaited(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given


def _visit(guard: Guard[Any], scope: Scope) -> Visit:
    path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return guard.view.visit(
        method=scope["method"],
        scheme=scope.get("scheme", "http"),
        path=path.decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=[
            (name.decode("latin-1").lower(), header_text(value)) for name, value in scope["headers"]
        ],
        peer=(scope.get("client") or ("",))[0],
        server=tuple(scope.get("server") or ("", None)),
        protocol=f"HTTP/{scope.get('http_version', '')}",
    )


async def _send(scope: Scope, send: Send, reply: Reply) -> None:
    length = ("content-length", str(len(reply.body)))
    headers = [(name.encode(), value.encode()) for name, value in (*reply.headers, length)]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else reply.body
    await send({"type": "http.response.body", "body": body})
