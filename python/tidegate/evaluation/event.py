"""An event as received, before any field is computed: docs/fields.md, "The event"."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs

from tidegate.errors import EvaluationError, EventError
from tidegate.evaluation.json_text import Node, pointer, read_json
from tidegate.event_form import NAIVE_MOMENT, NO_MOMENT, REQUEST_MAPS, REQUEST_TEXTS
from tidegate.functions.time import parse_moment
from tidegate.limits import DEFAULT, Limits
from tidegate.values import Timestamp, from_python, utf8_length

EVENT_TEXTS = ("source", "return_url", "idempotency_key", "tenant_id")
"""Members of the event that are text."""

Values = Mapping[str, tuple[str, ...]]
"""The values of each name, at least one, in order."""


@attrs.frozen
class RawEvent:
    """The members of an event.

    ``texts`` has those that are present, ``maps`` the values of objects in order (including
    ``fields``, ``agent`` and ``geo``), ``body`` the node of ``fields.body`` if it is text, object
    or array, ``members`` everything else in the event, by name.
    """

    texts: Mapping[str, str]
    maps: Mapping[str, Values]
    observed_at: Timestamp | None
    body: Node | None
    members: Mapping[str, Node]


def read_event(
    event: Mapping[str, Any] | bytes, variables: frozenset[str], limits: Limits = DEFAULT
) -> RawEvent:
    """Read an event.

    Args:
        event: JSON text in bytes, or equivalent Python objects.
        variables: names of declared variables; a member with such a name is only that.
        limits: the limits on an event.

    Raises:
        EventError: see docs/fields.md.
    """
    if isinstance(event, bytes):
        if len(event) > limits.event_bytes:
            longest = limits.event_bytes
            raise EventError(
                f"the event is longer than {longest} bytes", offset=longest, is_unreadable=True
            )
        root = read_json(event, limits)
    else:
        root = node_from_python(_read_part(event, variables), limits)
    members = _object(root, [])
    texts = {
        name: _text(members.get(name), [name]) for name in EVENT_TEXTS if name not in variables
    }
    request = {} if "request" in variables else _object(members.get("request"), ["request"])
    texts |= {name: _text(request.get(name), ["request", name]) for name in REQUEST_TEXTS}
    maps = {name: _values(request.get(name), ["request", name]) for name in REQUEST_MAPS}
    fields = {} if "fields" in variables else _object(members.get("fields"), ["fields"])
    body = fields.get("body")
    has_body = body is not None and body.kind in {"string", "array", "object"}
    plain = {name: node for name, node in fields.items() if not (name == "body" and _nests(node))}
    maps["fields"] = _values(Node("object", plain), ["fields"])
    for name in ("agent", "geo"):
        maps[name] = _values(None if name in variables else members.get(name), [name])
    return RawEvent(
        texts={name: text for name, text in texts.items() if text is not None},
        maps=maps,
        observed_at=None if "observed_at" in variables else _moment(members.get("observed_at")),
        body=body if has_body else None,
        members=members,
    )


def refuse(message: str, path: list[str], node: Node) -> EventError:
    """The rejection of a value at a place."""
    return EventError(message, pointer(path), node.offset)


def _object(node: Node | None, path: list[str]) -> Mapping[str, Node]:
    if node is None or (node.kind == "null" and path):
        return {}
    if node.kind != "object":
        raise refuse("must be an object" if path else "the event must be an object", path, node)
    members: Mapping[str, Node] = node.content
    return members


def _text(node: Node | None, path: list[str]) -> str | None:
    if node is None or node.kind == "null":
        return None
    if node.kind != "string":
        raise refuse("must be a string", path, node)
    return str(node.content)


def _moment(node: Node | None) -> Timestamp | None:
    if node is None or node.kind == "null":
        return None
    if isinstance(node.origin, datetime) and node.origin.utcoffset() is None:
        raise refuse(NAIVE_MOMENT, ["observed_at"], node)
    try:
        if isinstance(node.origin, (Timestamp, datetime)):
            moment = from_python(node.origin)
            assert isinstance(moment, Timestamp)
            return moment
        if node.kind == "string":
            return parse_moment(node.content)
    except (EvaluationError, ValueError):
        pass
    raise refuse(NO_MOMENT, ["observed_at"], node)


def _nests(node: Node) -> bool:
    return node.kind in {"array", "object"}


def _values(node: Node | None, path: list[str]) -> Values:
    """The values in an object of texts."""
    found = {}
    for name, member in _object(node, path).items():
        place = [*path, name]
        values = list(enumerate(member.content)) if member.kind == "array" else [(None, member)]
        texts = tuple(
            text
            for index, value in values
            if (text := _scalar(value, place if index is None else [*place, str(index)]))
            is not None
        )
        if texts:
            found[name] = texts
    return found


def _scalar(node: Node, path: list[str]) -> str | None:
    match node.kind:
        case "null":
            return None
        case "string" | "number":
            return str(node.content)
        case "bool":
            return "true" if node.content else "false"
    raise refuse("must be a string, a number, a bool or null", path, node)


def _read_part(event: Mapping[str, Any], variables: frozenset[str]) -> Mapping[str, Any]:
    """The members of a dict that the encoder reads; others are ignored."""
    if not isinstance(event, Mapping):
        return event
    roots = variables | {name.partition(".")[0] for name in variables}
    part = {name: event[name] for name in event if name in roots or name in _MEMBERS}
    request = part.get("request")
    if isinstance(request, Mapping) and "request" not in roots:
        known = REQUEST_TEXTS + REQUEST_MAPS
        part["request"] = {name: request[name] for name in request if name in known}
    return part


_MEMBERS = (*EVENT_TEXTS, "observed_at", "request", "fields", "agent", "geo")

# --- from Python ----------------------------------------------------------------------


def node_from_python(value: Any, limits: Limits = DEFAULT) -> Node:
    """The node for a Python object, within the limits of an event.

    Raises:
        EventError: a limit is exceeded, or a string has lone surrogates.
    """
    return _from_python(value, [], limits)


def _from_python(value: Any, path: list[str], limits: Limits) -> Node:
    match value:
        case None:
            return Node("null")
        case bool():
            return Node("bool", value, origin=value)
        case int():
            return Node("number", _integer_text(value, path), origin=value)
        case float() if value - value == 0:
            return Node("number", repr(float(value)), origin=value)
        case str():
            return Node("string", _checked(value, path, limits), origin=value)
        case list() | tuple():
            _check_size(value, path, limits)
            parts = enumerate(value)
            elements = [_from_python(each, [*path, str(index)], limits) for index, each in parts]
            return Node("array", elements, origin=value)
        case Mapping() if all(isinstance(name, str) for name in value):
            _check_size(value, path, limits)
            members = {
                _checked(name, path, limits): _from_python(each, [*path, name], limits)
                for name, each in value.items()
            }
            return Node("object", members, origin=value)
        case _:
            return Node("other", origin=value)


def _integer_text(number: int, path: list[str]) -> str:
    try:
        return str(int(number))
    except ValueError as error:  # Python doesn't write integers with many thousand digits
        raise EventError("an integer is too long", pointer(path)) from error


def _check_size(value: Any, path: list[str], limits: Limits) -> None:
    if len(path) >= limits.event_depth:
        deepest = limits.event_depth
        raise EventError(f"objects and arrays nest deeper than {deepest}", pointer(path))
    if len(value) > limits.event_members:
        most = limits.event_members
        raise EventError(f"more than {most} members or elements", pointer(path))


def _checked(text: str, path: list[str], limits: Limits) -> str:
    try:
        length = utf8_length(text)
    except UnicodeEncodeError as error:
        raise EventError("a string has a lone surrogate", pointer(path)) from error
    if length > limits.event_string_bytes:
        longest = limits.event_string_bytes
        raise EventError(f"a string is longer than {longest} bytes", pointer(path))
    return str.__str__(text)  # the text itself, even for a member of an enumeration
