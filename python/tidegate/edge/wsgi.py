"""Middleware for WSGI applications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs

from tidegate.client import AsyncClient
from tidegate.edge.conventions import early
from tidegate.edge.guard import Guard, Options
from tidegate.edge.reply import problem
from tidegate.edge.visit import NoAddressError, header_text, without_proof

if TYPE_CHECKING:
    from typing import Unpack
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from tidegate.decider import Decider, Decision
    from tidegate.edge.reply import Reply
    from tidegate.edge.visit import Visit
    from tidegate.event_form import Event

_TARGETS = ("RAW_URI", "REQUEST_URI")
"""Members in which servers keep the path as it was sent; PEP 3333 has only the decoded path."""


class WsgiMiddleware:
    """Decides on every request before the application sees it, and reports rejections.

    Bodies pass unchanged.

    Args:
        app: the application.
        decider: a ``Client`` or an ``Engine``.
        options: see :class:`tidegate.edge.guard.Options`; hooks get the environment.

    Raises:
        TypeError: the decider is an ``AsyncClient``, which needs a loop, or an option is unknown.
        ValueError: a proxy or the origin is invalid, or an engine challenges.
    """

    def __init__(
        self,
        app: WSGIApplication,
        decider: Decider[Decision],
        **options: Unpack[Options[WSGIEnvironment]],
    ) -> None:
        if isinstance(decider, AsyncClient):
            raise TypeError("an `AsyncClient` needs a loop: use a `Client`")
        self.app = app
        self._decider = decider
        self._guard: Guard[WSGIEnvironment] = Guard(decider, **options)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Respond to one request, or let the application respond."""
        if self._guard.is_skipped(environ):
            return self.app(environ, start_response)
        asked = Asked(self._decider, self._guard)
        reply = asked.reply(environ, environ)
        if reply is None:
            return self._answered(asked, environ, start_response)
        length = ("content-length", str(len(reply.body)))
        status = f"{reply.status} {_phrase(reply.status)}"
        start_response(status, [*reply.headers, length])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [reply.body]

    def _answered(
        self, asked: Asked, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """The application's response, with its status reported when it is known."""

        def noting(status: str, *rest: Any) -> Any:
            asked.report(int(status[:3]))
            return start_response(status, *rest)

        try:
            return self.app(environ, noting)
        except Exception:
            asked.report(HTTPStatus.INTERNAL_SERVER_ERROR)
            raise


@attrs.define
class Asked:
    """One request: the decision on it, and the report afterwards.

    Args:
        decider: the decider, called on the caller's thread.
        guard: the settings.
    """

    _decider: Decider[Decision]
    _guard: Guard[Any]
    _event: Event | None = attrs.field(default=None, init=False)

    def reply(self, environ: WSGIEnvironment, request: Any) -> Reply | None:
        """The response to the visitor; None if the application responds.

        Args:
            request: the request for hooks.
        """
        guard = self._guard
        try:
            visit = _visit(guard, environ)
        except NoAddressError:
            return guard.refused(problem(None, "bad-request"))
        if visit.has_proof:
            _hide_proof(environ)
        refusal = early(visit)
        if refusal is not None:
            return guard.refused(refusal)
        fields = None if guard.fields is None else guard.fields(request)
        self._event = guard.event(visit, fields)
        try:
            decision = self._decider.decide(self._event)
        except Exception as error:
            return guard.failed(request, visit, error)
        return guard.decided(request, visit, decision)

    def report(self, status: int) -> None:
        """Report the application's response once, if it is one to report."""
        event = self._guard.outcome(self._event, status)
        if event is None:
            return
        self._event = None
        send: Callable[[Any], object] = getattr(self._decider, "send", self._decider.decide)
        try:
            send(event)
        except Exception as error:
            self._guard.not_reported(error)


def _visit(guard: Guard[Any], environ: WSGIEnvironment) -> Visit:
    scheme = environ["wsgi.url_scheme"]
    port = environ.get("SERVER_PORT", "")
    return guard.view.visit(
        method=environ["REQUEST_METHOD"],
        scheme=scheme,
        path=_path(environ),
        query=environ.get("QUERY_STRING", ""),
        headers=list(_headers(environ)),
        peer=environ.get("REMOTE_ADDR", ""),
        server=(environ.get("SERVER_NAME", ""), int(port) if port.isdecimal() else None),
        protocol=environ.get("SERVER_PROTOCOL", ""),
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
