"""Warnings about comparisons that hold for no event, because the field never has such a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from tidegate.functions.addresses import parse_address
from tidegate.functions.text import lower, upper, wildcard_parts
from tidegate.language.check.canonical_forms import FORMS, SEGMENT, Form, Pattern
from tidegate.language.check.constants import parse_pattern
from tidegate.language.tree.checked import (
    Call,
    Checked,
    Field,
    Has,
    Index,
    Literal,
    Select,
    list_name,
)
from tidegate.language.tree.diagnostics import Diagnostic, quote
from tidegate.limits import DEFAULT
from tidegate.regex import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidegate.language.tree.ast import Span

Range: TypeAlias = tuple[float, float]

_SEGMENTS = "derived.path_segments"
_PATH_HINT = (
    "a path begins with `/`, has no `//`, `.` or `..` between slashes, and no query: that is"
    " in `request.query_params`; `request.raw_path` is the path as received"
)
_HINTS = {
    "request.path": _PATH_HINT,
    "derived.lenient_path": _PATH_HINT,
    "request.host": "a host has neither a scheme nor a port nor a path",
    "request.client_ip": (
        "an address is in its shortest lower-case spelling, IPv4 where it stands for one; networks"
        " are tested by `inIpRange(request.client_ip, [...])`"
    ),
    "derived.ip_subnet": (
        "a subnet is the /24 or /48 of the address, such as `192.0.2.0/24`; other networks are"
        " tested by `inIpRange(request.client_ip, [...])`"
    ),
    "derived.client_network": (
        "a client's network is its address with /32, or the /64 of IPv6, such as `192.0.2.7/32`"
    ),
    "derived.path_extension": "an extension has no dot, such as `php`",
    "derived.country": "a country has two capital letters, such as `NL`",
    "agent.proof": "a proof is `signature`, `range` or `dns`; else it is `name` or `none`",
    "agent.purpose": (
        "a purpose is `search`, `training`, `user`, `monitoring`, `feed` or `other`, or empty"
    ),
    _SEGMENTS: "a segment is what is between two slashes, never `.` or `..`",
}
_RANGES: dict[str, Range] = {
    "derived.ip_version": (0, 6),
    "derived.asn": (0, 2**32 - 1),
    "entity.event_count": (0, 2**63 - 1),
}
_RANGES_OF_CALLS: dict[str, Range] = {
    "size": (0, 2**63 - 1),
    "getFullYear": (1, 9999),
    "getMonth": (0, 11),
    "getDayOfYear": (0, 365),
    "getDayOfMonth": (0, 30),
    "getDate": (1, 31),
    "getDayOfWeek": (0, 6),
    "getHours": (0, 23),
    "getMinutes": (0, 59),
    "getSeconds": (0, 59),
    "getMilliseconds": (0, 999),
}
_IP_VERSIONS = (0, 4, 6)
_CASED = frozenset(("request.host", "derived.path_extension"))
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_HEADERS = frozenset(
    (
        "accept-charset", "accept-encoding", "accept-language", "cache-control", "cf-connecting-ip",
        "cf-ipcountry", "cf-ray", "content-encoding", "content-length", "content-type",
        "if-match", "if-modified-since", "if-none-match", "if-range", "proxy-authorization",
        "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-fetch-dest", "sec-fetch-mode",
        "sec-fetch-site", "sec-fetch-user", "sec-gpc", "sec-websocket-key", "set-cookie",
        "transfer-encoding", "true-client-ip", "upgrade-insecure-requests", "user-agent",
        "x-api-key", "x-csrf-token", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port",
        "x-forwarded-proto", "x-real-ip", "x-request-id", "x-requested-with",
    )
)  # fmt: skip


@attrs.frozen
class _Subject:
    """A field, or a part of one, in a comparison.

    Attributes:
        name: the field's name.
        form: the form of its texts.
        case: the case of its letters, if `wrong-letter-case` warns about the other one.
    """

    name: str
    form: Form
    case: str | None


def impossible_text(node: Call) -> Iterator[Diagnostic]:
    """``request.path.contains("/../")``, ``request.client_ip == "192.0.2.0/24"``."""
    if len(node.arguments) != 2 or list_name(node) is not None:
        return
    left, right = node.arguments
    if node.function in ("==", "!=") and type(left) is Literal:
        left, right = right, left
    if _is_segment_test(node):
        left, right = right, left
    subject = _segment if _is_segment_test(node) else _subject_of(left)
    patterns = _PATTERNS.get(node.function)
    if subject is None or patterns is None or type(right) is not Literal:
        return
    values = right.value if isinstance(right.value, list) else [right.value]
    texts = [each for each in values if isinstance(each, str)]
    if not texts or len(texts) < len(values):
        return
    impossible = [text for text in texts if not _is_possible(subject, patterns(text))]
    if len(impossible) == len(texts):
        yield _never(node, right.span, subject.name, impossible[0], _hint(subject, impossible[0]))
        return
    for text in impossible:
        message = f"`{subject.name}` never matches {quote(text)}"
        yield Diagnostic("useless-entry", message, right.span, "warning", _hint(subject, text))


def _hint(subject: _Subject, text: str) -> str:
    address = parse_address(text, dotted_ipv6=True)
    if subject.name == "request.client_ip" and address is not None:
        return f"write `{address}`"
    if subject.name == "derived.country" and subject.form.may_be(upper(text)):
        return f"write `{upper(text)}`"
    return _HINTS[subject.name]


_segment = _Subject(_SEGMENTS, SEGMENT, None)


def _is_segment_test(node: Call) -> bool:
    members = node.arguments[1] if node.function == "in" else None
    return type(members) is Field and members.name == _SEGMENTS


def _subject_of(node: Checked, case: str | None = None) -> _Subject | None:
    match node:
        case Field(name=name) if name in FORMS:
            form = FORMS[name]
            # In the other letter case the form would be a different one.
            fits = case is None or form.case in (None, case)
            return _Subject(name, form, form.case if name in _CASED else case) if fits else None
        case Index(operand=Field(name=name)) if name == _SEGMENTS:
            return _Subject(name, SEGMENT, case)
        case Call(function="lower" | "lowerAscii", arguments=(inner,)):
            return _subject_of(inner, "lower") if case is None else None
        case Call(function="upper" | "upperAscii", arguments=(inner,)):
            return _subject_of(inner, "upper") if case is None else None
        case _:
            return None


def _is_possible(subject: _Subject, patterns: list[Pattern]) -> bool:
    """Whether a text of one of the patterns can occur."""
    return any(_may_match(subject, pattern) for pattern in patterns)


def _may_match(subject: _Subject, pattern: Pattern) -> bool:
    mended = _in_case(pattern, subject.case)
    match mended:
        case [str(text)]:
            return subject.form.may_be(text)
        case _:
            return subject.form.may_match(mended)


def _in_case(pattern: Pattern, case: str | None) -> Pattern:
    if case is None:
        return pattern
    change = lower if case == "lower" else upper
    return [None if part is None else change(part) for part in pattern]


def _like(text: str) -> list[Pattern]:
    first, *others = wildcard_parts(text)
    pattern: list[str | None] = [first]
    for part in others:
        pattern += [None, part]
    return [pattern]


def _ilike(text: str) -> list[Pattern]:
    (pattern,) = _like(text)
    return [_in_case(pattern, case) for case in ("lower", "upper")]


def _matches(text: str) -> list[Pattern]:
    """The texts that a pattern equivalent to a plain test accepts; any text for other patterns."""
    known = shape(parse_pattern(text, DEFAULT))
    if known.literal_test is None:
        return [[None]]
    before = [] if known.literal_test in ("equal", "prefix") else [None]
    after = [] if known.literal_test in ("equal", "suffix") else [None]
    return [[*before, known.literal, *after]]


_PATTERNS: dict[str, Callable[[str], list[Pattern]]] = {
    **dict.fromkeys(("==", "!=", "in"), lambda text: [[text]]),
    **dict.fromkeys(("contains", "containsAny"), lambda text: [[None, text, None]]),
    **dict.fromkeys(("startsWith", "startsWithAny"), lambda text: [[text, None]]),
    **dict.fromkeys(("endsWith", "endsWithAny"), lambda text: [[None, text]]),
    **dict.fromkeys(("matches", "matchesAny"), _matches),
    "like": _like,
    "ilike": _ilike,
}


def impossible_number(node: Call) -> Iterator[Diagnostic]:
    """``derived.ip_version == 5``, ``observed_at.getHours() > 23``, ``size(x) == -1``."""
    if len(node.arguments) != 2:
        return
    left, right = node.arguments
    operator = node.function
    if type(left) is Literal and operator in _MIRRORED:
        left, right, operator = right, left, _MIRRORED[operator]
    known = _range_of(left)
    if known is None or type(right) is not Literal:
        return
    name, bounds = known
    values = right.value if operator == "in" else [right.value]
    if not isinstance(values, list) or not values:
        return
    if not all(isinstance(each, (int, float)) and each == each for each in values):
        return
    if name == "size" and node.function == "<" and values == [0]:
        return  # always-false reports it
    if any(_can_hold(operator, name, bounds, value) for value in values):
        return
    low, high = (f"{bound:,.0f}" for bound in bounds)
    hint = "it is 0, 4 or 6" if name == "derived.ip_version" else f"it is from {low} to {high}"
    yield _never(node, right.span, name, str(values[0]), hint)


def _range_of(node: Checked) -> tuple[str, Range] | None:
    match node:
        case Field(name=name) if name in _RANGES:
            return name, _RANGES[name]
        case Call(function=name) if name in _RANGES_OF_CALLS:
            return name, _RANGES_OF_CALLS[name]
        case _:
            return None


def _can_hold(operator: str, name: str, bounds: Range, value: float) -> bool:
    low, high = bounds
    match operator:
        case "==" | "!=" | "in" if name == "derived.ip_version":
            return value in _IP_VERSIONS
        case "==" | "!=" | "in":
            return low <= value <= high and value == int(value)
        case "<":
            return low < value
        case "<=":
            return low <= value
        case ">":
            return high > value
        case ">=":
            return high >= value
        case _:
            return True


def _never(node: Call, span: Span, name: str, value: str, hint: str) -> Diagnostic:
    if node.function == "!=":
        message = f"`{name}` is never {quote(value)}, so this always holds"
        return Diagnostic("always-true", message, span, "warning", hint)
    message = f"`{name}` never matches {quote(value)}, so this never holds"
    return Diagnostic("never-true", message, span, "warning", hint)


def header_with_underscore(node: Select | Has | Index) -> Iterator[Diagnostic]:
    """``request.headers.user_agent``: the name has a hyphen, and servers drop others."""
    match node:
        case Select(operand=Field(name="request.headers"), field=name):
            yield from _header(name, node.span)
        case Has(operand=Field(name="request.headers"), field=name):
            yield from _header(name, node.span)
        case Index(operand=Field(name="request.headers"), index=Literal(value=str(name))):
            yield from _header(name, node.span)
        case _:
            return


def header_in_headers(node: Call) -> Iterator[Diagnostic]:
    """``"user_agent" in request.headers``."""
    match node:
        case Call(
            function="in", arguments=(Literal(value=str(name)), Field(name="request.headers"))
        ):
            yield from _header(name, node.span)
        case _:
            return


def _header(name: str, span: Span) -> Iterator[Diagnostic]:
    meant = name.replace("_", "-")
    if "_" in name and meant in _HEADERS:
        message = f"no request has a header {quote(name)}, so this never holds"
        hint = f'write `request.headers["{meant}"]`'
        yield Diagnostic("never-true", message, span, "warning", hint)
