"""Middleware for WSGI applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from tidegate.client import AsyncClient
from tidegate.edge.conventions import Boundary, early
from tidegate.edge.reply import problem
from tidegate.edge.sight import Sight
from tidegate.edge.visit import NoAddressError, header_text, without_proof

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from tidegate.decider import Decider, Decision
    from tidegate.edge.reply import Reply
    from tidegate.edge.visit import Visit

_TARGETS = ("RAW_URI", "REQUEST_URI")
"""Members in which servers keep the path as it was written; PEP 3333 has only the decoded path."""


class WsgiMiddleware:
    """Asks about every request before the application sees it; bodies pass untouched.

    Args:
        app: the application.
        decider: a ``Client`` or an ``Engine``.
        fail_open: whether a request passes when there is no decision; otherwise it is answered
            with 502.
        trusted_proxies: addresses and networks whose ``x-forwarded-for`` and
            ``x-forwarded-proto`` are believed; ``unix`` for whoever connects through a Unix socket.
        origin: scheme and host of the site, as in ``https://shop.example``, where a proxy in front
            does not hand on the visitor's; by default the request says.

    Raises:
        TypeError: the decider is an ``AsyncClient``, which needs a loop.
        ValueError: a proxy or the origin cannot be used.
    """

    def __init__(
        self,
        app: WSGIApplication,
        decider: Decider[Decision],
        *,
        fail_open: bool = False,
        trusted_proxies: Iterable[str] = (),
        origin: str | None = None,
    ) -> None:
        if isinstance(decider, AsyncClient):
            raise TypeError("an `AsyncClient` needs a loop: use a `Client`")
        self.app = app
        self._decider = decider
        self._boundary = Boundary(fail_open)
        self._sight = Sight.of(trusted_proxies, origin)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, or have the application answer it."""
        reply = self._reply(environ)
        if reply is None:
            return self.app(environ, start_response)
        length = ("content-length", str(len(reply.body)))
        status = f"{reply.status} {_phrase(reply.status)}"
        start_response(status, [*reply.headers, length])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [reply.body]

    def _reply(self, environ: WSGIEnvironment) -> Reply | None:
        try:
            visit = self._visit(environ)
        except NoAddressError:
            return problem(None, "bad-request")
        if visit.has_proof:
            _hide_proof(environ)
        return early(visit) or self._asked(visit)

    def _asked(self, visit: Visit) -> Reply | None:
        try:
            decision = self._decider.decide(visit.event())
        except Exception as error:
            return self._boundary.failed(visit, error)
        return self._boundary.decided(visit, decision)

    def _visit(self, environ: WSGIEnvironment) -> Visit:
        return self._sight.visit(
            method=environ["REQUEST_METHOD"],
            scheme=environ["wsgi.url_scheme"],
            path=_path(environ),
            query=environ.get("QUERY_STRING", ""),
            headers=list(_headers(environ)),
            peer=environ.get("REMOTE_ADDR", ""),
        )


def _path(environ: Mapping[str, str]) -> str:
    for name in _TARGETS:
        target = environ.get(name, "")
        if target.startswith("/"):
            return target.partition("?")[0]
    decoded = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return quote(decoded.encode("latin-1")) or "/"


def _headers(environ: WSGIEnvironment) -> Iterator[tuple[str, str]]:
    for name, value in environ.items():
        kind = name.removeprefix("HTTP_")
        is_content = name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value
        if kind != name or is_content:
            yield kind.lower().replace("_", "-"), header_text(value.encode("latin-1"))


def _hide_proof(environ: WSGIEnvironment) -> None:
    """Servers write their access log from the environment."""
    environ["QUERY_STRING"] = without_proof(environ["QUERY_STRING"])
    for name in _TARGETS:
        if name in environ:
            path, _, query = environ[name].partition("?")
            kept = without_proof(query)
            environ[name] = f"{path}?{kept}" if kept else path


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Blocked"
