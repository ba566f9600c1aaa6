"""The ASGI application: it reads the path once, and has the request answered by its handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from tidegate_server.http.answer import Answer
from tidegate_server.http.exchange import respond
from tidegate_server.http.request import path_as_written

if TYPE_CHECKING:
    from tidegate_server.http.exchange import Receive, Scope, Send

T = TypeVar("T")

Handler: TypeAlias = Callable[[Request], Awaitable[Answer | Response]]
"""Answers a request; ``path_params`` has the parts of its path that the handler's path names."""


class Paths(Generic[T]):
    """Values found by the path of a request.

    Args:
        values: by path. A segment ``{name}`` is any text; a literal segment goes before it. A path
            that ends with ``/*`` is everything below it.
    """

    def __init__(self, values: Mapping[str, T]) -> None:
        self._exact = {path: value for path, value in values.items() if not _is_open(path)}
        self._below = {path[:-1]: value for path, value in values.items() if path.endswith("/*")}
        self._by_length: dict[int, list[tuple[list[str], T]]] = {}
        named = (path.split("/") for path in values if "{" in path)
        for template in sorted(named, key=lambda each: [part.startswith("{") for part in each]):
            found = self._by_length.setdefault(len(template), [])
            found.append((template, values["/".join(template)]))

    def find(self, path: str) -> tuple[T, dict[str, str]] | None:
        """Return the value of a path, as it was written, and the parts that the path names."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        parts = path.split("/")
        for template, value in self._by_length.get(len(parts), ()):
            named = _named(template, parts)
            if named is not None:
                return value, named
        return next(((each, {}) for at, each in self._below.items() if path.startswith(at)), None)


def _is_open(path: str) -> bool:
    return "{" in path or path.endswith("/*")


def _named(template: list[str], parts: list[str]) -> dict[str, str] | None:
    """Return the parts that a template names; None if it doesn't fit."""
    named = {}
    for wanted, part in zip(template, parts, strict=True):
        if wanted.startswith("{") and part:
            named[wanted[1:-1]] = part
        elif wanted != part:
            return None
    return named


class HttpApplication:
    """Answers requests by their paths.

    Args:
        handlers: by path, in the form of :class:`Paths`.
        otherwise: answers every other path.
    """

    def __init__(self, handlers: Mapping[str, Handler], otherwise: Handler) -> None:
        self._paths = Paths(handlers)
        self._otherwise = otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = path_as_written(scope)
        handler, named = self._paths.find(path) or (self._otherwise, {})
        answer = await handler(Request({**scope, "path": path, "path_params": named}, receive))
        if isinstance(answer, Answer):
            await respond(send, answer)
        else:
            await answer(scope, receive, send)
