"""Generated schemas and events: fields of an expression, and values for them.

Members are left out at random, and values are often ones that the expression mentions, so that both
missing cases and hits occur.
"""

from __future__ import annotations

import base64
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from tidegate.language.tree.schema import FIELD_MODEL, Schema
from tidegate.testing import vocabulary
from tidegate.testing.choices import happens, pick
from tidegate.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    IP,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    Type,
)
from tidegate.values import Duration, Map, Timestamp, to_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tidegate.testing.choices import Choices

    Literals = Mapping[Type, Sequence[Any]]

_VARIABLE_TYPES = (BOOL, INT, STRING, UINT, DOUBLE, BYTES, TIMESTAMP, DURATION, IP, CIDR, DYN)
_NAMES = ("n", "flag", "words", "scores", "body", "app.level", "app.tags", "extra")
_HEADERS = ("Host", "accept", "X-Token", "user-agent", "x-forwarded-for", "cookie", "a", "ok")
_METHODS = ("GET", "POST", "get", "DELETE", "")
_PATHS = (
    "/", "/api/v1/users", "/admin/", "/%2e%2e/etc/passwd", "//a//b/../c", "/a%2Fb", "/index.php",
    "", "/é/%C3%A9/%FF", "/a/./b/..", "/x.tar.GZ", "/a?f=1&f=..%2Fx&g", "http://Shop.test:8/a?q",
    "/x/..;/admin", "/a%252e%5cb/web.config::$DATA", "/a./ok%00.png%20", "/a#b",
)  # fmt: skip
_QUERIES = ("", "f=ok&f=..%2F..%2Fx", "?a=1&b", "a+b=%zz&&=&a%3Db=c", "ok=1&ok=1&a=ok")
_CONTENT_TYPES = (
    "application/json", "application/x-www-form-urlencoded", "", "multipart/form-data; boundary=x",
    "text/X+JSON",
    " Application/X-WWW-Form-URLencoded ; charset=utf-8",
)  # fmt: skip
_BODIES = (
    '{"a": [1, 2.5, null], "ok": true}', {"a": {"b": ["x", 1e30, -0.0, False]}, "": [[], "y"]},
    "no json", "a=1&b=%3C+x&a", '"ok"', "[[[1]]]", "", "&".join(["a=ok"] * 256),
    [[0, {"a": "ok"}]] * 128, [[number] for number in range(200)],
)  # fmt: skip
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/120.0 Safari/537.36",
    "Googlebot/2.1 (+http://www.google.com/bot.html)", "curl/8.5.0", "", "GPTBot", "Amazonbot/0.1",
)  # fmt: skip
_FINDINGS: tuple[dict[str, str | None], ...] = (
    {"proof": "signature", "operator": "OpenAI", "product": "ChatGPT-User", "purpose": "user"},
    {"proof": "dns", "product": "Shopbot"},
    {"signature_problem": "expired", "claims": "https://agent.example"},
    {"claims": "Shopbot", "operator": None}, {},
)  # fmt: skip
_PLACES: tuple[Any, ...] = (
    {"country": "NL", "asn": 64_496, "as_org": "Example"}, {"asn": "0012"}, {"country": "T1"},
    {"country": "", "asn": "", "as_org": None}, {"as_org": ["One", "Two"]}, {}, None,
    {"asn": 4_294_967_296}, {"country": "nl"}, {"city": "Delft"},
)  # fmt: skip
_PUBLISHED = ("66.249.66.1", "2001:4860:4801:10::1", "4.151.71.180")
"""Addresses that operators of agents publish."""
_ADDRESSES = (
    *vocabulary.ADDRESSES, *_PUBLISHED, "::ffff:192.0.2.7", "localhost", "10.0.0.01",
    "fe80::1%eth0",
)  # fmt: skip


def schema(choices: Choices) -> Schema:
    """The field model with a few extra variables, and with named lists."""
    variables = {name: _variable_type(choices) for name in _NAMES if happens(choices, 60)}
    return Schema.default().with_variables(variables).with_lists(vocabulary.LISTS)


def _variable_type(choices: Choices) -> Type:
    kind = pick(choices, _VARIABLE_TYPES)
    match choices.below(4):
        case 2:
            return ListType(kind)
        case 3:
            return MapType(STRING, kind)
        case _:
            return kind


class EventGenerator:
    """Generates events for a schema; ``literals`` are the values worth hitting."""

    def __init__(self, choices: Choices, declared: Schema, literals: Literals) -> None:
        self._choices = choices
        self._literals = literals
        self._variables = {
            name: kind for name, kind in declared.fields.items() if name not in FIELD_MODEL
        }

    def event(self) -> dict[str, Any]:
        """An event as a dict: the shape of a runtime request, and the variables."""
        made = self._some(
            source=self._word,
            observed_at=partial(self._value, TIMESTAMP),
            request=self._request,
            fields=self._fields,
            agent=partial(pick, self._choices, _FINDINGS),
            geo=partial(pick, self._choices, _PLACES),
        )
        for name, kind in self._variables.items():
            if happens(self._choices, 80):
                made[name] = to_python(self._value(kind))
        return made

    def _some(self, **members: Callable[[], Any]) -> dict[str, Any]:
        """Most of the members."""
        return {name: make() for name, make in members.items() if happens(self._choices, 75)}

    def _word(self) -> str:
        known = self._literals.get(STRING)
        if known and happens(self._choices, 50):
            return str(pick(self._choices, known))
        return pick(self._choices, vocabulary.WORDS)

    def _request(self) -> dict[str, Any]:
        return self._some(
            method=partial(pick, self._choices, _METHODS),
            path=self._path,
            query=partial(pick, self._choices, _QUERIES),
            protocol=partial(pick, self._choices, ("HTTP/1.1", "http/2", "HTTP/2.0", "")),
            scheme=partial(pick, self._choices, ("HTTPS", "http", "")),
            host=partial(pick, self._choices, ("Shop.test:443", "shop.test.", "")),
            client_ip=partial(pick, self._choices, _ADDRESSES),
            user_agent=partial(pick, self._choices, _AGENTS),
            content_type=partial(pick, self._choices, _CONTENT_TYPES),
            headers=self._headers,
            query_params=self._texts,
            cookies=self._texts,
            route_params=self._texts,
        )

    def _path(self) -> str:
        return self._word() if happens(self._choices, 30) else pick(self._choices, _PATHS)

    def _headers(self) -> dict[str, Any]:
        names = [pick(self._choices, _HEADERS) for _ in range(self._choices.below(5))]
        return {name: self._word_or_words() for name in names}

    def _texts(self) -> dict[str, Any]:
        return {self._word(): self._word_or_words() for _ in range(self._choices.below(4))}

    def _word_or_words(self) -> str | list[str]:
        if not happens(self._choices, 25):
            return self._word()
        return [self._word() for _ in range(self._choices.below(4))]

    def _fields(self) -> dict[str, Any]:
        made: dict[str, Any] = self._texts()
        if happens(self._choices, 30):
            made["body"] = pick(self._choices, _BODIES)
        return made

    def _value(self, kind: Type) -> Any:
        known = self._literals.get(kind)
        if known and happens(self._choices, 50):
            return pick(self._choices, known)
        match kind:
            case ListType(element=element):
                return [self._value(element) for _ in range(self._choices.below(4))]
            case MapType(value=value):
                keys = sorted({self._word() for _ in range(self._choices.below(4))})
                return Map((key, self._value(value)) for key in keys)
            case _ if kind is DYN:
                return self._value(_variable_type(self._choices))
            case _:
                return vocabulary.scalar(self._choices, kind)


def to_json(event: Mapping[str, Any]) -> bytes | None:
    """The event as JSON bytes, or None if some value has no JSON form."""
    try:
        return orjson.dumps(_plain(event))
    except (TypeError, ValueError):
        return None


def _plain(content: Any) -> Any:
    match content:
        case dict():
            return {name: _plain(part) for name, part in content.items()}
        case list():
            return [_plain(part) for part in content]
        case bytes():
            return base64.b64encode(content).decode()
        case Timestamp():
            return vocabulary.timestamp_text(content)
        case Duration():
            return vocabulary.duration_text(content)
        case bool() | str() | None:
            return content
        case float():
            if not math.isfinite(content):
                raise ValueError("JSON has no such number")
            return content
        case int():
            return int(content)
        case _:
            return str(content)
