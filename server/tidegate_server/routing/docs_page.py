"""``/openapi.json`` and ``/docs``: Swagger UI for the same document, and the list of problems."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response

from tidegate_server.http.headers import DATA_HEADERS, DOCS_HEADERS
from tidegate_server.http.problems import KINDS, Problem

if TYPE_CHECKING:
    from tidegate_server.control.call import Call

SWAGGER_UI = "swagger_ui"
"""The folder of its files, which the build of the console makes."""


def openapi(_: Call) -> Response:
    """Return the OpenAPI document."""
    return Response(_content("openapi.json"), headers=DATA_HEADERS, media_type="application/json")


def page(_: Call) -> Response:
    """Return the documentation as a page."""
    return Response(_page(), headers=DOCS_HEADERS, media_type="text/html")


def asset(name: str, media_type: str) -> Callable[[Call], Response]:
    """Return a handler that serves a file of the page.

    Args:
        name: name of a file in ``assets``, or of Swagger UI, which the console's build brings.
    """

    def answer(_: Call) -> Response:
        try:
            content = _content(name)
        except FileNotFoundError:
            raise Problem("not-found", "this server has no build of the console") from None
        return Response(content, headers=DOCS_HEADERS, media_type=media_type)

    return answer


@cache
def _content(name: str) -> bytes:
    folder = SWAGGER_UI if name.startswith("swagger-ui") else "assets"
    return files("tidegate_server.routing").joinpath(folder, name).read_bytes()


@cache
def _page() -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        "<title>Tidegate: interface</title>"
        '<link rel="stylesheet" href="/docs/swagger-ui.css">'
        '<link rel="stylesheet" href="/docs/style.css"></head><body>'
        # Swagger UI takes the place of the text.
        '<main id="interface"><p>This page needs JavaScript and a build of the console. '
        '<a href="/openapi.json">The OpenAPI document</a> describes the same.</p></main>'
        f'{_problems()}<script src="/docs/swagger-ui-bundle.js"></script>'
        '<script src="/docs/start.js"></script></body></html>'
    )


def _problems() -> str:
    rows = "".join(
        f'<tr id="problem-{code}"><th><code>{code}</code></th><td>{kind.status}</td>'
        f"<td>{escape(kind.title)}</td></tr>"
        for code, kind in KINDS.items()
    )
    said = "Every refusal is a problem document (RFC 9457) with one of these codes."
    return f'<section id="problems"><h2>Problems</h2><p>{said}</p><table>{rows}</table></section>'
