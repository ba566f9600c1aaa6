"""Bodies over ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tidegate_server.http import exchange
from tidegate_server.http.exchange import Message, read_body
from tidegate_server.http.problems import Problem


def body_of(messages: Sequence[Message], headers: Sequence[Any] = (), most: int = 10) -> bytes:
    """Return what is read of a sender that sends nothing after these messages."""
    left = list(messages)

    async def receive() -> Message:
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return asyncio.run(read_body({"headers": headers}, receive, most))


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_the_parts_of_a_body_are_joined() -> None:
    """A body in parts is read up to its last part."""
    assert body_of([part(b"12345", more=True), part(b""), part(b"6")]) == b"12345"
    assert body_of([{"type": "http.request"}]) == b""


@pytest.mark.parametrize(
    ("messages", "headers", "code"),
    [
        ([part(b"12345678901")], [], "body-too-large"),
        ([part(b"123456", more=True), part(b"78901", more=True)], [], "body-too-large"),
        ([], [(b"content-length", b"11")], "body-too-large"),
        ([], [(b"content-length", b"1e1")], "body-too-large"),
        ([{"type": "http.disconnect"}], [], "request-timeout"),
        ([part(b"1", more=True), {"type": "http.disconnect"}], [], "request-timeout"),
        ([], [], "request-timeout"),
        ([part(b"1", more=True)], [], "request-timeout"),
    ],
)
def test_a_body_is_bounded_in_size_and_time(
    messages: list[Message], headers: list[Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that is too long, or doesn't arrive whole in time, is refused."""
    monkeypatch.setattr(exchange, "RECEIVE_SECONDS", 0.01)
    with pytest.raises(Problem) as raised:
        body_of(messages, headers)
    assert raised.value.code == code
