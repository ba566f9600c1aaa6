"""Redaction of events that are kept or shown: the definition of the native redactor
(docs/fields.md, "What is kept of an event")."""

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
from tidegate.functions.text import lower, percent_decoded
from tidegate.limits import DEFAULT
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable

ROUNDS = 4
"""How often a text may be decoded, or read as JSON inside JSON; past that it is a secret."""
MAX_HASHES = 64
"""Hashes in one text; a text with more secrets is one secret as a whole."""
PROOFS = "service_challenge*"
"""The names of proofs of challenges, whose tokens are secrets of the service."""
_SHOWN = 32
_REDACTED = re.compile("hmac:[0-9a-f]{32}")
_KNOWN = {
    "event": {*EVENT_TEXTS, "observed_at", "request", "fields"},
    "request": {*REQUEST_TEXTS, *REQUEST_MAPS},
}
_PLACES = {"request", "headers", "cookies", "fields"}
_LINKS = {("event", "return_url"), ("request", "path"), ("request", "referer")}
_COOKIE_HEADERS = {"cookie", "set-cookie"}
_DELIMITER = re.compile("([?#&;])")
_SPACE = " \t\n\r"
_BYTE_ORDER_MARK = "\ufeff"
_END = r"""/\\?#"<> \t\n\r\x0b\x0c"""
_USERINFO = re.compile(
    rf"(?P<slashes>[/\\]{{2}})(?P<any>[^{_END}]+)@"
    rf"|(?P<slash>[/\\])(?P<pair>[^{_END}:@]*:[^{_END}]*)@"
)
"""The part before the ``@`` of an authority. A canonical path keeps one slash of two; after one
slash, the part must have a user and a password."""
_UNCOUNTED = str.maketrans("", "", "-_.+ ")
"""Characters that do not count in a name: ``X-Api-Key`` is ``api_key`` with an ``x``."""
_NAME_PARTS = re.compile(r"[.\[\]]")
_NAME_STOPS = " \t\n\r\"'`,(){}<>|/\\:="


class Names:
    """Patterns of names; one that begins with ``!`` names values that are not secret."""

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = list(patterns)
        self._secret = _parts([PROOFS, *(each for each in texts if not each.startswith("!"))])
        self._clear = _parts(each[1:] for each in texts if each.startswith("!"))
        self._always = _parts([PROOFS])

    def is_secret(self, name: str) -> bool:
        """Whether a value of this name is a secret; the name may be percent-encoded."""
        decoded = decoded_name(name)
        if decoded is None:
            return True
        parts = [decoded, *filter(None, _NAME_PARTS.split(decoded))]
        return any(_matches(self._secret, part) for part in parts) and not self.is_clear(decoded)

    def is_clear(self, name: str) -> bool:
        """Whether the tenant asked for values of this name in clear text."""
        return _matches(self._clear, name) and not _matches(self._always, name)


class Redactor:
    """Replaces secrets by hashes that only the holder of the key can make.

    Args:
        patterns: names of members that hold secrets; ``*`` stands for any run, ASCII
            letters match in either case, ``-``, ``_``, ``.``, ``+`` and spaces do not count.
            A pattern after ``!`` names members that hold none.
        key: what the hashes are made with.
    """

    def __init__(self, patterns: Iterable[str], key: bytes) -> None:
        self._names = Names(patterns)
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
        return _written(self._value("", event, "event", ROUNDS)).encode()

    def link(self, text: str) -> str:
        """A path or URL without its secrets."""
        return self._text("", text, "link", ROUNDS)

    def text(self, name: str, text: str) -> str:
        """A text that stood under a name which is no secret, without its secrets."""
        return self._text(name, text, "text", ROUNDS)

    def secret(self, name: str, text: str) -> str:
        """The hash that replaces a secret; a value that is such a hash already stays as it is."""
        if _REDACTED.fullmatch(text):
            return text
        decoded = decoded_name(name)
        named = lower(name if decoded is None else decoded).encode()
        message = f"{len(named)}:".encode() + named + text.encode()
        return "hmac:" + hmac.new(self._key, message, hashlib.sha256).hexdigest()[:_SHOWN]

    def _value(self, name: str, node: Node, place: str, rounds: int) -> Node:
        """The value of a member without its secrets.

        ``place`` is ``event``, ``request``, ``headers``, ``cookies``, ``fields``, ``body``,
        ``link`` (a text with a query), or ``text``, where members have names of their own.
        """
        match node.kind:
            case "array":
                elements = [self._value(name, each, place, rounds) for each in node.content]
                return attrs.evolve(node, content=elements)
            case "object":
                members = node.content.items()
                return attrs.evolve(
                    node,
                    content={
                        each: self._member(each, value, place, rounds) for each, value in members
                    },
                )
            case "string":
                return attrs.evolve(node, content=self._text(name, node.content, place, rounds))
        return node

    def _member(self, name: str, node: Node, place: str, rounds: int) -> Node:
        if name in _KNOWN.get(place, ()):
            is_link = (place, name) in _LINKS
            return self._value(
                name, node, "link" if is_link else name if name in _PLACES else "text", rounds
            )
        if self._holds_secret(name, place):
            return node if node.kind == "null" else Node("string", self.secret(name, _text(node)))
        is_link = place == "headers" and lower(name) == "referer"
        is_body = (place, name) == ("fields", "body")
        return self._value(name, node, "link" if is_link else "body" if is_body else "text", rounds)

    def _holds_secret(self, name: str, place: str) -> bool:
        """Cookies are secrets whatever their names, except those that the tenant wants in clear."""
        if place == "cookies":
            return not self._names.is_clear(name)
        is_cookie_header = place == "headers" and lower(name) in _COOKIE_HEADERS
        return is_cookie_header or self._names.is_secret(name)

    # --- texts ----------------------------------------------------------------------------

    def _text(self, name: str, text: str, place: str, rounds: int) -> str:
        """A text of a member whose name is no secret, without its secrets."""
        if _REDACTED.fullmatch(text):
            return text
        redacted = self._searched(name, text, place, rounds)
        if redacted is None or (
            redacted != text and utf8_length(redacted) > DEFAULT.event_string_bytes
        ):
            return self.secret(name, text)
        return redacted

    def _searched(self, name: str, text: str, place: str, rounds: int) -> str | None:
        """The text with a hash for each secret in it; None when it is one secret as a whole."""
        start = text.lstrip(_BYTE_ORDER_MARK + _SPACE)
        if _begins_as_json(start, place):
            return self._json(text, rounds)
        if place == "body" and _has_parts(start, text):
            return None
        return self._pairs(name, text, place, rounds)

    def _json(self, text: str, rounds: int) -> str | None:
        try:
            node = read_json(text.encode()) if rounds else None
        except EventError:
            return None
        if node is None:
            return None
        redacted = self._value("", node, "text", rounds - 1)
        return text if redacted == node else _written(redacted)

    def _pairs(self, name: str, text: str, place: str, rounds: int) -> str | None:
        """Names and values as in a query, without the secret values.

        In a link the part before the first delimiter is no pair.
        """
        text, count = _USERINFO.subn(self._userinfo, text, MAX_HASHES + 1)
        pieces = _DELIMITER.split(text)
        for number in range(0, len(pieces), 2):
            is_pair = number > 0 or place != "link"
            made = self._piece(name, pieces[number], place, is_pair, rounds)
            count += made != pieces[number]
            pieces[number] = made
            if count > MAX_HASHES:
                return None
        return "".join(pieces)

    def _userinfo(self, found: re.Match[str]) -> str:
        slashes = found["slashes"] or found["slash"]
        return f"{slashes}{self.secret('userinfo', found['any'] or found['pair'])}@"

    def _piece(self, name: str, piece: str, place: str, is_pair: bool, rounds: int) -> str:
        """The text between two delimiters, without its secret."""
        label, equals, value = piece.partition("=")
        if is_pair and equals:
            if self._names.is_secret(label):
                return f"{label}={self.secret(label, value)}"
            name = label
        else:
            equals, value = "", piece
        if is_pair:
            found = self._named_inside(piece, "=:" if place == "body" else "=")
            if found is not None:
                at, word = found
                return piece[:at] + self.secret(word, piece[at:])
        if self._is_hidden_in(value, "text" if is_pair else "link", rounds):
            return f"{label}={self.secret(name, value)}" if equals else self.secret(name, value)
        return piece

    def _named_inside(self, piece: str, separators: str) -> tuple[int, str] | None:
        """The start of a value after a secret name and a separator, and the name."""
        before = 0
        for at, character in enumerate(piece):
            if character in separators:
                word = _last_word(piece[before:at])
                before = at + 1
                if word and self._names.is_secret(word):
                    return before, word
        return None

    def _is_hidden_in(self, value: str, place: str, rounds: int) -> bool:
        """Whether a value has a secret when it is read as JSON, or decoded."""
        if _begins_as_json(value.lstrip(_BYTE_ORDER_MARK + _SPACE), "text"):
            return self._json(value, rounds) != value
        decoded = percent_decoded(value)
        if decoded == value:
            return False
        return not rounds or self._searched("", decoded, place, rounds - 1) != decoded


def decoded_name(name: str) -> str | None:
    """A name without percent-encoding; None when it is encoded more often than is decoded."""
    for _ in range(ROUNDS):
        decoded = percent_decoded(name)
        if decoded == name:
            return name
        name = decoded
    return name if percent_decoded(name) == name else None


def _parts(patterns: Iterable[str]) -> list[list[str]]:
    """For each pattern, the texts between its stars."""
    return [_plain(each).split("*") for each in patterns]


def _matches(patterns: list[list[str]], name: str) -> bool:
    plain = _plain(name)
    return any(_fits(parts, plain) for parts in patterns)


def _fits(parts: list[str], name: str) -> bool:
    """Whether a name is these parts with any runs between them."""
    if len(parts) == 1:
        return name == parts[0]
    first, *middle, last = parts
    end = len(name) - len(last)
    if end < len(first) or not (name.startswith(first) and name.endswith(last)):
        return False
    at = len(first)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _plain(name: str) -> str:
    """A name as it is compared."""
    return lower(name).translate(_UNCOUNTED)


def _begins_as_json(start: str, place: str) -> bool:
    """Whether a text, after space, begins as a JSON object or array.

    A bracket alone also begins other texts than bodies: ``[2001:db8::1]``.
    """
    if not start.startswith("["):
        return start.startswith("{")
    return place == "body" or start[1:].lstrip(_SPACE).startswith(("{", '"', "["))


def _has_parts(start: str, text: str) -> bool:
    """Whether a body begins as XML or HTML, or is made of MIME parts."""
    return start.startswith(("<", "--")) or "content-disposition:" in lower(text)


def _last_word(text: str) -> str:
    """The name that a text before a separator ends in."""
    end = len(text.rstrip(_SPACE + "\"'`"))
    start = max(text.rfind(stop, 0, end) for stop in _NAME_STOPS) + 1
    return text[start:end]


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
