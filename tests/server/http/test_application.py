"""The application: which handler answers a path."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from tidegate_server.http.answer import Answer
from tidegate_server.http.application import Handler, HttpApplication, Paths
from tidegate_server.routing.routes import ROUTES

PATHS: Paths[str] = Paths(
    {
        path: path
        for path in (
            "/",
            "/a",
            "/a/{a_id}",
            "/a/new",
            "/a/{a_id}/b/{b_id}",
            "/a/new/b/{b_id}",
            "/{kind}/new/b/list",
            "/open",
            "/open/*",
            "/open/closed",
        )
    }
)


@pytest.mark.parametrize(
    ("path", "found", "named"),
    [
        ("/", "/", {}),
        ("/a", "/a", {}),
        ("/a/1", "/a/{a_id}", {"a_id": "1"}),
        ("/a/%6eew", "/a/{a_id}", {"a_id": "%6eew"}),
        ("/a/new", "/a/new", {}),
        ("/a/1/b/2", "/a/{a_id}/b/{b_id}", {"a_id": "1", "b_id": "2"}),
        ("/a/new/b/2", "/a/new/b/{b_id}", {"b_id": "2"}),
        ("/a/new/b/list", "/a/new/b/{b_id}", {"b_id": "list"}),
        ("/c/new/b/list", "/{kind}/new/b/list", {"kind": "c"}),
        ("/open/", "/open/*", {}),
        ("/open/x//y", "/open/*", {}),
        ("/open/closed", "/open/closed", {}),
        ("/open/closed/", "/open/*", {}),
    ],
)
def test_a_path_leads_to_its_closest_value(path: str, found: str, named: dict[str, str]) -> None:
    """A literal segment goes before a named one, from the left, and both before an open end."""
    assert PATHS.find(path) == (found, named)


@pytest.mark.parametrize("path", ["", "*", "a", "/a/", "//a", "/a//b/2", "/A", "/opened"])
def test_another_spelling_leads_nowhere(path: str) -> None:
    """A path is compared as it was written; a named segment isn't empty."""
    assert PATHS.find(path) is None


def test_each_route_is_found_at_its_paths() -> None:
    """Every path of the table leads to itself, with as many parts as it names."""
    table = Paths({path: path for route in ROUTES for path in route.paths})
    for route in ROUTES:
        for path in route.paths:
            values = {name: f"value-of-{name}" for name in route.parameters}
            assert table.find(path.format(**values)) == (path, values)


def test_handlers_get_the_path_and_answer_in_either_form() -> None:
    """A handler sees the path as written and its named parts; the rest goes to the last one."""

    async def plain(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"{request.scope['path']} {request.path_params['name']}")

    async def otherwise(request: Request) -> Answer:
        return Answer(request.method.encode(), 404)

    handlers: dict[str, Handler] = {"/a/{name}": plain}
    application = HttpApplication(handlers, otherwise)
    assert answered(application, b"/a/%c3%bc") == (200, b"/a/%c3%bc %c3%bc")
    assert answered(application, b"/b") == (404, b"GET")


def answered(application: HttpApplication, path: bytes) -> tuple[int, bytes]:
    """Return status and body of the answer to a request."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    scope = {"type": "http", "method": "GET", "path": "/other", "raw_path": path, "headers": []}
    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]
