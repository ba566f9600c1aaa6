"""Failures of constants that are certain before any event.

A call with constant arguments is tried with the function's own meaning; so is one if a single
constant argument decides whether it fails (a zone, a network, a range).  Patterns are parsed and
translated here.  These findings are kept apart from the others: a constant that decides ``&&``,
``||`` or ``?:`` makes the parts it guards unreachable, and their findings are dropped.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError
from tidegate.functions import FUNCTIONS
from tidegate.language.tree import checked
from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Diagnostic, nearest, quote
from tidegate.language.tree.literals import INT_MAX, INT_MIN, source_offsets
from tidegate.regex import Regex, RegexError, find_work, parse, translate
from tidegate.types import STRING, ListType, MapType, Primitive, Type, TypeParam
from tidegate.values import Timestamp, UInt, kind_of, map_key

if TYPE_CHECKING:
    from tidegate.language.tree.schema import Schema
    from tidegate.limits import Limits

Roots = Sequence[checked.Checked]

_TRIED = frozenset(
    {
        *"+-*/%",
        "int",
        "uint",
        "double",
        "bool",
        "timestamp",
        "duration",
        "ip",
        "cidr",
        "ip.isCanonical",
        "base64.decode",
        "containsIP",
        "containsCIDR",
        "isPrivate",
        "masked",
        "math.abs",
        "math.bitShiftLeft",
        "math.bitShiftRight",
    }
)
"""Functions that are tried if all arguments are constants."""

_ANY_TIME = Timestamp(0)
_ANY_NETWORK = ipaddress.ip_interface("0.0.0.0/0")
_ANY_ADDRESS = ipaddress.ip_address("192.0.2.1")
_STAND_INS: Mapping[tuple[str, bool], Any] = {
    **{
        (name, True): _ANY_TIME
        for name in (
            "getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate",
            "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds",
        )
    },
    ("containsIP", True): _ANY_NETWORK,
    ("containsCIDR", True): _ANY_NETWORK,
    ("masked", True): _ANY_ADDRESS,
    ("inIpRange", False): "",
    ("bucket", False): "",
    ("urlDecode", True): "",
}  # fmt: skip
"""Replaces a first argument that is not constant while the others are tried."""

_PATTERNS = frozenset(
    {"matches", "matchesAny", "regex.extract", "regex.extractAll", "regex.replace"}
)
_WILDCARDS = frozenset({"like", "ilike"})
_REGEX_PROBES = frozenset({"regex.extract", "regex.extractAll", "regex.replace"})
_OF_FORM = frozenset({"pattern-not-constant", "invalid-regex", "list-not-constant", "unknown-list",
                       "no-phrases"})  # fmt: skip
"""Findings that hold even in unevaluated parts: without a pattern or list nothing can run."""
_CODES = {"divide_by_zero": "division-by-zero", "overflow": "overflow"}
_UNKNOWN: Any = object()


@lru_cache(maxsize=256)
def parse_pattern(pattern: str, limits: Limits) -> Regex:
    """The tree of a pattern; recent ones are cached, since several stages need them.

    Raises:
        RegexError: the pattern is outside the accepted subset.
    """
    return parse(pattern, limits)


class ConstantChecks:
    """Certain failures in one expression, and the translations of its patterns."""

    def __init__(self, text: str, schema: Schema, limits: Limits) -> None:
        self.findings: list[Diagnostic] = []
        self._text = text
        self._schema = schema
        self._limits = limits
        # Both keep the node with the fact, so that no other node gets its id.
        self._values: dict[int, tuple[checked.Checked, Any]] = {}
        self._elements: dict[int, tuple[checked.Checked, Roots]] = {}

    def mark(self) -> int:
        """A point to which ``forget`` can return."""
        return len(self.findings)

    def forget(self, mark: int) -> None:
        """Drop the failures found since: their parts cannot decide anything.

        A part before the deciding one is evaluated anyway, so patterns and lists must be known even
        there.
        """
        since = self.findings[mark:]
        self.findings[mark:] = [each for each in since if each.code in _OF_FORM]

    def remember(self, literal: checked.Literal, elements: Roots) -> None:
        """Keep the elements of a list that became one constant, for their spans."""
        self._elements[id(literal)] = (literal, elements)

    def check(self, call: checked.Call, kinds: Sequence[Type]) -> checked.Call:
        """The call with its patterns translated; certain failures are reported.

        Args:
            call: the call.
            kinds: the types of its arguments.
        """
        name = call.function
        if name in _PATTERNS:
            return self._translated(call)
        if name == "inList" or (name in checked.PHRASE_TESTS and kinds[1] is STRING):
            self._check_list(call)
        elif name in _WILDCARDS:
            self._require_constant(call.arguments[1], name)
        elif name in "/%":
            self._check_divisor(call)
        elif name in _TRIED or (name, call.member) in _STAND_INS:
            self._try(call)
        return call

    def translate(self, call: checked.Call) -> checked.Call:
        """The call with its patterns translated, without other checks."""
        return self._translated(call) if call.function in _PATTERNS else call

    def negated(self, literal: checked.Literal, span: Span) -> checked.Literal:
        """The negation of a constant int or double."""
        value: Any = literal.value
        if value == INT_MIN and type(value) is int:
            self._report("overflow", f"`{-value}` is out of the range of int", span,
                         f"the greatest int is {INT_MAX}")  # fmt: skip
            return literal
        return checked.Literal(-value, span=span)

    def check_keys(self, keys: Roots) -> None:
        """Report repeated constant keys in a map literal."""
        seen = set()
        for key in keys:
            if not isinstance(key, checked.Literal):
                continue
            token = map_key(key.value)
            if token is not None and token in seen:
                shown = quote(self._shown(key))
                self._report("duplicate-key", f"the key {shown} is repeated", key.span)
            seen.add(token)

    # Reporting

    def _report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.findings.append(Diagnostic(code, message, span, hint=hint))

    def _shown(self, node: checked.Checked) -> str:
        return self._text[node.span.start : node.span.end]

    # Constants that are tried

    def _value(self, node: checked.Checked) -> Any:
        if isinstance(node, checked.Literal):
            return node.value
        known = self._values.get(id(node))
        return _UNKNOWN if known is None else known[1]

    def _check_divisor(self, call: checked.Call) -> None:
        divisor = self._value(call.arguments[1])
        if type(divisor) in (int, UInt) and divisor == 0:
            self._report("division-by-zero", "division by zero", call.span)
        else:
            self._try(call)

    def _try(self, call: checked.Call) -> None:
        values = [self._value(argument) for argument in call.arguments]
        whole = not any(value is _UNKNOWN for value in values)
        stand_in = _STAND_INS.get((call.function, call.member), _UNKNOWN)
        if values[0] is _UNKNOWN and stand_in is not _UNKNOWN and len(values) > 1:
            values[0] = stand_in
        if any(value is _UNKNOWN for value in values):
            return
        if call.function == "inIpRange" and isinstance(values[1], list):
            self._try_each_range(call)
            return
        failure, value = self._outcome(call, values)
        if failure is not None:
            self._report_failure(call, failure)
        elif whole:
            self._values[id(call)] = (call, value)

    def _try_each_range(self, call: checked.Call) -> None:
        for element in self._spread(call.arguments[1]):
            failure, _ = self._outcome(call, ["", self._value(element)])
            if failure is not None and failure.code == "invalid_argument":
                self._report("invalid-constant", failure.message, element.span)

    def _outcome(
        self, call: checked.Call, values: Sequence[Any]
    ) -> tuple[EvaluationError | None, Any]:
        function = FUNCTIONS.get((call.function, call.member))
        for overload in function.overloads if function else ():
            if _fit(values, overload.signature.params):
                wanted: dict[str, Any] = {
                    "limit": self._limits.string_bytes,
                    "lists": self._schema.lists,
                    "charge": _uncharged,
                }
                keywords = {name: wanted[name] for name in overload.wants}
                try:
                    return None, overload.meaning(*values, **keywords)
                except EvaluationError as failure:
                    return failure, None
        return None, None

    def _report_failure(self, call: checked.Call, failure: EvaluationError) -> None:
        code = _CODES.get(failure.code, "invalid-constant")
        constants = [each for each in call.arguments if isinstance(each, checked.Literal)]
        if code != "invalid-constant" or not constants or call.function in _OPERATORS:
            self._report(code, failure.message, call.span)
            return
        message = f"{failure.message}: {quote(self._shown(constants[-1]))}"
        self._report(code, message, constants[-1].span)

    # Patterns

    def _require_constant(self, pattern: checked.Checked, name: str) -> bool:
        if isinstance(pattern, checked.Literal):
            return True
        message = f"the pattern of `{name}` must be a constant"
        hint = "for a variable text use `contains`, `startsWith` or `==`"
        self._report("pattern-not-constant", message, pattern.span, hint)
        return False

    def _translated(self, call: checked.Call) -> checked.Call:
        patterns = call.arguments[1]
        if not self._require_constant(patterns, call.function):
            return call
        texts: list[str] = []
        work = 0
        for literal in self._spread(patterns):
            value = self._value(literal)
            if not isinstance(value, str):
                return call
            try:
                regex = parse_pattern(value, self._limits)
            except RegexError as error:
                span = self._span_within(literal, error.start, error.end)
                self._report("invalid-regex", error.message, span, error.hint)
                continue
            texts.append(translate(regex))
            if call.function in _REGEX_PROBES:
                work += self._bound_search(call.function, regex, literal.span)
            else:
                work += regex.work
        if call.function in _REGEX_PROBES:
            self._probe_groups(call)
        return attrs.evolve(call, regexes=tuple(texts), pattern_work=work)

    def _bound_search(self, function: str, regex: Regex, span: Span) -> int:
        work = find_work(regex.root, regex.work)
        if work > self._limits.regex_work:
            message = (
                f"pattern is too much work for each character of `{function}`: {work} units, "
                f"more than {self._limits.regex_work}"
            )
            hint = "lower the repeat counts or use fewer optional parts; `matches` takes half"
            self._report("invalid-regex", message, span, hint)
        return work

    def _probe_groups(self, call: checked.Call) -> None:
        """Try a pattern on the empty text: its groups and the replacement must agree."""
        values = ["", *(self._value(argument) for argument in call.arguments[1:])]
        if any(value is _UNKNOWN for value in values):
            return
        failure, _ = self._outcome(call, values)
        if failure is not None and failure.code == "invalid_argument":
            self._report("invalid-regex", failure.message, call.arguments[-1].span)

    def _spread(self, node: checked.Checked) -> Roots:
        """The elements of a constant list with their spans; anything else is returned as it is."""
        value = self._value(node)
        if not isinstance(value, list):
            return (node,)
        known = self._elements.get(id(node))
        if known is not None:
            return known[1]
        return [checked.Literal(each, span=node.span) for each in value]

    def _span_within(self, literal: checked.Checked, start: int, end: int) -> Span:
        """The position of a part of a string constant in the text."""
        written = self._shown(literal)
        if not written or written[0] not in "\"'rR":
            return literal.span
        offsets = source_offsets(written)
        if end >= len(offsets):
            end = len(offsets) - 1
        base = literal.span.start
        return Span(base + offsets[min(start, end)], base + offsets[end])

    # Named lists

    def _check_list(self, call: checked.Call) -> None:
        name = call.arguments[1]
        value = self._value(name)
        if not isinstance(value, str):
            self._report("list-not-constant", "the name of a list must be a constant", name.span)
        elif value not in self._schema.lists:
            close = nearest(value, self._schema.lists)
            hint = f"did you mean `{close}`?" if close else None
            self._report("unknown-list", f"unknown list {quote(value)}", name.span, hint)
        elif call.function != "inList" and self._schema.lists[value].kind != "string":
            message = f"the list {quote(value)} has addresses, so it has no phrases"
            hint = "an address is in it or not: use `inList`"
            self._report("no-phrases", message, name.span, hint)


_OPERATORS = frozenset("+-*/%")
_KINDS = {
    "null": "null_type",
    "ip": "net.IP",
    "cidr": "net.CIDR",
}


def _fit(values: Sequence[Any], params: Sequence[Type]) -> bool:
    return len(values) == len(params) and all(map(_fits, values, params))


def _fits(value: Any, param: Type) -> bool:
    kind = kind_of(value)
    match param:
        case Primitive(name):
            return name in ("dyn", _KINDS.get(kind, kind))
        case ListType() | MapType():
            return str(param).startswith(f"{kind}(")
        case _:
            return isinstance(param, TypeParam)


def _uncharged(_units: int) -> None:
    """A charge function for trying constants, which costs the evaluation nothing."""
