"""A site of one page behind Tidegate."""

import html
import os

from tidegate import Client
from tidegate.edge import WsgiMiddleware

client = Client(
    os.environ.get("TIDEGATE_URL", "http://127.0.0.1:8080"),
    os.environ["TIDEGATE_KEY"],
    source="wsgi-example",
)


def page(environ, start_response):
    """Shows what was asked for."""
    asked = html.escape(environ["PATH_INFO"] + "?" + environ["QUERY_STRING"])
    body = f"<!doctype html><title>A small site</title><h1>A small site</h1><p>{asked}"
    start_response("200 OK", [("content-type", "text/html; charset=utf-8")])
    return [body.encode("latin-1")]


app = WsgiMiddleware(page, client)
