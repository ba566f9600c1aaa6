"""The retry policy: which requests may run again when nobody knows whether they ran.

Hot calls have ids, which are searched in the log. Reads change nothing. A change under an
idempotency key is committed with its answer, which a repetition gets.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tidegate_server.authz.authorize import is_for_proxies
from tidegate_server.hot.batch import PATH as BATCH
from tidegate_server.hot.hot_path import ENDPOINTS
from tidegate_server.http.application import Paths
from tidegate_server.http.repeats import HEADER as IDEMPOTENCY_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_HOT = frozenset({*ENDPOINTS, BATCH})
_KEY = IDEMPOTENCY_KEY.encode()


def is_safe(method: str) -> bool:
    """Tell whether requests of a method change nothing."""
    return method in _SAFE


def is_hot(method: str, path: str) -> bool:
    """Tell whether a request is decided under its gateway's id."""
    return is_for_proxies(path) or (method == "POST" and path in _HOT)


def is_repeatable(method: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell whether a request may be forwarded again when nobody knows whether it ran.

    Args:
        method: in capitals.
        path: as it was written.
        headers: names in lower case.
    """
    if is_safe(method) or is_hot(method, path):
        return True
    kept = _kept().find(path)
    return kept is not None and method in kept[0] and any(name == _KEY for name, _ in headers)


@cache
def _kept() -> Paths[list[str]]:
    """Return the methods, by path, that keep their answers under an idempotency key."""
    # The table names the handlers, which callers of this module don't need earlier.
    from tidegate_server.routing.routes import ROUTES

    methods: dict[str, list[str]] = {}
    for route in ROUTES:
        for path in route.paths:
            methods.setdefault(path, []).extend([route.method] if route.repeatable else [])
    return Paths(methods)
