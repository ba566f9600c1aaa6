"""The control plane of a running service, as called by commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener
from uuid import UUID

import attrs

from tidegate.errors import TidegateError

TIMEOUT_SECONDS = 60
_NEXT = re.compile(r'<[^>]*?/api/v1/([^>]*)>; rel="next"')


class RemoteError(TidegateError):
    """The service is unreachable, or rejected a call; ``problem`` is its response."""

    code = "remote-error"

    def __init__(self, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.problem = problem or {}


class Access(Protocol):
    """Where a service is, and who calls.

    Attributes:
        url: its address, without ``/api/v1``.
        token: an operator's.
        tenant: the id or slug of a tenant; empty for the only one.
    """

    @property
    def url(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def tenant(self) -> str: ...


class _NoRedirect(HTTPRedirectHandler):
    """A token is for the named service, not for the target of its redirects."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@attrs.frozen
class Remote:
    """Calls to one service with one token."""

    settings: Access

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media: str = "application/json",
        revision: int | None = None,
    ) -> Any:
        """The JSON response to one call.

        Args:
            method: the HTTP method.
            path: below the prefix of the interface.
            body: the content to send.
            media: its media type.
            revision: the revision that the object must have.

        Raises:
            RemoteError: the response is missing, or is an error.
        """
        return self._answer(method, path, body, media, revision)[0]

    def pages(self, path: str, most: int | None = None) -> list[Any]:
        """Every item of a list, read page by page.

        Args:
            path: of the list.
            most: read no further pages after so many items.

        Raises:
            RemoteError: as for :meth:`call`.
        """
        found: list[Any] = []
        while True:
            page, following = self._answer("GET", path, None, "application/json")
            found += page
            if following is None or (most is not None and len(found) >= most):
                return found
            path = following

    def _answer(
        self, method: str, path: str, body: bytes | None, media: str, revision: int | None = None
    ) -> tuple[Any, Any]:
        """A response, and the path of the next page if there is one."""
        url = f"{self.settings.url.rstrip('/')}/api/v1/{path}"
        if urlsplit(url).scheme not in ("http", "https"):
            raise RemoteError(f"`{self.settings.url}` is no address of a service")
        headers = {"authorization": f"Bearer {self.settings.token}", "content-type": media}
        if revision is not None:
            headers["if-match"] = f'"{revision}"'
        request = Request(url, body, headers, method=method)  # noqa: S310 - the scheme is checked
        try:
            with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS) as answer:
                content = answer.read()
                following = _NEXT.search(answer.headers.get("link", ""))
                return json.loads(content or b"null"), following and following[1]
        except HTTPError as error:
            raise _refusal(error) from None
        except (URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise RemoteError(f"no answer from {self.settings.url}: {reason}") from None

    def tenants(self) -> dict[str, str]:
        """The tenants that the token's operator belongs to, slug to id."""
        mine = self.call("GET", "me")["memberships"]
        return {each["slug"]: str(each["tenant_id"]) for each in mine}

    def tenant_id(self) -> str:
        """The selected tenant: by id, by slug, or the only one.

        Raises:
            RemoteError: none matches, or several could.
        """
        wanted = self.settings.tenant
        if _is_id(wanted):
            return wanted
        mine = self.tenants()
        if wanted in mine:
            return mine[wanted]
        if not wanted and len(mine) == 1:
            return next(iter(mine.values()))
        known = ", ".join(sorted(mine)) or "none"
        raise RemoteError(f"name the tenant with --tenant; yours are: {known}")


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _refusal(error: HTTPError) -> RemoteError:
    try:
        problem = json.loads(error.read())
        lines = [f"{problem['detail']} [{problem['code']}]", *_lines(problem)]
    except (ValueError, KeyError, TypeError):
        return RemoteError(f"the service answered {error.code} {error.reason}")
    return RemoteError("\n".join(lines), problem)


def _lines(problem: dict[str, Any]) -> Iterator[str]:
    for each in problem.get("errors", ()):
        place = f"{each['line']}:{each['column']}: " if "line" in each else ""
        pointer = f" at `{each['pointer']}`" if each.get("pointer") else ""
        yield f"{place}{each['detail']}{pointer} [{each.get('code', problem['code'])}]"
        if "hint" in each:
            yield f"  hint: {each['hint']}"
