"""The definition of the semantics: from a checked tree and a record to a value or failure, and a
cost.

One case per kind of node, following docs/canonical-tree.md, short and slow on purpose: no caches,
fast paths or switches.  The native evaluator must match this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tidegate.errors import EvaluationError
from tidegate.evaluation import cost
from tidegate.evaluation.outcome import Failure, Outcome
from tidegate.functions import FUNCTIONS, failures
from tidegate.functions.lists import sorted_by
from tidegate.language.tree import checked
from tidegate.limits import DEFAULT, Limits
from tidegate.values import Map, OptionalValue, kind_of, map_key

if TYPE_CHECKING:
    from tidegate.types import NamedList

Scope: TypeAlias = Mapping[str, Any]
"""The variables of the enclosing macros."""


def evaluate(
    root: checked.Checked,
    record: Mapping[str, Any],
    *,
    lists: Mapping[str, NamedList] | None = None,
    limits: Limits = DEFAULT,
) -> Outcome:
    """Evaluate a checked tree.

    Args:
        root: the tree from ``checker.check`` or ``canonical.from_json``.
        record: the values of fields and variables by full name; missing ones are absent.
        lists: the named lists, for ``inList``.
        limits: the limits on cost and on constructed strings.
    """
    return Evaluator(record, lists or {}, limits).run(root)


class Evaluator:
    """One evaluation: its input data, and the cost so far."""

    def __init__(
        self, record: Mapping[str, Any], lists: Mapping[str, NamedList], limits: Limits
    ) -> None:
        self._record = record
        self._lists = lists
        self._limits = limits
        self.spent = 0

    def run(self, root: checked.Checked) -> Outcome:
        """Evaluate the whole tree; errors become part of the outcome."""
        try:
            return Outcome(self.value(root, {}), None, self.spent)
        except EvaluationError as error:
            if error.code == "cost_exceeded":
                self.spent = self._limits.cost + 1
            return Outcome(None, Failure(error.code, error.message, error.span), self.spent)

    def charge(self, units: int) -> None:
        """Add to the cost; ``cost_exceeded`` if that would exceed the limit."""
        self.spent += units
        if self.spent > self._limits.cost:
            raise failures.cost_exceeded()

    def value(self, node: checked.Checked, scope: Scope) -> Any:
        """The value of a node; an error gets the span of the innermost node that raised it."""
        try:
            self.charge(1)
            return _ARMS[type(node)](self, node, scope)
        except EvaluationError as error:
            error.span = error.span or node.span
            raise

    def condition(self, node: checked.Checked, scope: Scope) -> bool:
        """The value of a node that must be a bool."""
        value = self.value(node, scope)
        if not isinstance(value, bool):
            error = failures.no_such_overload("a condition must be a bool")
            error.span = node.span
            raise error
        return value

    # --- names and parts ------------------------------------------------------------------

    def literal(self, node: checked.Literal, _scope: Scope) -> Any:
        return node.value

    def field(self, node: checked.Field, _scope: Scope) -> Any:
        if node.name not in self._record:
            raise failures.no_such_field(node.name)
        return self._record[node.name]

    def has_field(self, node: checked.HasField, _scope: Scope) -> bool:
        return node.name in self._record

    def local(self, node: checked.Local, scope: Scope) -> Any:
        value = scope[node.name]
        if isinstance(value, EvaluationError):
            raise EvaluationError(value.code, value.message, value.span)
        return value

    def select(self, node: checked.Select, scope: Scope) -> Any:
        return _reach(self.value(node.operand, scope), node.field, _member, node.optional)

    def index(self, node: checked.Index, scope: Scope) -> Any:
        operand = self.value(node.operand, scope)
        return _reach(operand, self.value(node.index, scope), _element, node.optional)

    def has(self, node: checked.Has, scope: Scope) -> bool:
        operand = self.value(node.operand, scope)
        if isinstance(operand, OptionalValue):
            if not operand.is_present:
                return False
            operand = operand.content
        if not isinstance(operand, Map):
            raise failures.no_such_overload("only a map has members")
        return node.field in operand

    # --- logic ----------------------------------------------------------------------------

    def conjunction(self, node: checked.And, scope: Scope) -> bool:
        return _absorb(False, (partial(self.condition, each, scope) for each in node.operands))

    def disjunction(self, node: checked.Or, scope: Scope) -> bool:
        return _absorb(True, (partial(self.condition, each, scope) for each in node.operands))

    def conditional(self, node: checked.Conditional, scope: Scope) -> Any:
        chosen = node.then if self.condition(node.condition, scope) else node.otherwise
        return self.value(chosen, scope)

    # --- lists and maps -------------------------------------------------------------------

    def list_literal(self, node: checked.List, scope: Scope) -> list[Any]:
        elements: list[Any] = []
        for element in node.elements:
            elements += self._given(self.value(element.value, scope), element.optional)
        return elements

    def map_literal(self, node: checked.Map, scope: Scope) -> Map:
        entries: list[tuple[Any, Any]] = []
        seen = set()
        for entry in node.entries:
            key = self.value(entry.key, scope)
            for value in self._given(self.value(entry.value, scope), entry.optional):
                if kind_of(key) not in {"bool", "int", "uint", "string"}:
                    raise failures.no_such_overload(f"{kind_of(key)} cannot be the key of a map")
                if map_key(key) in seen:
                    raise failures.invalid_argument("the map has a repeated key")
                seen.add(map_key(key))
                entries.append((key, value))
        return Map(entries)

    def _given(self, value: Any, optional: bool) -> list[Any]:
        """The value of an element or entry; nothing if it is an empty optional."""
        if not optional:
            return [value]
        if not isinstance(value, OptionalValue):
            raise failures.no_such_overload("what is given with `?` must be an optional")
        return [value.content] if value.is_present else []

    # --- macros ---------------------------------------------------------------------------

    def bind(self, node: checked.Bind, scope: Scope) -> Any:
        value = self.value(node.value, scope)
        return self.value(node.body, {**scope, node.variable: value})

    def slot(self, node: checked.Slot, scope: Scope) -> Any:
        try:
            value = self.value(node.value, scope)
        except EvaluationError as error:
            if error.code == "cost_exceeded":
                raise
            value = error
        return self.value(node.body, {**scope, node.variable: value})

    def optional_map(self, node: checked.OptionalMap, scope: Scope) -> OptionalValue:
        operand = self.value(node.operand, scope)
        if not isinstance(operand, OptionalValue):
            raise failures.no_such_overload("only an optional can be mapped so")
        if not operand.is_present:
            return operand
        value = self.value(node.body, {**scope, node.variable: operand.content})
        if not node.flat:
            return OptionalValue(value)
        if not isinstance(value, OptionalValue):
            raise failures.no_such_overload("the body must give an optional")
        return value

    def comprehension(self, node: checked.Comprehension, scope: Scope) -> Any:
        range_ = self.value(node.range, scope)
        elements = _elements(range_, len(node.variables))
        inner = ({**scope, **dict(zip(node.variables, e, strict=True))} for e in elements)
        match node.macro:
            case "all" | "exists":
                steps = (partial(self._holds, node.body, each) for each in inner)
                return _absorb(node.macro == "exists", steps)
            case "exists_one":
                return sum([self._holds(node.body, s) for s in inner]) == 1
            case "filter":
                return [s[node.variables[0]] for s in inner if self._holds(node.body, s)]
            case "sortBy":
                if not isinstance(range_, list):
                    raise failures.no_such_overload("only a list can be sorted")
                keys = [key for _, key in self._transformed(node, inner)]
                return sorted_by(range_, keys, self.charge)
            case "map" | "transformList":
                return [value for _, value in self._transformed(node, inner)]
            case "transformMap":
                # The keys of a map, or the indexes of a list, are already distinct.
                return Map(
                    (s[node.variables[0]], value) for s, value in self._transformed(node, inner)
                )
            case _:
                return self._merged(value for _, value in self._transformed(node, inner))

    def _holds(self, predicate: checked.Checked, scope: Scope) -> bool:
        self.charge(1)
        return self.condition(predicate, scope)

    def _transformed(
        self, node: checked.Comprehension, scopes: Iterable[Scope]
    ) -> Iterator[tuple[Scope, Any]]:
        for scope in scopes:
            self.charge(1)
            if node.condition is None or self.condition(node.condition, scope):
                yield scope, self.value(node.body, scope)

    def _merged(self, maps: Iterable[Any]) -> Map:
        """One map of all entries; a repeated key ends it immediately, so that it cannot grow."""
        entries: dict[object, tuple[Any, Any]] = {}
        for each in maps:
            if not isinstance(each, Map):
                raise failures.no_such_overload("the body must give a map")
            for key, value in each.items():
                if map_key(key) in entries:
                    raise failures.invalid_argument("the map has a repeated key")
                entries[map_key(key)] = (key, value)
        return Map(entries.values())

    # --- calls ----------------------------------------------------------------------------

    def call(self, node: checked.Call, scope: Scope) -> Any:
        arguments = [self.value(argument, scope) for argument in node.arguments]
        function = FUNCTIONS.get((node.function, node.member))
        overload = function.choose(arguments) if function else None
        if overload is None:
            raise failures.no_such_overload()
        self.charge(cost.of_arguments(node, arguments))
        available = {
            "limit": self._limits.string_bytes,
            "lists": self._lists,
            "charge": cost.of_comparisons(node, self.charge),
        }
        result = overload.meaning(*arguments, **{name: available[name] for name in overload.wants})
        if cost.size_in_bytes(result) > self._limits.string_bytes:
            raise failures.too_long(self._limits.string_bytes)
        self.charge(cost.of_result(node, result))
        return result


def _absorb(deciding: bool, operands: Iterable[Callable[[], bool]]) -> bool:
    """The deciding value if an operand has it, else the first error, else the other value."""
    first: EvaluationError | None = None
    for operand in operands:
        try:
            if operand() is deciding:
                return deciding
        except EvaluationError as error:
            if error.code == "cost_exceeded":
                raise
            first = first or error
    if first is not None:
        raise first
    return not deciding


def _reach(
    operand: Any, key: Any, step: Callable[[Any, Any, bool], OptionalValue], optional: bool
) -> Any:
    """Take a member or element, looking into an optional operand."""
    if isinstance(operand, OptionalValue):
        return step(operand.content, key, True) if operand.is_present else operand
    found = step(operand, key, optional)
    return found if optional else found.content


def _member(operand: Any, key: Any, optional: bool) -> OptionalValue:
    if not isinstance(operand, Map):
        raise failures.no_such_overload("only a map has members")
    if key in operand:
        return OptionalValue(operand[key])
    if optional:
        return OptionalValue()
    if operand.total:
        return OptionalValue("")
    raise failures.no_such_key()


def _element(operand: Any, key: Any, optional: bool) -> OptionalValue:
    if isinstance(operand, Map):
        if kind_of(key) not in {"bool", "int", "uint", "double", "string"}:
            raise failures.no_such_overload("values of this kind are no keys of a map")
        return _member(operand, key, optional)
    if not isinstance(operand, list) or kind_of(key) not in {"int", "uint", "double"}:
        raise failures.no_such_overload("only lists, by number, and maps can be indexed")
    if isinstance(key, float) and not key.is_integer():
        raise failures.invalid_argument("the index is no integer")
    if 0 <= key < len(operand):
        return OptionalValue(operand[int(key)])
    if optional:
        return OptionalValue()
    raise failures.index_out_of_range(int(key))


def _elements(range_: Any, variables: int) -> list[tuple[Any, ...]]:
    """The values of a comprehension's variables, element by element."""
    if isinstance(range_, Map):
        pairs: list[tuple[Any, ...]] = list(range_.items())
        return pairs if variables == 2 else [(key,) for key, _ in pairs]
    if isinstance(range_, list):
        return list(enumerate(range_)) if variables == 2 else [(each,) for each in range_]
    raise failures.no_such_overload("only lists and maps have elements")


_ARMS: Mapping[type[Any], Callable[[Evaluator, Any, Scope], Any]] = {
    checked.Literal: Evaluator.literal,
    checked.Field: Evaluator.field,
    checked.HasField: Evaluator.has_field,
    checked.Local: Evaluator.local,
    checked.Select: Evaluator.select,
    checked.Has: Evaluator.has,
    checked.Index: Evaluator.index,
    checked.Call: Evaluator.call,
    checked.And: Evaluator.conjunction,
    checked.Or: Evaluator.disjunction,
    checked.Conditional: Evaluator.conditional,
    checked.List: Evaluator.list_literal,
    checked.Map: Evaluator.map_literal,
    checked.Comprehension: Evaluator.comprehension,
    checked.Bind: Evaluator.bind,
    checked.Slot: Evaluator.slot,
    checked.OptionalMap: Evaluator.optional_map,
}
