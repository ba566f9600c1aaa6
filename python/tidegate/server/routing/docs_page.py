"""``/openapi.json`` and ``/docs``: a page made from the same document, without any script."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tidegate.server.http.headers import DATA_HEADERS, PAGE_HEADERS
from tidegate.server.http.problems import KINDS

if TYPE_CHECKING:
    from tidegate.server.http.call import Call


def prepare() -> None:
    """Make what is served, which is made once."""
    from tidegate.server.routing.openapi import document_json

    document_json()
    _page()


def openapi(_: Call) -> Response:
    """The OpenAPI document."""
    # It is made from the table of routes, which names this function.
    from tidegate.server.routing.openapi import document_json

    return Response(document_json(), headers=DATA_HEADERS, media_type="application/json")


def page(_: Call) -> Response:
    """The documentation as a page."""
    return Response(_page(), headers=PAGE_HEADERS, media_type="text/html")


def style(_: Call) -> Response:
    """How the page looks."""
    content = files("tidegate.server.routing").joinpath("assets/docs.css").read_bytes()
    return Response(content, headers=PAGE_HEADERS, media_type="text/css")


@cache
def _page() -> str:
    from tidegate.server.routing.openapi import document

    described = document()
    operations = list(_operations(described))
    sections = [
        _section(tag, [each for each in operations if tag["name"] in each[2]["tags"]])
        for tag in described["tags"]
    ]
    schemas = described["components"]["schemas"]
    contents = "".join(
        f'<a href="#{_anchor(tag)}">{escape(tag["name"])}</a> ' for tag in described["tags"]
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(described['info']['title'])}: interface</title>"
        '<link rel="stylesheet" href="/docs/style.css"></head><body>'
        f"<header><h1>{escape(described['info']['title'])}</h1>"
        f"<p>{escape(described['info']['summary'])} "
        'The same as <a href="/openapi.json">OpenAPI 3.1</a>.</p>'
        f'<nav>{contents}<a href="#problems">problems</a> <a href="#shapes">shapes</a></nav>'
        f"</header><main>{''.join(sections)}{_problems()}{_shapes(schemas)}</main></body></html>"
    )


def _anchor(tag: dict[str, Any]) -> str:
    return "tag-" + str(tag["name"]).replace(" ", "-")


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _section(tag: dict[str, Any], operations: list[tuple[str, str, dict[str, Any]]]) -> str:
    body = "".join(_operation(*each) for each in operations)
    head = f'<h2 id="{_anchor(tag)}">{escape(tag["name"])}</h2><p>{escape(tag["description"])}</p>'
    return f"<section>{head}{body}</section>"


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    rows = [("Takes", f"{_content(body)}")] if body else []
    for each in operation["parameters"]:
        what = f"{each['in']}: {_type(each['schema'])}"
        said = escape(each.get("description") or each["schema"].get("description", ""))
        rows.append((f"<code>{escape(each['name'])}</code>", f"{what} {said}"))
    for status, answer in operation["responses"].items():
        rows.append(
            (status, f"{_said(answer['description'])} {_content(answer.get('content', {}))}")
        )
    table = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in rows)
    return (
        f'<details id="{escape(operation["operationId"])}"><summary>'
        f"<b>{method}</b> <code>{escape(path)}</code> {escape(operation['summary'])}</summary>"
        f"<p>{escape(operation['description'])}</p><table>{table}</table></details>"
    )


def _said(description: str) -> str:
    """A description; what stands in backticks is code."""
    parts = escape(description).split("`")
    return "".join(f"<code>{each}</code>" if at % 2 else each for at, each in enumerate(parts))


def _content(content: dict[str, Any]) -> str:
    kinds = [
        f"{_type(each['schema'])} <small>{escape(media)}</small>" for media, each in content.items()
    ]
    return " or ".join(kinds)


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": reference}:
            name = escape(reference.rpartition("/")[2])
            return f'<a href="#shape-{name}">{name}</a>'
        case {"anyOf": arms}:
            return " or ".join(_type(each) for each in arms)
        case {"enum": values}:
            return " or ".join(f"<code>{escape(str(each))}</code>" for each in values)
        case {"type": "array", "items": items}:
            return f"list of {_type(items)}"
    bounds = [
        f"{word} {schema[name]:,}"
        for name, word in _BOUNDS.items()
        if isinstance(schema.get(name), int)
    ]
    return escape(", ".join([schema.get("format") or schema.get("type", "anything"), *bounds]))


_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "length at least",
    "maxLength": "length at most",
}


def _problems() -> str:
    rows = "".join(
        f'<tr id="problem-{code}"><th><code>{code}</code></th><td>{kind.status}</td>'
        f"<td>{escape(kind.title)}</td></tr>"
        for code, kind in KINDS.items()
    )
    said = "Every refusal is a problem document (RFC 9457) with one of these codes."
    return f'<section><h2 id="problems">problems</h2><p>{said}</p><table>{rows}</table></section>'


def _shapes(schemas: dict[str, Any]) -> str:
    made = "".join(_shape(name, schema) for name, schema in schemas.items())
    return f'<section><h2 id="shapes">shapes</h2>{made}</section>'


def _shape(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = "".join(
        f"<tr><th><code>{escape(member)}</code>{'' if member in needed else ' ?'}</th>"
        f"<td>{_type(each)} {escape(each.get('description', ''))}</td></tr>"
        for member, each in schema.get("properties", {}).items()
    )
    said = escape(schema.get("description", ""))
    return f'<h3 id="shape-{escape(name)}">{escape(name)}</h3><p>{said}</p><table>{rows}</table>'
