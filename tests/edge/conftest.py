"""Both kinds of middleware, in front of a site that shows what it is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import pytest
from tests.edge import serving
from tests.edge.deciders import FixedDecider

from tidegate.edge import AsgiMiddleware, WsgiMiddleware

Fronted: TypeAlias = Callable[..., AbstractContextManager[str]]
"""Starts a site behind a decider, with settings of the middleware; gives its address."""


async def asgi_site(scope: Any, receive: Any, send: Any) -> None:
    """Shows its query."""
    shown = json.dumps({"query": scope["query_string"].decode("latin-1")}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-site", b"1")]})
    await send({"type": "http.response.body", "body": shown})


def wsgi_site(environ: Any, start_response: Any) -> list[bytes]:
    """Shows its query."""
    start_response("200 OK", [("x-site", "1")])
    return [json.dumps({"query": environ["QUERY_STRING"]}).encode()]


@pytest.fixture(params=["asgi", "wsgi"])
def fronted(request: pytest.FixtureRequest) -> Fronted:
    """One body, both kinds of middleware."""

    @contextmanager
    def start(decider: FixedDecider, **settings: Any) -> Iterator[str]:
        if request.param == "asgi":
            made: Any = AsgiMiddleware(asgi_site, decider, **settings)
        else:
            made = WsgiMiddleware(wsgi_site, decider, **settings)
        with getattr(serving, request.param)(made) as base_url:
            yield base_url

    return start
