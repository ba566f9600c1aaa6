"""Which requests may be run again where nobody knows whether they were run.

Hot calls have ids, under which the log is looked into.  Reads change nothing.  A change under an
idempotency key is committed with its answer, which whoever repeats it gets.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tidegate.server.authz.authorize import is_for_proxies
from tidegate.server.hot.batch import PATH as BATCH
from tidegate.server.hot.hot_path import ENDPOINTS
from tidegate.server.http.repeats import HEADER as IDEMPOTENCY_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_HOT = frozenset({*ENDPOINTS, BATCH})
_KEY = IDEMPOTENCY_KEY.encode()
NOT_KNOWN = (
    "the process that was asked ended before it answered, so the change may have been made: look"
    " before you repeat it"
)
"""Why a change that may have been made is refused."""


def is_safe(method: str) -> bool:
    """Whether requests of a method change nothing."""
    return method in _SAFE


def is_hot(method: str, path: str) -> bool:
    """Whether a request is decided on under the id of its gateway."""
    return is_for_proxies(path) or (method == "POST" and path in _HOT)


def is_repeatable(method: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request may be handed on again when nobody knows whether it was run.

    Args:
        method: in capitals.
        path: as it was written.
        headers: names in lower case.
    """
    if is_safe(method) or is_hot(method, path):
        return True
    return any(name == _KEY for name, _ in headers) and any(
        method == known and form.fullmatch(path) for known, form in _kept()
    )


@cache
def _kept() -> list[tuple[str, re.Pattern[str]]]:
    """Methods and paths of the routes that keep their answers under an idempotency key."""
    # The table names the handlers, of which callers of this module have no need before.
    from tidegate.server.routing.routes import ROUTES

    return [
        (route.method, re.compile(re.sub(r"{\w+}", "[^/]+", path)))
        for route in ROUTES
        if route.repeatable
        for path in route.paths
    ]
