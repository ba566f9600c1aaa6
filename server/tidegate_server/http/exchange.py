"""Bodies and answers over ASGI, for calls that are answered before the control plane."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate_server.http.limits import MAX_BODY_BYTES, RECEIVE_SECONDS, too_large
from tidegate_server.http.problems import Problem

if TYPE_CHECKING:
    from tidegate_server.http.answer import Answer, Header

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


def declared_length(scope: Scope, most: int) -> int:
    """Return the length of the body that the head declares, up to ``most`` bytes.

    Raises:
        Problem: 413, if it is longer.
    """
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit() or int(value) > most:
                raise too_large(most)
            return int(value)
    return most


async def read_body(scope: Scope, receive: Receive, most: int = MAX_BODY_BYTES) -> bytes:
    """Read the whole body.

    Raises:
        Problem: 413 if it is longer than ``most`` bytes, 408 if it doesn't arrive in time.
    """
    declared_length(scope, most)
    parts: list[bytes] = []
    size, more = 0, True
    try:
        async with asyncio.timeout(RECEIVE_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Problem("request-timeout", "the caller went away")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
                if size > most:
                    raise too_large(most)
    except TimeoutError:
        raise Problem(
            "request-timeout", f"the body did not arrive in {RECEIVE_SECONDS:.0f} s"
        ) from None
    return b"".join(parts)


def headers_of(answer: Answer) -> list[Header]:
    """Return all headers of an answer, except those that a server adds to every answer."""
    return [
        (b"content-type", answer.content_type),
        (b"content-length", b"%d" % len(answer.body)),
        *answer.headers,
    ]


async def respond(send: Send, answer: Answer) -> None:
    """Send an answer."""
    headers = headers_of(answer)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
