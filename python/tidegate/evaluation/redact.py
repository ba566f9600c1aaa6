"""Redaction of events that are stored or shown; the native redactor must match it.

See docs/fields.md, "What is kept of an event".
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import EventError
from tidegate.evaluation.event import EVENT_TEXTS
from tidegate.evaluation.json_text import Node, read_json
from tidegate.evaluation.secrets.names import ROUNDS, Kind, Names, decoded_name, is_secret_of
from tidegate.evaluation.secrets.values import is_card, spans
from tidegate.event_form import (
    MEMBERS_OF_AGENT,
    MEMBERS_OF_GEO,
    REQUEST_MAPS,
    REQUEST_TEXTS,
)
from tidegate.functions.text import lower, percent_decoded
from tidegate.limits import DEFAULT
from tidegate.values import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_HASHES = 64
"""Most hashes in one text; a text with more secrets is hashed as a whole."""
_SHOWN = 32
_HASH = "hmac:"
_REDACTED = re.compile(_HASH + "[0-9a-f]{32}")
_KNOWN = {
    "event": {*EVENT_TEXTS, "observed_at", "request", "fields", "agent", "geo"},
    "request": {*REQUEST_TEXTS, *REQUEST_MAPS},
    "agent": {*MEMBERS_OF_AGENT},
    "geo": {*MEMBERS_OF_GEO},
}
_PLACES = {"request", "headers", "cookies", "fields", "query_params", "link", "search"}
_PLACES |= {"agent", "geo"}
_HAVE_NAMES = {"request", "fields", *REQUEST_MAPS}
"""Known members whose own members have arbitrary names."""
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
"""The part before the ``@`` of an authority. A canonical path keeps one of two slashes; after a
single slash, the part must have a user and a password."""
_NAME_STOPS = " \t\n\r\"'`,(){}<>|/\\:="
_LABELS = {"name", "key", "field", "param", "parameter", "header", "variable", "property"}
_LABELS |= {"attribute", "type", "id", "k", "n"}
_VALUES = {"value", "values", "val", "v", "content", "contents", "text", "data", "input"}
"""Members that name a value, and members that contain it: ``{"name": "password", "value": "x"}``.
"""
_LONGEST_LABEL = 64
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:[ \t]*\$([A-Za-z_][A-Za-z0-9_]*)")
"""A GraphQL variable and the argument it is passed as."""
_IN_MARKUP = re.compile(
    r"<[/?!]?([^ \t\n\r<>/?!\"'=]{1,64})"
    r"|=[ \t\n\r]*[\"']([^\"'<>]{1,64})[\"']"
    r"|>[ \t\n\r]*([^<>]{1,64})</"
)
"""Names in XML and HTML: of elements, in attributes, between tags."""
_CELLS = re.compile("[,;\t|]")


@attrs.frozen
class Kept:
    """The parts of a value that may be stored in clear.

    Attributes:
        is_whole: whether all of it may be.
        members: otherwise those that may be in part, by name.
    """

    is_whole: bool = False
    members: dict[str, Kept] = attrs.field(factory=dict)

    @classmethod
    def of(cls, paths: Iterable[Sequence[str]]) -> Kept:
        """The members at some paths, each with everything inside it."""
        below: dict[str, list[Sequence[str]]] = {}
        for path in paths:
            if not path:
                return WHOLE
            below.setdefault(path[0], []).append(path[1:])
        return cls(members={name: cls.of(rest) for name, rest in below.items()})

    def has(self, path: Sequence[str]) -> bool:
        """Whether all of a member may be stored."""
        if self.is_whole or not path:
            return self.is_whole
        member = self.members.get(path[0])
        return member is not None and member.has(path[1:])


WHOLE = Kept(is_whole=True)
_NOTHING = Kept()


class Redactor:
    """Replaces secrets by hashes that only the holder of the key can compute.

    Args:
        patterns: names of members with secrets; ``*`` matches any text, ASCII letters match in
            either case, ``-``, ``_``, ``.``, ``+`` and spaces are ignored. A pattern after ``!``
            names members without secrets.
        key: key of the hashes.
        read: paths of event members. Of members with author-chosen names only these are stored, if
            they aren't secrets. None stores all.
    """

    def __init__(
        self, patterns: Iterable[str], key: bytes, read: Iterable[Sequence[str]] | None = None
    ) -> None:
        self._names = Names(patterns)
        self._key = key
        self._kept = WHOLE if read is None else Kept.of(read)

    def redact(self, body: bytes) -> bytes:
        """The event without its secrets, as compact JSON.

        Raises:
            EventError: the body isn't a strict JSON object within the limits of an event.
        """
        if len(body) > DEFAULT.event_bytes:
            longest = DEFAULT.event_bytes
            raise EventError(
                f"the event is longer than {longest} bytes", offset=longest, is_unreadable=True
            )
        event = read_json(body)
        if event.kind != "object":
            raise EventError("the event must be an object", offset=event.offset)
        return _written(self._value("", event, "event", ROUNDS, self._kept)).encode()

    def link(self, text: str) -> str:
        """A path or URL without its secrets."""
        return self._text("", text, "link", ROUNDS)

    def text(self, name: str, text: str) -> str:
        """A text under a non-secret name, without the secrets in it."""
        return self._text(name, text, "text", ROUNDS)

    def secret(self, name: str, text: str) -> str:
        """The hash that replaces a secret; a value that is already such a hash stays as it is."""
        if _REDACTED.fullmatch(text):
            return text
        decoded = decoded_name(name)
        named = lower(name if decoded is None else decoded).encode()
        message = f"{len(named)}:".encode() + named + text.encode()
        return _HASH + hmac.new(self._key, message, hashlib.sha256).hexdigest()[:_SHOWN]

    def _value(self, name: str, node: Node, place: str, rounds: int, kept: Kept = WHOLE) -> Node:
        """The value of a member without its secrets.

        ``place`` is ``event``, ``request``, ``headers``, ``query_params``, ``cookies``, ``fields``,
        ``body``, ``link`` (a text with a query), ``search`` (a query), or ``text``, where members
        have arbitrary names. ``kept`` are the parts of the value that may be stored.
        """
        match node.kind:
            case "array":
                return self._array(name, node, place, rounds, kept)
            case "object":
                return self._object(node, place, rounds, kept)
            case "string" if kept.is_whole or place == "body":
                text = self._text(name, node.content, place, rounds, kept)
                return attrs.evolve(node, content=text)
            case _ if not kept.is_whole:
                return self._hidden(name, node)
            case "number":
                if self._is_secret_value(name, node.content, place) or (
                    is_card(node.content) and not self._names.is_clear(name)
                ):
                    return self._hidden(name, node)
        return node

    def _hidden(self, name: str, node: Node) -> Node:
        """The hash of a value; null stays."""
        return node if node.kind == "null" else Node("string", self.secret(name, _text(node)))

    def _array(self, name: str, node: Node, place: str, rounds: int, kept: Kept) -> Node:
        """The elements without their secrets. A nested array may be a name and its values."""
        elements = []
        for each in node.content:
            made = self._value(name, each, place, rounds, kept)
            if each.kind == "array" and each.content and self._is_label(each.content[0]):
                label, *values = each.content
                hidden = [self._hidden(label.content, one) for one in values]
                made = attrs.evolve(made, content=[made.content[0], *hidden])
            elements.append(made)
        return attrs.evolve(node, content=elements)

    def _object(
        self,
        node: Node,
        place: str,
        rounds: int,
        kept: Kept,
        secret: frozenset[str] = frozenset(),
    ) -> Node:
        """The members without their secrets; ``secret`` has names that are secret here."""
        members = node.content
        hidden = secret | self._marked(members)
        content = {}
        for name, value in members.items():
            part = self._kept_of(name, place, kept)
            if name in hidden or part is None:
                content[name] = self._hidden(name, value)
            elif name == "variables" and value.kind == "object" and self._is_text(name, place):
                arguments = self._arguments(members)
                content[name] = self._object(value, "text", rounds, part, arguments)
            else:
                content[name] = self._member(name, value, place, rounds, part)
        return attrs.evolve(node, content=content)

    def _kept_of(self, name: str, place: str, kept: Kept) -> Kept | None:
        """The parts of a member that may be stored; None if it is one secret as a whole."""
        if kept.is_whole:
            return WHOLE
        if name in _KNOWN.get(place, ()):
            has_names = name in _HAVE_NAMES
            return kept.members.get(name, _NOTHING) if has_names else WHOLE
        found = kept.members.get(lower(name) if place == "headers" else name)
        return WHOLE if found is None and self._names.is_clear(name) else found

    def _is_label(self, node: Node) -> bool:
        """Whether a text is just the name of a secret."""
        return node.kind == "string" and self._is_name(node.content)

    def _is_name(self, text: str) -> bool:
        if _HASH in text:
            return False
        is_short = utf8_length(text) <= _LONGEST_LABEL and text.count(" ") <= 2
        return is_short and self._names.kind_of_word(text) is Kind.ALL

    def _marked(self, members: Mapping[str, Node]) -> frozenset[str]:
        """The members that another member marks as secrets."""
        values = [each for each in members if _short(each) in _VALUES]
        is_named = values and any(
            _short(each) in _LABELS and self._is_label(node) for each, node in members.items()
        )
        return frozenset(values) if is_named else frozenset()

    def _arguments(self, members: Mapping[str, Node]) -> frozenset[str]:
        """The variables that a GraphQL query passes as secret arguments."""
        query = members.get("query")
        if query is None or query.kind != "string":
            return frozenset()
        found = _VARIABLE.findall(query.content)
        return frozenset(each for argument, each in found if self._is_name(argument))

    def _is_text(self, name: str, place: str) -> bool:
        return name not in _KNOWN.get(place, ()) and not self._holds_secret(name, place)

    def _member(self, name: str, node: Node, place: str, rounds: int, kept: Kept) -> Node:
        if name in _KNOWN.get(place, ()):
            is_link = (place, name) in _LINKS
            is_search = (place, name) == ("request", "query")
            inner = "link" if is_link else "search" if is_search else name
            return self._value(name, node, inner if inner in _PLACES else "text", rounds, kept)
        if self._holds_secret(name, place):
            return self._hidden(name, node)
        is_link = place == "headers" and lower(name) == "referer"
        is_body = (place, name) == ("fields", "body")
        is_query = place == "query_params"
        inner = "link" if is_link else "body" if is_body else "query" if is_query else "text"
        return self._value(name, node, inner, rounds, kept)

    def _holds_secret(self, name: str, place: str) -> bool:
        """Cookies are secrets whatever their names, except those that the tenant wants in clear."""
        if place == "cookies":
            return not self._names.is_clear(name)
        is_cookie_header = place == "headers" and lower(name) in _COOKIE_HEADERS
        return is_cookie_header or self._names.is_secret(name)

    # --- texts ----------------------------------------------------------------------------

    def _text(self, name: str, text: str, place: str, rounds: int, kept: Kept = WHOLE) -> str:
        """The text of a member with a non-secret name, without its secrets."""
        if _REDACTED.fullmatch(text):
            return text
        if self._is_secret_value(name, text, place):
            return self.secret(name, text)
        redacted = self._searched(name, text, place, rounds, kept)
        if redacted is None or (
            redacted != text and utf8_length(redacted) > DEFAULT.event_string_bytes
        ):
            return self.secret(name, text)
        return redacted

    def _is_secret_value(self, name: str, text: str, place: str) -> bool:
        """Whether a value is a secret under a name with other values that aren't."""
        kind = self._names.kind(name)
        return kind is not Kind.ALL and is_secret_of(kind, text, is_queried=place == "query")

    def _searched(
        self, name: str, text: str, place: str, rounds: int, kept: Kept = WHOLE
    ) -> str | None:
        """The text with a hash for each secret in it; None if it is one secret as a whole."""
        start = text.lstrip(_BYTE_ORDER_MARK + _SPACE)
        if _begins_as_json(start, place):
            return self._json(text, rounds, kept)
        if not kept.is_whole:
            return None
        if place == "body" and start.startswith(("<", "--")):
            return None
        if "content-disposition:" in lower(text) or self._is_markup(text) or self._is_table(text):
            return None
        return self._pairs(name, text, place, rounds)

    def _is_markup(self, text: str) -> bool:
        """Whether a text has XML or HTML with a secret's name in it."""
        return "<" in text and any(
            self._is_name(found[1] or found[2] or found[3]) for found in _IN_MARKUP.finditer(text)
        )

    def _is_table(self, text: str) -> bool:
        """Whether the first of several lines has column names, one of them a secret's."""
        head, newline, rest = text.partition("\n")
        if not newline or not rest.strip(_SPACE) or "=" in head or ":" in head:
            return False
        cells = _CELLS.split(head)
        return any(
            self._is_name(cell) and (len(cells) > 1 or " " not in cell)
            for cell in (each.strip(_SPACE + "\"'`") for each in cells)
        )

    def _json(self, text: str, rounds: int, kept: Kept = WHOLE) -> str | None:
        try:
            node = read_json(text.encode()) if rounds else None
        except EventError:
            return None
        if node is None:
            return None
        redacted = self._value("", node, "text", rounds - 1, kept)
        return text if redacted == node else _written(redacted)

    def _pairs(self, name: str, text: str, place: str, rounds: int) -> str | None:
        """Names and values as in a query, without the secret values.

        In a link the part before the first delimiter isn't a pair.
        """
        text, count = self._without_values(name, text)
        text, more = _USERINFO.subn(self._userinfo, text, MAX_HASHES + 1)
        count += more
        pieces = _DELIMITER.split(text)
        for number in range(0, len(pieces), 2):
            is_pair = number > 0 or place != "link"
            is_of_query = is_pair and place in {"link", "search"}
            if is_of_query and not self._is_kept_in_link(pieces[number]):
                made = self._unread(name, pieces[number])
            else:
                made = self._piece(name, pieces[number], is_pair, rounds)
            count += made != pieces[number]
            pieces[number] = made
            if count > MAX_HASHES:
                return None
        return "".join(pieces)

    def _without_values(self, name: str, text: str) -> tuple[str, int]:
        """The text with a hash for each value recognised by its form, and their number."""
        found = spans(text)
        if not found or self._names.is_clear(name):
            return text, 0
        parts, at = [], 0
        for start, end in found:
            parts += [text[at:start], self.secret(name, text[start:end])]
            at = end
        return "".join([*parts, text[at:]]), len(found)

    def _userinfo(self, found: re.Match[str]) -> str:
        slashes = found["slashes"] or found["slash"]
        return f"{slashes}{self.secret('userinfo', found['any'] or found['pair'])}@"

    def _is_kept_in_link(self, piece: str) -> bool:
        """Whether a part of a query may be stored: the parameter is read, or all are stored."""
        if self._kept.is_whole or not piece:
            return True
        label = decoded_name(piece.partition("=")[0])
        if label is None:
            return False
        path = ("request", "query_params", label)
        return self._kept.has(path) or self._names.is_clear(label)

    def _unread(self, name: str, piece: str) -> str:
        """A part of a query with its value hashed; all of it if it has no name."""
        label, equals, value = piece.partition("=")
        return f"{label}={self.secret(label, value)}" if equals else self.secret(name, piece)

    def _piece(self, name: str, piece: str, is_pair: bool, rounds: int) -> str:
        """The text between two delimiters, without its secret."""
        label, equals, value = piece.partition("=")
        if is_pair and equals:
            if self._names.holds_secret(label, value, is_queried=True):
                return f"{label}={self.secret(label, value)}"
            name = label
        else:
            equals, value = "", piece
        if is_pair:
            found = self._named_inside(piece)
            if found is not None:
                at, word = found
                return piece[:at] + self.secret(word, piece[at:])
        if self._is_hidden_in(value, "text" if is_pair else "link", rounds):
            return f"{label}={self.secret(name, value)}" if equals else self.secret(name, value)
        return piece

    def _named_inside(self, piece: str) -> tuple[int, str] | None:
        """The start of a value after a secret name and a separator, and the name."""
        before = space = 0
        for at, character in enumerate(piece):
            if character in "=:":
                word, before = _last_word(piece[before:at]), at + 1
            elif character not in " \t":
                continue
            elif piece.startswith("--", space):
                word = piece[space:at]
            elif piece[at + 1 : at + 2] in ("'", '"'):
                word, before = _last_word(piece[before:at]), at
            else:
                space = at + 1
                continue
            if character in " \t":
                space = at + 1
            if not word or _REDACTED.match(piece, at + 1 - len(_HASH)):
                continue
            value = piece[at + 1 :].strip(_SPACE + "\"'`")
            is_queried = character == "="
            kind = self._names.kind(word) if is_queried else self._names.kind_of_word(word)
            if value and (kind is Kind.ALL or is_secret_of(kind, value, is_queried=is_queried)):
                return at + 1, word
        return None

    def _is_hidden_in(self, value: str, place: str, rounds: int) -> bool:
        """Whether a value contains a secret once it is parsed as JSON, or decoded."""
        if _begins_as_json(value.lstrip(_BYTE_ORDER_MARK + _SPACE), "text"):
            return self._json(value, rounds) != value
        decoded = percent_decoded(value)
        if decoded == value:
            return False
        return not rounds or self._searched("", decoded, place, rounds - 1) != decoded


def _begins_as_json(start: str, place: str) -> bool:
    """Whether a text begins as a JSON object or array, after spaces.

    A bracket alone also begins texts that aren't bodies: ``[2001:db8::1]``.
    """
    if not start.startswith("["):
        return start.startswith("{")
    return place == "body" or start[1:].lstrip(_SPACE).startswith(("{", '"', "["))


def _short(name: str) -> str:
    """The letters of a name, in lower case."""
    return lower("".join(each for each in name if each.isascii() and each.isalpha()))


def _last_word(text: str) -> str:
    """The name at the end of the text before a separator."""
    end = len(text.rstrip(_SPACE + "\"'`\\]"))
    start = max(text.rfind(stop, 0, end) for stop in _NAME_STOPS) + 1
    return text[start:end]


def _text(node: Node) -> str:
    return str(node.content) if node.kind == "string" else _written(node)


def _written(node: Node) -> str:
    """The JSON text of a value: no blanks, minimal escaping, numbers as received."""
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
