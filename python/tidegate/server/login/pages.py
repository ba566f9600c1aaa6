"""The pages of a login: the choice of a provider, the form for a password, and the arrival."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response

from tidegate.server.http.headers import PAGE_HEADERS

if TYPE_CHECKING:
    from tidegate.server.http.call import Call

_HEADERS = {
    **PAGE_HEADERS,
    "cache-control": "no-store",
    "content-security-policy": (
        f"{PAGE_HEADERS['content-security-policy']}; require-trusted-types-for 'script';"
        " trusted-types 'none'"
    ),
}
"""Whatever a script can do here it can do with the token: no other script runs."""


def asset(name: str, media_type: str) -> Callable[[Call], Response]:
    """A handler that answers with a file of the pages.

    Args:
        name: of a file in ``assets``.
        media_type: of it.
    """

    def answer(_: Call) -> Response:
        return Response(_content(name), headers=_HEADERS, media_type=media_type)

    return answer


def password_form(call: Call) -> Response:
    """The form for email and password."""
    call.app.logins.need_local()
    return Response(_content("password.html"), headers=_HEADERS, media_type="text/html")


@cache
def _content(name: str) -> bytes:
    return files("tidegate.server.login").joinpath("assets", name).read_bytes()
