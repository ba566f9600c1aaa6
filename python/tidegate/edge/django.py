"""Middleware for Django."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.utils.module_loading import import_string

from tidegate.client import AsyncClient
from tidegate.edge.guard import Guard
from tidegate.edge.wsgi import Asked

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from tidegate.decider import Decider, Decision

_HOOKS = {"fields", "skip", "on_decision"}


class Middleware:
    """Decides on every request before the views see it, and reports rejections.

    The setting ``TIDEGATE`` is a dictionary: ``decider`` is a ``Client`` or an ``Engine``, or its
    dotted path. The other members are options of :class:`tidegate.edge.guard.Options`; hooks may be
    dotted paths too, and get Django's request.

    Args:
        get_response: calls the next middleware and the views.

    Raises:
        ImproperlyConfigured: the setting is missing or invalid.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        given = dict(getattr(settings, "TIDEGATE", None) or {})
        try:
            self._decider: Decider[Decision] = _found(given.pop("decider"))
        except KeyError:
            message = 'the setting TIDEGATE needs "decider": a Client, an Engine, or its path'
            raise ImproperlyConfigured(message) from None
        if isinstance(self._decider, AsyncClient):
            raise ImproperlyConfigured("an `AsyncClient` needs a loop: use a `Client`")
        hooks = {
            name: _found(given[name]) for name in ("fields", "skip", "on_decision") & given.keys()
        }
        try:
            self._guard: Guard[HttpRequest] = Guard(self._decider, **{**given, **hooks})
        except (TypeError, ValueError) as error:
            raise ImproperlyConfigured(f"the setting TIDEGATE: {error}") from error

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Respond to one request, or let the views respond."""
        if self._guard.is_skipped(request):
            return self._get_response(request)
        asked = Asked(self._decider, self._guard)
        reply = asked.reply(_environ(request), request)
        if reply is not None:
            return HttpResponse(reply.body, status=reply.status, headers=dict(reply.headers))
        response = self._get_response(request)
        asked.report(response.status_code)
        return response


def _found(given: Any) -> Any:
    """The object in a setting, given directly or by its dotted path."""
    return import_string(given) if isinstance(given, str) else given


def _environ(request: HttpRequest) -> dict[str, Any]:
    """The request as in PEP 3333; under ASGI Django provides most of it."""
    scope: Mapping[str, Any] | None = getattr(request, "scope", None)
    if scope is None:
        meta: dict[str, Any] = request.META
        return meta
    path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return {
        **request.META,
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '')}",
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "RAW_URI": path.decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
    }
