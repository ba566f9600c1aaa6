"""``python -m benchmarks.server.echo PORT``: the floor that the service is measured against.

A raw ASGI application that sends each body back, on uvicorn with uvloop and httptools.
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Send the body back."""
    del scope
    parts = []
    message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    body = b"".join(parts)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    uvicorn.run(
        echo,
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        access_log=False,
        log_level="warning",
    )
