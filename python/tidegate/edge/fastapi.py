"""A FastAPI dependency, for a few routes; the middleware is for a whole application."""

from collections.abc import AsyncIterator, Awaitable
from typing import Unpack

from starlette.exceptions import HTTPException
from starlette.requests import Request

from tidegate.client import Client
from tidegate.decider import Decider, Decision
from tidegate.edge.asgi import Asked
from tidegate.edge.guard import Guard, Options

# FastAPI reads the annotations below at run time, so no `from __future__ import annotations`.


class Protect:
    """Decides on a request before the route sees it, and reports rejections that the route raises.

    ``Depends(Protect(client))`` raises an ``HTTPException`` if a request does not pass; FastAPI
    responds with ``{"detail": ...}`` and the headers.  A rejection that a route returns, instead of
    raising it, isn't reported: FastAPI does not show it to dependencies.

    Args:
        decider: an ``AsyncClient``, or an ``Engine``, which decides in microseconds on the loop.
        options: see :class:`tidegate.edge.guard.Options`; hooks get Starlette's request.

    Raises:
        TypeError: the decider is a ``Client``, which would block the loop, or an option is unknown.
        ValueError: a proxy or the origin is invalid, or an engine challenges.
    """

    def __init__(
        self,
        decider: Decider[Decision] | Decider[Awaitable[Decision]],
        **options: Unpack[Options[Request]],
    ) -> None:
        if isinstance(decider, Client):
            raise TypeError("a `Client` would hold up the loop: use an `AsyncClient`")
        self._decider = decider
        self._guard: Guard[Request] = Guard(decider, **options)

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        """Pass a request on to its route.

        Raises:
            HTTPException: with the response to the visitor.
        """
        if self._guard.is_skipped(request):
            yield
            return
        asked = Asked(self._decider, self._guard)
        reply = await asked.reply(request.scope, request)
        if reply is not None:
            headers = {name: value for name, value in reply.headers if name != "content-type"}
            raise HTTPException(reply.status, reply.body.decode(errors="replace"), headers)
        try:
            yield
        except HTTPException as error:
            await asked.report(error.status_code)
            raise
        except Exception:
            await asked.report(500)
            raise
