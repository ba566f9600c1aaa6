"""The worst cost of one evaluation, from declared maximum sizes.

Follows the cost rules of docs/canonical-tree.md with sizes (``sizes``) instead of values: every
operand is evaluated, every element visited.  The declared sizes are what requests have in practice,
so the estimate is not a guarantee; the count at run time is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from tidegate.functions import FUNCTIONS
from tidegate.language.tree import checked
from tidegate.language.tree.diagnostics import Diagnostic
from tidegate.language.tree.sizes import (
    ANYTHING,
    MAX_PARTS,
    NOTHING,
    NUMBER,
    Size,
    either,
    joined,
    of_field,
    of_type,
    of_value,
)
from tidegate.language.tree.walk import children
from tidegate.types import BYTES, DYN, STRING, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tidegate.language.tree.ast import Span
    from tidegate.language.tree.schema import Schema
    from tidegate.limits import Limits

PATTERN_WORK_A_UNIT = 100
"""Pattern work that costs one unit, as in ``rust/regex/src/lazy.rs``."""
Measured: TypeAlias = tuple[int, Size]
"""Bounds on the cost of a node and the size of its value."""


@attrs.frozen
class CostEstimate:
    """Units of one evaluation in the worst case.

    Attributes:
        total: cost of the whole expression.
        dominant: the most expensive part.
        dominant_units: the cost of that part, with all its repetitions.
        work: the expression's share of a decision's budget, with its patterns at their worst
            (docs/decision.md, "Budget").
    """

    total: int
    dominant: Span
    dominant_units: int
    work: int

    def refusal(self, limit: int) -> Diagnostic:
        """The finding that the estimate exceeds the limit."""
        message = (
            f"one evaluation may cost {self.total} units, more than {limit}; "
            f"this part takes {self.dominant_units}"
        )
        hint = "avoid macros within macros; test many texts at once with `containsAny`"
        return Diagnostic("cost-over-limit", message, self.dominant, hint=hint)


def estimate(root: checked.Checked, schema: Schema, limits: Limits) -> CostEstimate:
    """Bounds on the cost of a checked expression."""
    estimator = _Estimator(schema, limits)
    total, _ = estimator.measure(root, 1)
    units, node = estimator.dominant(total, root)
    work = total + estimator.pattern_work // PATTERN_WORK_A_UNIT
    return CostEstimate(total, node.span, units, work)


class _Estimator:
    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = schema
        self._limits = limits
        self._locals: list[tuple[str, Size, bool]] = []
        self._heavy: list[tuple[int, checked.Checked]] = []
        self.pattern_work = 0

    def measure(self, node: checked.Checked, times: int) -> Measured:
        """A node that is evaluated repeatedly: the cost of one evaluation, and the value."""
        bound = BOUNDS.get(type(node), _Estimator.other)
        cost, size = bound(self, node, times)
        return cost + 1, size

    def dominant(self, total: int, root: checked.Checked) -> tuple[int, checked.Checked]:
        """The smallest macro, or else call, that costs half of the total or more."""
        heavy = [each for each in self._heavy if each[0] * 2 >= total]
        macros = [each for each in heavy if isinstance(each[1], checked.Comprehension)]
        chosen = macros or heavy or [(total, root)]
        return min(chosen, key=lambda each: each[0])

    def other(self, node: checked.Checked, times: int) -> Measured:
        return self._sum(children(node), times)[0], ANYTHING

    def _sum(self, nodes: Sequence[checked.Checked], times: int) -> tuple[int, list[Size]]:
        cost, sizes = 0, []
        for node in nodes:
            units, size = self.measure(node, times)
            cost += units
            sizes.append(size)
        return cost, sizes

    # Leaves

    def literal(self, node: checked.Literal, _times: int) -> Measured:
        return 0, of_value(node.value)

    def field(self, node: checked.Field, _times: int) -> Measured:
        return 0, of_field(node.name, self._schema)

    def has_field(self, _node: checked.HasField, _times: int) -> Measured:
        return 0, NOTHING

    def local(self, node: checked.Local, _times: int) -> Measured:
        for name, size, _ in reversed(self._locals):
            if name == node.name:
                return 0, size
        return 0, ANYTHING

    # Access

    def select(self, node: checked.Select, times: int) -> Measured:
        cost, size = self.measure(node.operand, times)
        return cost, size.largest()

    def has(self, node: checked.Has, times: int) -> Measured:
        cost, _ = self.measure(node.operand, times)
        return cost, NOTHING

    def index(self, node: checked.Index, times: int) -> Measured:
        cost, size = self.measure(node.operand, times)
        units, _ = self.measure(node.index, times)
        # A walk over keys visits each value of a map once.
        part = size.average() if self._is_key(node.index) else size.largest()
        return cost + units, part

    def _is_key(self, node: checked.Checked) -> bool:
        if not isinstance(node, checked.Local):
            return False
        for name, _, is_key in reversed(self._locals):
            if name == node.name:
                return is_key
        return False

    # Operators and calls

    def chain(self, node: checked.And | checked.Or, times: int) -> Measured:
        return self._sum(node.operands, times)[0], NOTHING

    def conditional(self, node: checked.Conditional, times: int) -> Measured:
        cost, _ = self.measure(node.condition, times)
        then, then_size = self.measure(node.then, times)
        otherwise, other_size = self.measure(node.otherwise, times)
        return cost + max(then, otherwise), either(then_size, other_size)

    def call(self, node: checked.Call, times: int) -> Measured:
        cost, sizes = self._sum(node.arguments, times)
        result = self._result(node, sizes)
        units = cost + self._charge(node, sizes, result)
        if node.pattern_work:
            self.pattern_work += times * sizes[0].text * node.pattern_work
        self._heavy.append((units * times, node))
        return units, result

    def _charge(self, node: checked.Call, sizes: Sequence[Size], result: Size) -> int:
        """The charge of the function itself, by rules 3 to 8."""
        name = node.function
        if name in _FREE:
            return 0
        if name in ("==", "!="):
            one, other = sizes
            count = min(one.count, other.count)
            compared = min(one.text, other.text) + min(one.total, other.total)
            return compared // 16 + count
        if name == "in":
            value, members = sizes
            if isinstance(node.arguments[1], checked.Literal) or _is_map(node.arguments[1]):
                return 1
            return members.count * (1 + min(value.text, members.largest().text) // 16)
        if name == "+":
            return result.text // 16 + result.count
        if name == "size":
            return sizes[0].text // 16
        if name in ("startsWith", "endsWith"):
            return sizes[1].text // 16
        looked_at = _LOOKED_AT.get((name, node.member), _nothing)(sizes, result)
        elements = looked_at + sum(
            size.count
            for argument, size in zip(node.arguments, sizes, strict=True)
            if not isinstance(argument, checked.Literal)
        )
        return sum(size.text for size in sizes) // 16 + elements + result.text // 16 + result.count

    def _result(self, node: checked.Call, sizes: Sequence[Size]) -> Size:
        name, limit = node.function, self._limits.string_bytes
        grown = _GROWTH.get(name)
        if grown is not None:
            size = grown(node, sizes)
            return attrs.evolve(size, text=min(size.text, limit))
        kinds = _RESULTS.get((name, node.member), (DYN,))
        if all(of_type(kind) == NOTHING for kind in kinds):
            return NUMBER if name == "type" else NOTHING
        if any(kind is STRING or kind is BYTES for kind in kinds):
            return Size(min(limit, max(24, sum(size.text or size.total for size in sizes))))
        return ANYTHING

    # Aggregates

    def list_node(self, node: checked.List, times: int) -> Measured:
        cost, sizes = self._sum([element.value for element in node.elements], times)
        return cost, joined(sizes)

    def map_node(self, node: checked.Map, times: int) -> Measured:
        cost, _ = self._sum([entry.key for entry in node.entries], times)
        units, sizes = self._sum([entry.value for entry in node.entries], times)
        return cost + units, joined(sizes)

    # Macros

    def comprehension(self, node: checked.Comprehension, times: int) -> Measured:
        cost, over = self.measure(node.range, times)
        element, inner = over.average(), times * max(over.count, 1)
        is_pair = len(node.variables) == 2
        walked = [(node.variables[0], NUMBER if is_pair else element, _is_map(node.range))]
        if is_pair:
            walked.append((node.variables[1], element, False))
        self._locals += walked
        each, body = self.measure(node.body, inner)
        if node.condition is not None:
            each += self.measure(node.condition, inner)[0]
        del self._locals[-len(walked) :]
        units = cost + over.count * (1 + each)
        if node.macro == "sortBy":
            units += _sorting(over.count, body.text * over.count)
        self._heavy.append((units * times, node))
        return units, _comprehended(node.macro, over, body)

    def bind(self, node: checked.Bind | checked.Slot, times: int) -> Measured:
        return self._with(node.variable, node.value, node.body, times)

    def optional_map(self, node: checked.OptionalMap, times: int) -> Measured:
        return self._with(node.variable, node.operand, node.body, times)

    def _with(
        self, variable: str, value: checked.Checked, body: checked.Checked, times: int
    ) -> Measured:
        cost, size = self.measure(value, times)
        self._locals.append((variable, size, False))
        units, result = self.measure(body, times)
        self._locals.pop()
        return cost + units, result


def _sorting(count: int, text: int) -> int:
    """The units of sorting keys, by their number and all their text (rule 10)."""
    return count.bit_length() * (count + text // 16)


def _comprehended(macro: str, over: Size, body: Size) -> Size:
    if macro in ("filter", "sortBy"):
        return over
    if macro in ("map", "transformList", "transformMap", "transformMapEntry"):
        total = over.count * (body.text or body.total)
        return Size(0, over.count, total, body if body.count else None)
    return NOTHING


def _is_map(node: checked.Checked) -> bool:
    """Whether a value is known to be a map, with distinct keys and membership in one unit."""
    return isinstance(node, checked.Map) or (isinstance(node, checked.Field) and node.name in _MAPS)


_MAPS = frozenset(
    ("request.query_params", "request.headers", "request.cookies", "request.route_params", "fields")
)
_FREE = frozenset(
    (
        "dyn",
        "type",
        "optional.of",
        "optional.none",
        "optional.ofNonZeroValue",
        "hasValue",
        "value",
        "or",
        "orValue",
        "optional.unwrap",
        "unwrapOpt",
        "first",
        "last",
    )
)


def _first(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    return sizes[0]


def _split(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    text = max(sizes[0].text, 1)
    return Size(0, min(text, MAX_PARTS), text)


def _flattened(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    over = sizes[0]
    if over.part is None:
        return over
    return Size(0, over.count * max(over.part.count, 1), over.total, over.part.part)


def _range(node: checked.Call, _sizes: Sequence[Size]) -> Size:
    count = node.arguments[0].value if isinstance(node.arguments[0], checked.Literal) else None
    return Size(0, max(count, 0) if isinstance(count, int) else MAX_PARTS)


def _joined_text(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    separator = sizes[1].text if len(sizes) > 1 else 0
    return Size(sizes[0].total + separator * sizes[0].count)


def _replaced(node: checked.Call, sizes: Sequence[Size]) -> Size:
    """Each ``old`` may become a ``new``; an ``old`` that is not constant may be empty."""
    text, old, new = sizes[0].text, sizes[1].text, sizes[2].text
    if not old or not isinstance(node.arguments[1], checked.Literal):
        return Size((text + 1) * (new + 1))
    return Size(max(text, text * new // old + new))


def _pattern_replaced(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    return Size(sizes[0].text + sizes[2].text * MAX_PARTS)


def _summed(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    one, other = sizes
    parts = either(one, other)
    return Size(one.text + other.text, one.count + other.count, one.total + other.total, parts.part)


def _formatted(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    return Size(sizes[0].text + sizes[1].total + 24 * sizes[1].count)


def _scaled(numerator: int, denominator: int = 1) -> Callable[[Any, Sequence[Size]], Size]:
    def scale(_node: Any, sizes: Sequence[Size]) -> Size:
        return Size(sizes[0].text * numerator // denominator + 24)

    return scale


def _weighed(sizes: Sequence[Size], _result: Size) -> int:
    """Every value in the lists, at any depth, and its text."""
    return sum(
        size.count * (1 + (size.part.count if size.part else 0)) + size.total // 16
        for size in sizes
    )


def _nothing(_sizes: Sequence[Size], _result: Size) -> int:
    return 0


_LOOKED_AT: dict[tuple[str, bool], Callable[[Sequence[Size], Size], int]] = {
    ("distinct", True): _weighed,
    ("sets.contains", False): _weighed,
    ("sets.equivalent", False): _weighed,
    ("sets.intersects", False): _weighed,
    ("sort", True): lambda sizes, _result: _sorting(sizes[0].count, sizes[0].total),
    ("flatten", True): lambda sizes, result: sizes[0].count + result.count,
    ("lists.range", False): lambda _sizes, result: result.count,
}
"""The work of functions in addition to their arguments and results (rule 10)."""


def _last(_node: checked.Call, sizes: Sequence[Size]) -> Size:
    return either(sizes[0], sizes[-1])


_GROWTH: dict[str, Callable[[checked.Call, Sequence[Size]], Size]] = {
    **dict.fromkeys(
        ("dyn", "optional.of", "optional.ofNonZeroValue", "value", "optional.unwrap", "unwrapOpt",
         "lower", "upper", "lowerAscii", "upperAscii", "trim", "reverse", "substring",
         "urlDecode", "formDecode", "bytes", "regex.extract", "distinct", "slice", "sort",
         "htmlDecode", "jsDecode", "cssDecode", "removeNulls", "removeComments", "replaceComments",
         "removeWhitespace", "collapseWhitespace", "normalizePath"),
        _first,
    ),
    "or": _last,
    "orValue": _last,
    "first": lambda _node, sizes: sizes[0].largest(),
    "last": lambda _node, sizes: sizes[0].largest(),
    "flatten": _flattened,
    "lists.range": _range,
    "charAt": lambda _node, _sizes: Size(4),
    "split": _split,
    "segments": _split,
    "regex.extractAll": _split,
    "join": _joined_text,
    "replace": _replaced,
    "regex.replace": _pattern_replaced,
    "format": _formatted,
    "strings.quote": _scaled(2),
    "base64.encode": _scaled(4, 3),
    "base64.decode": _first,
    "+": _summed,
}  # fmt: skip


def _results() -> dict[tuple[str, bool], tuple[Type, ...]]:
    return {
        key: tuple(overload.signature.result for overload in function.overloads)
        for key, function in FUNCTIONS.items()
    }


_RESULTS = _results()

BOUNDS: dict[type, Callable[[_Estimator, Any, int], Measured]] = {
    checked.Literal: _Estimator.literal,
    checked.Field: _Estimator.field,
    checked.HasField: _Estimator.has_field,
    checked.Local: _Estimator.local,
    checked.Select: _Estimator.select,
    checked.Has: _Estimator.has,
    checked.Index: _Estimator.index,
    checked.Call: _Estimator.call,
    checked.And: _Estimator.chain,
    checked.Or: _Estimator.chain,
    checked.Conditional: _Estimator.conditional,
    checked.List: _Estimator.list_node,
    checked.Map: _Estimator.map_node,
    checked.Comprehension: _Estimator.comprehension,
    checked.Bind: _Estimator.bind,
    checked.Slot: _Estimator.bind,
    checked.OptionalMap: _Estimator.optional_map,
}
"""The cost of a node by its kind; other kinds cost as much as their parts."""
