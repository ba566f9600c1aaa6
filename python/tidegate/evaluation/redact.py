"""What may be kept of an event: the definition of the native redactor (docs/fields.md,
"What is kept of an event")."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import EventError
from tidegate.evaluation.event import EVENT_TEXTS, REQUEST_MAPS, REQUEST_TEXTS
from tidegate.evaluation.json_text import Node, read_json
from tidegate.functions.text import lower
from tidegate.limits import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 32
_KNOWN = {
    "event": {*EVENT_TEXTS, "observed_at", "request", "fields"},
    "request": {*REQUEST_TEXTS, *REQUEST_MAPS},
}
_LINKS = {("event", "return_url"), ("request", "path"), ("request", "referer")}
_COOKIE_HEADERS = {"cookie", "set-cookie"}
_DELIMITER = re.compile(r"([?#&;])")


class Redactor:
    """Replaces secrets by hashes that only the holder of the key can make.

    Args:
        patterns: names of members that hold secrets; ``*`` stands for any run, ASCII
            letters match in either case.
        key: what the hashes are made with.
    """

    def __init__(self, patterns: Iterable[str], key: bytes) -> None:
        self._patterns = [
            re.compile(".*".join(map(re.escape, lower(pattern).split("*"))), re.DOTALL)
            for pattern in patterns
        ]
        self._key = key

    def redact(self, body: bytes) -> bytes:
        """The event without its secrets, as compact JSON.

        Raises:
            EventError: the body is no strict JSON object within the limits of an event.
        """
        if len(body) > DEFAULT.event_bytes:
            longest = DEFAULT.event_bytes
            raise EventError(f"the event is longer than {longest} bytes", offset=longest)
        event = read_json(body)
        if event.kind != "object":
            raise EventError("the event must be an object", offset=event.offset)
        return _written(self._value(event, "event")).encode()

    def _value(self, node: Node, place: str) -> Node:
        """The value without its secrets.

        ``place`` is ``event``, ``request``, ``headers``, ``fields``, ``body``, ``link`` (a
        text with a query), or ``inner``, where members have names of their own.
        """
        match node.kind:
            case "array":
                return attrs.evolve(
                    node, content=[self._value(each, place) for each in node.content]
                )
            case "object":
                members = node.content.items()
                return attrs.evolve(
                    node, content={name: self._member(name, each, place) for name, each in members}
                )
            case "string" if place == "link":
                return attrs.evolve(node, content=self._link(node.content))
            case "string" if place == "body":
                return attrs.evolve(node, content=self._body(node.content))
        return node

    def _member(self, name: str, node: Node, place: str) -> Node:
        header = lower(name) if place == "headers" else ""
        if name in _KNOWN.get(place, ()):
            if (place, name) in _LINKS:
                return self._value(node, "link")
            return self._value(node, name if name in {"request", "headers", "fields"} else "inner")
        if header in _COOKIE_HEADERS or self._is_secret(name):
            return node if node.kind == "null" else Node("string", self._hash(name, _text(node)))
        if header == "referer":
            return self._value(node, "link")
        return self._value(node, "body" if (place, name) == ("fields", "body") else "inner")

    def _is_secret(self, name: str) -> bool:
        return any(pattern.fullmatch(lower(name)) for pattern in self._patterns)

    def _hash(self, name: str, text: str) -> str:
        named = lower(name).encode()
        message = f"{len(named)}:".encode() + named + text.encode()
        return "hmac:" + hmac.new(self._key, message, hashlib.sha256).hexdigest()[:_SHOWN]

    def _link(self, text: str) -> str:
        start = re.search("[?#]", text)
        return text if start is None else text[: start.start()] + self._pairs(text[start.start() :])

    def _body(self, text: str) -> str:
        """A text that is JSON, or else pairs of names and values."""
        try:
            node = read_json(text.encode())
        except EventError:
            return self._pairs(text)
        if node.kind not in {"object", "array"}:
            return self._pairs(text)
        redacted = self._value(node, "inner")
        return text if redacted == node else _written(redacted)

    def _pairs(self, text: str) -> str:
        """Names and values as of a query, without the values that are secret."""
        return "".join(map(self._pair, _DELIMITER.split(text)))

    def _pair(self, pair: str) -> str:
        name, equals, value = pair.partition("=")
        return f"{name}={self._hash(name, value)}" if equals and self._is_secret(name) else pair


def _text(node: Node) -> str:
    return str(node.content) if node.kind == "string" else _written(node)


def _written(node: Node) -> str:
    """The JSON text of a value: no blanks, only what must be escaped is; numbers as received."""
    match node.kind:
        case "object":
            members = node.content.items()
            return (
                "{" + ",".join(f"{_quoted(name)}:{_written(each)}" for name, each in members) + "}"
            )
        case "array":
            return "[" + ",".join(map(_written, node.content)) + "]"
        case "string":
            return _quoted(node.content)
        case "number":
            return str(node.content)
    return json.dumps(node.content)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
