"""The login pages: the choice of a provider, the password form, and the arrival."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files

from starlette.responses import Response

from tidegate_server.http.headers import PAGE_HEADERS

_HEADERS = {
    **PAGE_HEADERS,
    "cache-control": "no-store",
    "content-security-policy": (
        f"{PAGE_HEADERS['content-security-policy']}; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    ),
}
"""Any script here can use the token, so no foreign script may run."""


def asset(name: str, media_type: str) -> Callable[[object], Response]:
    """Return a handler that serves a file of the pages.

    Args:
        name: name of a file in ``assets``.
        media_type: its media type.
    """

    def answer(_: object) -> Response:
        return Response(_content(name), headers=_HEADERS, media_type=media_type)

    return answer


@cache
def _content(name: str) -> bytes:
    return files("tidegate_server.login").joinpath("assets", name).read_bytes()
