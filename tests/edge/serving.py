"""ASGI and WSGI applications on sockets, on threads of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import uvicorn

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication


@contextmanager
def asgi(app: Any, **options: Any) -> Iterator[str]:
    """An ASGI application under uvicorn; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    usual = {"log_level": "warning", "lifespan": "off", "proxy_headers": False}
    server = uvicorn.Server(uvicorn.Config(app, **usual | options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def wsgi(app: WSGIApplication) -> Iterator[str]:
    """A WSGI application under the server of the standard library; gives its address."""
    server = make_server("127.0.0.1", 0, app, handler_class=_Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
