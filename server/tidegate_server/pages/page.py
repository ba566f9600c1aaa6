"""Pages for browsers: templates with automatic escaping, under a strict content policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from tidegate_server.http.headers import DATA_HEADERS

if TYPE_CHECKING:
    from tidegate_server.pages.languages import Language

FILE_TYPES: Mapping[str, str] = {
    "page.css": "text/css",
    "challenge.js": "text/javascript",
    "status.js": "text/javascript",
    "turnstile.js": "text/javascript",
    "altcha.css": "text/css",
    "altcha.min.js": "text/javascript",
    "scrypt.js": "text/javascript",
}
"""Files of pages, with their media types."""
_THIRD_PARTY = ("altcha.css", "altcha.min.js", "scrypt.js")
_FILE_SECONDS = 86_400


def page(
    template: str,
    language: Language,
    root: str,
    *,
    status: int = 200,
    policy: Mapping[str, Sequence[str]] | None = None,
    headers: Mapping[str, str] | None = None,
    **values: Any,
) -> Response:
    """Return a page.

    Args:
        template: the name of a file in ``templates``.
        language: the language of its texts.
        root: the relative path from the page to the folder that contains ``files``, as in ``../``.
        status: the answer's status.
        policy: sources that the page needs in addition to its own files, by directive.
        headers: further headers of the answer.
        values: for the template.
    """
    content = (
        _templates()
        .get_template(template)
        .render(language=language, texts=language.texts, root=root, **values)
    )
    given = {
        **DATA_HEADERS,
        "content-security-policy": content_policy(policy or {}),
        "content-language": language.code,
        "vary": "accept, accept-language",
        **(headers or {}),
    }
    return Response(content, status, given, media_type="text/html")


def content_policy(more: Mapping[str, Sequence[str]]) -> str:
    """Return the policy of a page: its own files, nothing inline, no frames.

    Args:
        more: further sources, by directive.
    """
    directives: dict[str, Sequence[str]] = {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
    for name, sources in more.items():
        directives[name] = [*directives.get(name, ()), *sources]
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


def file(name: str) -> Callable[[object], Response]:
    """Return a handler that serves a file of the pages."""

    def answer(_: object) -> Response:
        headers = {
            **DATA_HEADERS,
            "cache-control": f"public, max-age={_FILE_SECONDS}",
            # A worker gets the policy of its own file.
            "content-security-policy": "default-src 'none'; script-src 'wasm-unsafe-eval'",
        }
        return Response(_content(name), headers=headers, media_type=FILE_TYPES[name])

    return answer


@cache
def _content(name: str) -> bytes:
    folder = "widget" if name in _THIRD_PARTY else "files"
    return files("tidegate_server.pages").joinpath(folder, name).read_bytes()


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("tidegate_server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
