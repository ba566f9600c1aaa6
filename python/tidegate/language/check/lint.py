"""Warnings about expressions that are valid but probably unintended.  One function for each.

``warnings_of`` runs over every checked expression; ``key_warnings`` is for the expressions of an
entity's key, and its callers know which those are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.language.check.constants import parse_pattern
from tidegate.language.check.never_true import (
    header_in_headers,
    header_with_underscore,
    impossible_number,
    impossible_text,
)
from tidegate.language.check.repeats import evadable
from tidegate.language.tree.checked import (
    And,
    Call,
    Checked,
    Conditional,
    Field,
    Has,
    Index,
    Literal,
    Or,
    Select,
    list_name,
)
from tidegate.language.tree.diagnostics import Diagnostic, quote
from tidegate.language.tree.walk import walk
from tidegate.limits import DEFAULT
from tidegate.regex import Shape, shape
from tidegate.types import BOOL, Type
from tidegate.values import equal, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tidegate.language.tree.ast import Span

_PATTERN_TESTS = frozenset(("matches", "matchesAny"))
_TEXT_TESTS = frozenset(("==", "!=", "contains", "startsWith", "endsWith", "in", "containsAny",
                         "startsWithAny", "endsWithAny"))  # fmt: skip
_MIRRORED = frozenset(("==", "!="))
_PATHS = frozenset(("request.path", "request.raw_path", "derived.lenient_path"))
_INSTEAD = {
    "equal": "==",
    "prefix": "startsWith",
    "suffix": "endsWith",
    "contains": "contains",
}


def warnings_of(root: Checked) -> Iterator[Diagnostic]:
    """Every warning about a checked expression."""
    for node in walk(root):
        for check in _CHECKS.get(type(node), ()):
            yield from check(node)
    yield from evadable(root)
    if type(root) is Literal and isinstance(root.value, bool):
        yield _always(root.value, "the expression", root.span)


def _warn(code: str, message: str, span: Span, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code, message, span, "warning", hint)


def _always(value: bool, what: str, span: Span) -> Diagnostic:
    word = "true" if value else "false"
    return _warn(f"always-{word}", f"{what} is always {word}", span)


# Always true or always false


def constant_operand(node: And | Or) -> Iterator[Diagnostic]:
    """``a && false``: a constant decides the chain or has no effect."""
    deciding = isinstance(node, Or)
    for operand in node.operands:
        if type(operand) is Literal and isinstance(operand.value, bool):
            if operand.value is deciding:
                yield _always(deciding, "the whole condition", operand.span)
            else:
                yield _always(operand.value, "this part", operand.span)


def constant_condition(node: Conditional) -> Iterator[Diagnostic]:
    """``true ? a : b``: one branch is never taken."""
    if type(node.condition) is Literal and isinstance(node.condition.value, bool):
        yield _always(node.condition.value, "the condition", node.condition.span)


def compared_with_itself(node: Call) -> Iterator[Diagnostic]:
    """``x == x``."""
    if node.function in _REFLEXIVE and not node.member:
        left, right = node.arguments
        if type(left) is not Literal and left == right:
            what = "a value compared with itself, NaN apart,"
            yield _always(_REFLEXIVE[node.function], what, node.span)


_REFLEXIVE = {"==": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}


def contradiction(node: And) -> Iterator[Diagnostic]:
    """``x == "a" && x == "b"``: a value that must equal two constants."""
    required: list[tuple[Checked, object]] = []
    for operand in node.operands:
        test = _comparison(operand, "==")
        if test is None:
            continue
        subject, value = test
        if any(each == subject and not _same(known, value) for each, known in required):
            message = "this contradicts an earlier part, so the whole condition is always false"
            yield _warn("always-false", message, operand.span, "use `||`, or `in [...]`")
        required.append(test)


def tautology(node: Or) -> Iterator[Diagnostic]:
    """``x != "a" || x != "b"``: whatever ``x`` is, one of the two holds."""
    excluded: list[tuple[Checked, object]] = []
    for operand in node.operands:
        test = _comparison(operand, "!=")
        if test is None:
            continue
        subject, value = test
        if any(each == subject and not _same(known, value) for each, known in excluded):
            message = "this or an earlier part always holds, so the whole condition is always true"
            yield _warn("always-true", message, operand.span, "use `&&`, or `!(... in [...])`")
        excluded.append(test)


def _comparison(node: Checked, operator: str) -> tuple[Checked, object] | None:
    """The operand that an operator compares with a constant, and the constant."""
    if type(node) is not Call or node.function != operator:
        return None
    left, right = node.arguments
    if type(left) is Literal:
        left, right = right, left
    return (left, right.value) if type(right) is Literal and type(left) is not Literal else None


def _same(one: object, other: object) -> bool:
    return bool(equal(one, other))


def size_compared_with_nothing(node: Call) -> Iterator[Diagnostic]:
    """``size(x) >= 0`` and ``size(x) < 0``: a size is never negative."""
    if node.function not in (">=", "<"):
        return
    left, right = node.arguments
    is_size = type(left) is Call and left.function == "size"
    if is_size and type(right) is Literal and right.value == 0 and kind_of(right.value) == "int":
        yield _always(node.function == ">=", "the comparison of a size with 0", node.span)


def member_of_nothing(node: Call) -> Iterator[Diagnostic]:
    """``x in []``, ``x.containsAny([])``."""
    if node.function in _MEMBERSHIPS and len(node.arguments) == 2:
        members = node.arguments[1]
        if type(members) is Literal and members.value == []:
            yield _always(False, "a test against an empty list", node.span)


_MEMBERSHIPS = frozenset(
    ("in", "containsAny", "startsWithAny", "endsWithAny", "matchesAny", "inIpRange")
)


# Lists


def duplicate_entry(node: Literal) -> Iterator[Diagnostic]:
    """``x in ["a", "b", "a"]``."""
    if not isinstance(node.value, list):
        return
    seen: set[tuple[str, object]] = set()
    for value in node.value:
        if not isinstance(value, (str, int, bytes)):
            continue
        key = (kind_of(value), value)
        if key in seen:
            shown = quote(value if isinstance(value, str) else str(value))
            yield _warn("duplicate-list-entry", f"the list has {shown} twice", node.span)
        seen.add(key)


# Patterns


def needless_pattern(node: Call) -> Iterator[Diagnostic]:
    """``path.matches("^/api")``: a plain string test means the same and is cheaper."""
    for known in _shapes(node):
        if known.literal_test is not None:
            instead = _INSTEAD[known.literal_test]
            text = quote(known.literal)
            yield _warn(
                "needless-pattern",
                f"the pattern only tests for the text {text}",
                node.arguments[1].span,
                f"use `{instead}`" + (" with a list" if node.function == "matchesAny" else ""),
            )


def unanchored_path_pattern(node: Call) -> Iterator[Diagnostic]:
    """``request.path.matches("admin")``: it may match anywhere in the path."""
    subject = node.arguments[0] if node.arguments else None
    if type(subject) is Field and subject.name in _PATHS:
        for known in _shapes(node):
            if known.literal_test is None and not (known.anchored_start or known.anchored_end):
                yield _warn(
                    "unanchored-path-pattern",
                    "the pattern may match anywhere in the path",
                    node.arguments[1].span,
                    "start it with `^`, or end it with `$`",
                )


def _shapes(node: Call) -> Iterator[Shape]:
    if node.function not in _PATTERN_TESTS or not node.regexes:
        return
    value = getattr(node.arguments[1], "value", None)
    for pattern in value if isinstance(value, list) else [value]:
        if isinstance(pattern, str):
            yield shape(parse_pattern(pattern, DEFAULT))


# Letter case


def wrong_case(node: Call) -> Iterator[Diagnostic]:
    """``x.lower() == "Abc"``, ``request.method == "get"``: no text in that case is equal."""
    if node.function not in _TEXT_TESTS or len(node.arguments) != 2 or list_name(node):
        return
    subject, texts = node.arguments
    if node.function in _MIRRORED and type(subject) is Literal:
        subject, texts = texts, subject
    case = _case_of(subject)
    if case is None or type(texts) is not Literal:
        return
    for text in texts.value if isinstance(texts.value, list) else [texts.value]:
        if isinstance(text, str) and text != _in_case(text, case):
            meant = quote(_in_case(text, case))
            yield _warn(
                "wrong-letter-case",
                f"the text on the other side is in {case} case, {quote(text)} is not",
                texts.span,
                f"write {meant}",
            )


def _case_of(node: Checked) -> str | None:
    match node:
        case Call(function="lower" | "lowerAscii"):
            return "lower"
        case Call(function="upper" | "upperAscii"):
            return "upper"
        case Field(name=name):
            return _CASES.get(name)
        case _:
            return None


_CASES = {"request.method": "upper", "request.host": "lower", "request.scheme": "lower",
          "derived.path_extension": "lower"}  # fmt: skip
_TO_LOWER = {point: point + 32 for point in range(ord("A"), ord("Z") + 1)}
_TO_UPPER = {point + 32: point for point in range(ord("A"), ord("Z") + 1)}


def _in_case(text: str, case: str) -> str:
    return text.translate(_TO_LOWER if case == "lower" else _TO_UPPER)


# Keys of entities

_BROAD = frozenset(
    (
        "request.method",
        "request.scheme",
        "request.host",
        "source",
        "derived.ip_version",
        "derived.ua_family",
        "derived.ua_os",
        "derived.ua_device",
        "derived.country",
        "derived.path_extension",
        "request.content_type",
    )
)
_OFTEN_BLANK = frozenset(
    (
        "request.referer",
        "request.content_type",
        "derived.path_extension",
        "derived.country",
        "derived.asn",
        "derived.as_org",
    )
)
_OFTEN_BLANK_HEADERS = frozenset(
    (
        "content-type",
        "dnt",
        "forwarded",
        "from",
        "if-modified-since",
        "if-none-match",
        "origin",
        "range",
        "referer",
        "via",
        "x-forwarded-for",
        "x-requested-with",
    )
)
_PER_REQUEST_NAMES = frozenset(
    (
        "correlation_id",
        "event_id",
        "idempotency_key",
        "nonce",
        "request_id",
        "span_id",
        "timestamp",
        "trace_id",
    )
)
"""Names of fields, parameters and cookies; `-` and letter case are ignored."""
_PER_REQUEST = frozenset(
    (
        "x-request-id",
        "x-correlation-id",
        "x-trace-id",
        "x-amzn-trace-id",
        "x-b3-traceid",
        "x-b3-spanid",
        "traceparent",
        "cf-ray",
        "idempotency-key",
        "date",
    )
)


def key_warnings(parts: Sequence[tuple[Checked, Type]]) -> list[list[Diagnostic]]:
    """Warnings about the expressions that form one key, in order."""
    alone = len(parts) == 1
    return [
        [
            *timestamp_key(root),
            *per_request_key(root),
            *often_blank_key(root),
            *single_address_key(root),
            *(broad_key(root, kind) if alone else ()),
        ]
        for root, kind in parts
    ]


def timestamp_key(root: Checked) -> Iterator[Diagnostic]:
    """A key made of a time: every event gets its own entity."""
    for node in walk(root):
        if type(node) is Field and node.name in ("observed_at", "entity.last_seen_at"):
            yield _warn("timestamp-key", "a key made of a time is new with each event", node.span)


def per_request_key(root: Checked) -> Iterator[Diagnostic]:
    """A key made of a value that identifies one request."""
    for node in walk(root):
        name = _header_name(node)
        if name in _PER_REQUEST or _folded(_entry_name(node)) in _PER_REQUEST_NAMES:
            shown = quote(name or _entry_name(node) or "")
            yield _warn("per-request-key", f"{shown} is new with each request", node.span)


def often_blank_key(root: Checked) -> Iterator[Diagnostic]:
    """A key made of a value that many requests do not have."""
    for node in walk(root):
        name = node.name if type(node) is Field else _header_name(node)
        if name in _OFTEN_BLANK or (type(node) is not Field and name in _OFTEN_BLANK_HEADERS):
            message = f"many requests have no {quote(name or '')}: they are in no entity, or in one"
            hint = "use a part that every request has: who leaves this out escapes a window"
            yield _warn("often-blank-key", message, node.span, hint)


def single_address_key(root: Checked) -> Iterator[Diagnostic]:
    """A key made of a whole address; one IPv6 client has a network full of them."""
    for node in _giving(root):
        if type(node) is Field and node.name == "request.client_ip":
            message = "an IPv6 client can take another address of its /64 for each request"
            hint = "write `derived.client_network`, which is the /64, and of IPv4 the address"
            yield _warn("single-address-key", message, node.span, hint)


def _giving(node: Checked) -> Iterator[Checked]:
    """A node and those of its parts that form its value, except masked addresses."""
    yield node
    if type(node) is Conditional:
        parts: Sequence[Checked] = (node.then, node.otherwise)
    elif type(node) is Call and node.function in _KEEPING:
        parts = node.arguments
    else:
        parts = ()
    for part in parts:
        yield from _giving(part)


_KEEPING = frozenset(("+", "ip", "string", "lower", "lowerAscii", "upper", "upperAscii", "trim"))
"""Functions with values that distinguish whatever their arguments do."""


def broad_key(root: Checked, kind: Type) -> Iterator[Diagnostic]:
    """A key that most events share."""
    if type(root) is Field and root.name in _PATHS:
        message = "a path alone puts everybody who asks for it into one entity"
        yield _warn("broad-key", message, root.span, "add a part such as `derived.client_network`")
    is_broad = type(root) is Literal or (type(root) is Field and root.name in _BROAD)
    if is_broad or kind is BOOL:
        message = "as the only part of a key this puts most events into one entity"
        yield _warn("broad-key", message, root.span, "add a part such as `derived.client_network`")


def _header_name(node: Checked) -> str | None:
    match node:
        case Index(operand=Field(name="request.headers"), index=Literal(value=str(name))):
            return name
        case Select(operand=Field(name="request.headers"), field=name):
            return name
        case _:
            return None


def _entry_name(node: Checked) -> str | None:
    """The name of a map entry that a client or a source fills in."""
    match node:
        case Index(operand=Field(name=section), index=Literal(value=str(name))):
            return name if section in _ENTRIES else None
        case Select(operand=Field(name=section), field=name):
            return name if section in _ENTRIES else None
        case _:
            return None


_ENTRIES = ("fields", "request.query_params", "request.cookies", "request.route_params")


def _folded(name: str | None) -> str | None:
    return None if name is None else name.replace("-", "_").lower()


_CHECKS: dict[type, tuple[Callable[..., Iterator[Diagnostic]], ...]] = {
    And: (constant_operand, contradiction),
    Or: (constant_operand, tautology),
    Conditional: (constant_condition,),
    Literal: (duplicate_entry,),
    Call: (
        compared_with_itself,
        size_compared_with_nothing,
        member_of_nothing,
        needless_pattern,
        unanchored_path_pattern,
        wrong_case,
        impossible_text,
        impossible_number,
        header_in_headers,
    ),
    Select: (header_with_underscore,),
    Has: (header_with_underscore,),
    Index: (header_with_underscore,),
}
