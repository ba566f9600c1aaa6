"""The OpenAPI 3.1 document, derived from the table of routes and the classes they name.

It is committed, and the service serves the committed file. ``python -m
tidegate_server.routing.openapi > docs/openapi.json`` writes it again; that file is a link to the
one in the package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any, get_args

import attrs
import msgspec
import orjson

import tidegate
from tidegate.policy.document.schema import document_schema
from tidegate_server.http.convert import answer_of, member_types, read_only_types
from tidegate_server.http.forms import FORM
from tidegate_server.http.problems import CONTENT_TYPE, KINDS, ProblemDocument
from tidegate_server.http.repeats import KEY_FORM
from tidegate_server.http.request import NAME_FORM, is_id
from tidegate_server.routing.route import Credential, Route
from tidegate_server.routing.routes import ROUTES, TAGS
from tidegate_server.wire import events as wire_events

_REFERENCE = "#/components/schemas/{name}"
_DOCUMENT = "DefinitionsDocument"
"""The one body that the document reader parses."""
VERSION = "1.2.0"
"""The version of the interface; docs/versions.md says which change raises which part."""
_NAMED: Mapping[Any, str] = {
    list[wire_events.Event]: "EventBatch",
    list[wire_events.BatchItem]: "BatchAnswer",
}
"""Lists for which generators need a name."""
_SECURITY: Mapping[Credential, list[dict[str, list[str]]]] = {
    Credential.NONE: [],
    Credential.API_KEY: [{"apiKey": []}],
    Credential.SYNC_KEY: [{"apiKey": []}],
    Credential.OPTIONAL_API_KEY: [{}, {"apiKey": []}],
    Credential.OPERATOR: [{"operator": []}],
    Credential.METRICS: [{}, {"metrics": []}],
}
_LINES = {"type": "string", "description": "one object a line"}
_SAME_MEMBERS = ("application/json", FORM)
"""Media types of bodies that have the members of a class."""
_ENTITY_TAG = {
    "type": "string",
    "pattern": '^(\\*|(W/)?"[!#-~]*"([ \\t]*,[ \\t]*(W/)?"[!#-~]*")*)$',
    "examples": ['"3"'],
}


@cache
def document() -> dict[str, Any]:
    """Return the document of all routes."""
    return build(ROUTES)


@cache
def document_json() -> bytes:
    """Return the document as it is committed and served."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def build(routes: Iterable[Route]) -> dict[str, Any]:
    """Build the document of some routes."""
    routes = tuple(routes)
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        for number, path in enumerate(route.paths):
            operation = _operation(route, schemas)
            if not number:
                _add_examples(operation, route)
            else:
                operation["operationId"] += "-bare"
                operation["summary"] += " (an older path: use the one with the prefix)"
                operation["deprecated"] = True
            paths.setdefault(path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tidegate",
            "version": VERSION,
            "summary": "Decides what to do with web traffic: allow, challenge or block.",
            "description": (tidegate.__doc__ or "").partition("\n")[0],
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-service-api-key"},
                "operator": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "metrics": {"type": "http", "scheme": "bearer"},
            },
        },
    }


class _Schemas:
    """The schemas of every class that a route names."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        bodies = {each.body for each in routes if each.body not in (None, bytes)}
        closed = {each.body for each in routes if each.handler is not None} & bodies
        answers = {each.answer for each in routes if each.answer is not None}
        queries = {kind for each in routes if each.query for kind in _query_types(each)}
        wanted = list(
            dict.fromkeys([ProblemDocument, *_NAMED, *_ordered(bodies | answers | queries)])
        )
        made, components = msgspec.json.schema_components(wanted, ref_template=_REFERENCE)
        components[_DOCUMENT] = document_schema()
        self._made = dict(zip(wanted, map(_plain, made), strict=True))
        self.components: dict[str, Any] = _plain(dict(sorted(components.items())))
        # The layer's refusals are documented; answers may gain members.
        for name in _reachable([self._made[each] for each in closed], self.components):
            if "properties" in self.components[name]:
                self.components[name]["additionalProperties"] = False
        for body in bodies:
            self._add_read_only(body)
        for kind, name in _NAMED.items():
            self.components[name] = {"title": name, **self._made[kind]}
            self._made[kind] = {"$ref": _REFERENCE.format(name=name)}

    def _add_read_only(self, body: Any) -> None:
        """Add the members of an answer that may be sent back in a body."""
        added = read_only_types(body)
        if added:
            answered = self.components[answer_of(body).__name__]["properties"]
            properties = self.components[body.__name__]["properties"]
            properties.update({name: {**answered[name], "readOnly": True} for name in added})

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a class: mostly a reference."""
        return dict(self._made[kind])


def _ordered(kinds: Iterable[Any]) -> list[Any]:
    return sorted(kinds, key=repr)


def _query_types(route: Route) -> list[Any]:
    return list(member_types(route.query).values())


def _plain(value: Any) -> Any:
    """Return a schema as plain JSON, without tuples or unset members."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items() if each is not msgspec.UNSET}
        case list() | tuple():
            return [_plain(each) for each in value]
    return msgspec.to_builtins(value)


def _reachable(schemas: Iterable[Any], components: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    open_ends = [name for schema in schemas for name in _references(schema)]
    while open_ends:
        name = open_ends.pop()
        if name not in found:
            found.add(name)
            open_ends += _references(components[name])
    return found


def _references(schema: Any) -> Iterator[str]:
    match schema:
        case {"$ref": str(reference)}:
            yield reference.rpartition("/")[2]
        case dict():
            for each in schema.values():
                yield from _references(each)
        case list():
            for each in schema:
                yield from _references(each)


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    description = [route.description] if route.description else []
    if route.permission is not None:
        description.append(f"Requires a role that may {route.permission.value}.")
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "description": " ".join(description),
        "security": _SECURITY[route.credential],
        "parameters": list(_parameters(route, schemas)),
        "responses": _responses(route, schemas),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(route, schemas)}
    return operation


def _content(route: Route, schemas: _Schemas) -> dict[str, Any]:
    if route.body is bytes:
        reference = {"$ref": _REFERENCE.format(name=_DOCUMENT)}
        return {media: {"schema": reference} for media in route.media_types}
    return {
        media: {"schema": schemas.of(route.body) if media in _SAME_MEMBERS else _LINES}
        for media in route.media_types
    }


def _add_examples(operation: dict[str, Any], route: Route) -> None:
    """Add a demonstration call and its answer; deprecated paths get no example."""
    example = _examples().get(route.name, {})
    if "body" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = example["body"]
    if "answer" in example:
        answer = operation["responses"][str(route.status)]["content"][route.answer_type]
        answer["example"] = example["answer"]


@cache
def _examples() -> dict[str, Any]:
    """Return examples by operation; ``tools/examples.py`` writes them."""
    content = files("tidegate_server.routing").joinpath("assets", "examples.json").read_bytes()
    found: dict[str, Any] = orjson.loads(content)
    return found


def _parameters(route: Route, schemas: _Schemas) -> Iterator[dict[str, Any]]:
    for name in route.parameters:
        form = {"format": "uuid"} if is_id(name) else {"pattern": f"^{NAME_FORM}$"}
        schema: dict[str, Any] = {"type": "string", **form}
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    if route.query is not None:
        types = member_types(route.query)
        for attribute in attrs.fields(route.query):
            schema = _without_null(schemas.of(types[attribute.name]))
            if attribute.default not in (None, attrs.NOTHING):
                schema["default"] = msgspec.to_builtins(attribute.default)
            required = attribute.default is attrs.NOTHING
            yield {"name": attribute.name, "in": "query", "required": required, "schema": schema}
    if route.repeatable:
        text = "who repeats the request under the same key gets the first answer, for 24 hours"
        schema = {"type": "string", "pattern": f"^{KEY_FORM}$"}
        yield {"name": "Idempotency-Key", "in": "header", "description": text, "schema": schema}
    if route.conditional:
        header, text = (
            ("If-None-Match", "answered with 304 when the object is still the same")
            if route.method == "GET"
            else ("If-Match", "refused with 412 when the object has changed since")
        )
        yield {"name": header, "in": "header", "description": text, "schema": _ENTITY_TAG}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null, as a query leaves an absent parameter out."""
    arms = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(arms) != 1:
        return schema
    return {**{name: each for name, each in schema.items() if name != "anyOf"}, **arms[0]}


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    success: dict[str, Any] = {"description": HTTPStatus(route.status).phrase}
    if route.answer is not None:
        success["content"] = {route.answer_type: {"schema": schemas.of(route.answer)}}
    elif route.answer_type != "application/json":
        success["content"] = {route.answer_type: {"schema": {"type": "string"}}}
    headers = {"X-Request-Id": _header("under which the logs know the request")}
    if route.conditional and route.answer is not None:
        headers["ETag"] = _header("the revision of the object")
    if _is_list(route.answer) and route.query is not None:
        headers["Link"] = _header('the next page, as `rel="next"`; absent on the last')
    if route.repeatable:
        headers["Idempotency-Replayed"] = _header("`true` when the answer is an earlier one")
    if route.status == HTTPStatus.CREATED:
        headers["Location"] = _header("the path of the new object")
    if route.status == HTTPStatus.SEE_OTHER:
        headers["Location"] = _header("where the browser goes next")
    if route.cookie is not None:
        headers["Set-Cookie"] = _header(route.cookie)
    success["headers"] = headers
    responses = {str(route.status): success}
    responses |= {str(status): {"description": text} for status, text in route.also.items()}
    if route.conditional and route.method == "GET":
        responses["304"] = {"description": "The caller has the present revision."}
    codes: dict[int, list[str]] = {}
    for code in route.codes:
        codes.setdefault(KINDS[code].status, []).append(code)
    for status, names in sorted(codes.items()):
        said = "; ".join(f"`{name}`: {KINDS[name].meaning}" for name in names)
        responses[str(status)] = {
            "description": said,
            "content": {CONTENT_TYPE: {"schema": schemas.of(ProblemDocument)}},
        }
    return responses


def _header(description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}}


def _is_list(kind: Any) -> bool:
    return bool(get_args(kind))


def main() -> None:
    """Print the document."""
    sys.stdout.buffer.write(document_json())


if __name__ == "__main__":
    main()
