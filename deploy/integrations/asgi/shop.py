"""A site of one page behind Tidegate."""

import html
import os

from tidegate import AsyncClient
from tidegate.edge import AsgiMiddleware

client = AsyncClient(
    os.environ.get("TIDEGATE_URL", "http://127.0.0.1:8080"),
    os.environ["TIDEGATE_KEY"],
    source="asgi-example",
)


async def page(scope, receive, send):
    """Shows what was asked for."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    asked = html.escape(scope["raw_path"].decode() + "?" + scope["query_string"].decode())
    body = f"<!doctype html><title>A small site</title><h1>A small site</h1><p>{asked}".encode()
    headers = [(b"content-type", b"text/html; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def lifespan(receive, send):
    """Closes the client when the server stops."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await client.close()
    await send({"type": "lifespan.shutdown.complete"})


app = AsgiMiddleware(page, client)
