"""``/console/`` and everything below: one page, which shows the view that its URL names.

The page has no privileged access to the control plane: it gets no data here and calls the public
API like everybody else. So it comes before the table of routes, and isn't in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from tidegate.server.console.assets import Asset, Assets
from tidegate.server.http.headers import CONSOLE_HEADERS, FILE_HEADERS
from tidegate.server.http.request import path_as_written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

HOME = "/console/"
_FILES = "/console/assets/"
_NOT_BUILT = (
    "The console is not built.\n"
    "In a checkout of Tidegate, run: make console\n"
    "The API works without it; its description is at /docs.\n"
)


class Console:
    """The console in front of another application.

    Args:
        assets: of the build; None without a build.
        behind: answers every other path.
    """

    def __init__(self, assets: Assets | None, behind: ASGIApp) -> None:
        self._assets = assets
        self._behind = behind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = self._response(scope) if scope["type"] == "http" else None
        await (response or self._behind)(scope, receive, send)

    def _response(self, scope: Scope) -> Response | None:
        path = path_as_written(scope)
        is_here = path == HOME[:-1] or path.startswith(HOME)
        if self._assets is None:
            return _plain(404, _NOT_BUILT) if is_here else None
        headers = dict(scope["headers"])
        if path == "/" and b"text/html" in headers.get(b"accept", b""):
            return RedirectResponse(HOME, 303, CONSOLE_HEADERS)
        if not is_here:
            return None
        if scope["method"] not in {"GET", "HEAD"}:
            return _plain(405, "allowed are GET and HEAD\n", {"allow": "GET, HEAD"})
        if not path.startswith(_FILES):
            return _file(self._assets.index, headers, CONSOLE_HEADERS)
        found = self._assets.named.get(path.removeprefix(_FILES))
        if found is None:
            return _plain(404, "there is no such file\n")
        return _file(found, headers, FILE_HEADERS)


def _file(asset: Asset, given: Mapping[bytes, bytes], headers: Mapping[str, str]) -> Response:
    """Return a file in the first form that the caller accepts."""
    sent = {**headers, "etag": asset.tag, "vary": "accept-encoding"}
    if asset.tag in given.get(b"if-none-match", b"").decode("latin-1"):
        return Response(status_code=304, headers=sent)
    taken = _codings(given.get(b"accept-encoding", b"").decode("latin-1"))
    coding = next((each for each in asset.forms if each and each in taken), "")
    if coding:
        sent["content-encoding"] = coding
    return Response(asset.forms[coding], headers=sent, media_type=asset.media_type)


def _codings(accepted: str) -> frozenset[str]:
    """Return the content codings that a caller accepts (RFC 9110, section 12.5.3)."""
    found = set()
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        if weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}:
            found.add(name.strip())
    return frozenset(found)


def _plain(status: int, said: str, more: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(said, status, {**CONSOLE_HEADERS, **(more or {})})
