"""The console's handlers without a build; `tests/console/test_pages.py` has them with one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tidegate_server.console.pages import console_handlers
from tidegate_server.http.answer import Answer
from tidegate_server.http.application import HttpApplication

LEFT = 418


def status(path: bytes) -> int:
    """Return the status of the answer to a browser."""
    sent: list[Any] = []

    async def left(_: Any) -> Answer:
        return Answer(b"", LEFT)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "raw_path": path,
        "headers": [(b"accept", b"text/html")],
    }
    receive: Any = None
    asyncio.run(HttpApplication(console_handlers(None, left), left)(scope, receive, send))
    code: int = sent[0]["status"]
    return code


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (b"/console", 404),
        (b"/console/", 404),
        (b"/console/assets/../x", 404),
        (b"/", 303),
        (b"/consoles", LEFT),
        (b"/api/v1/console/", LEFT),
    ],
)
def test_a_console_that_is_not_built_takes_only_its_own_paths(path: bytes, expected: int) -> None:
    """Without a build the console says so; the root leads there, and other paths are left alone."""
    assert status(path) == expected
