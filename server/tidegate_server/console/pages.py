"""``/console/`` and everything below: one page, which shows the view that its URL names.

The page has no privileged access to the control plane: it gets no data here and calls the public
API like everybody else. So it isn't in the table of routes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response

from tidegate_server.console.files import Asset, Assets
from tidegate_server.http.headers import CONSOLE_HEADERS, FILE_HEADERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from tidegate_server.http.answer import Answer
    from tidegate_server.http.application import Handler

HOME = "/console/"
_FILES = "/console/assets/"
_ROOT = "The console is at /console/.\nThe API is at /api/v1, and its description at /docs.\n"
_LINKS = '</openapi.json>; rel="service-desc", </docs>; rel="service-doc"'
"""Where programs find the API (RFC 8631)."""
_NOT_BUILT = (
    "The console is not built.\n"
    "In a checkout of Tidegate, run: make console\n"
    "The API works without it; its description is at /docs.\n"
)


def console_handlers(assets: Assets | None, otherwise: Handler) -> dict[str, Handler]:
    """Return the handlers of the console, by their paths.

    Args:
        assets: of the build; None without a build.
        otherwise: answers for the root, to methods other than GET and HEAD.
    """

    async def page(request: Request) -> Response:
        return _plain(404, _NOT_BUILT) if assets is None else _page(assets, request)

    async def root(request: Request) -> Answer | Response:
        if request.method not in {"GET", "HEAD"}:
            return await otherwise(request)
        return PlainTextResponse(_ROOT, 303, {**CONSOLE_HEADERS, "location": HOME, "link": _LINKS})

    return {"/": root, HOME[:-1]: page, f"{HOME}*": page}


def _page(assets: Assets, request: Request) -> Response:
    path, headers = request.scope["path"], dict(request.scope["headers"])
    if request.method not in {"GET", "HEAD"}:
        return _plain(405, "allowed are GET and HEAD\n", {"allow": "GET, HEAD"})
    if not path.startswith(_FILES):
        return file_response(assets.index, headers, CONSOLE_HEADERS)
    found = assets.named.get(path.removeprefix(_FILES))
    if found is None:
        return _plain(404, "there is no such file\n")
    return file_response(found, headers, FILE_HEADERS)


def file_response(
    asset: Asset, given: Mapping[bytes, bytes], headers: Mapping[str, str]
) -> Response:
    """Return a file in the first form that the caller accepts.

    Args:
        asset: the file.
        given: the headers of the request.
        headers: of the answer.
    """
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
