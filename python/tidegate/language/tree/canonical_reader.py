"""The checked tree from the NODE of docs/canonical-tree.md, trusting nothing.

What is read may have been stored, sent or made by hand: every bound and kind is
checked on the way, and a fault is a finding, never a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tidegate.errors import ExpressionError
from tidegate.language.tree import checked
from tidegate.language.tree.ast import Span
from tidegate.language.tree.diagnostics import Diagnostic
from tidegate.limits import DEFAULT, Limits
from tidegate.wire_values import from_wire

Json = dict[str, Any]

_COMPREHENSIONS = frozenset(
    (
        "all",
        "exists",
        "exists_one",
        "map",
        "filter",
        "transformList",
        "transformMap",
        "transformMapEntry",
    )
)


def node_from_json(
    data: object, limits: Limits = DEFAULT, text_length: int | None = None
) -> checked.Checked:
    """The checked tree of a NODE.

    Args:
        data: the NODE, as parsed JSON.
        limits: bounds on its depth and nodes.
        text_length: where spans must end, if known.

    Raises:
        ExpressionError: the data is no well-formed NODE.
    """
    try:
        return _Reader(limits, text_length).node(data, 1, ())
    except RecursionError:
        refuse_tree("the tree nests too deeply for the caller's stack")


def refuse_tree(message: str) -> NoReturn:
    """Refuse an envelope or a part of it.

    Raises:
        ExpressionError: always.
    """
    finding = Diagnostic("invalid-canonical-tree", message, Span(0, 0))
    raise ExpressionError([finding], f"invalid canonical tree: {message}")


def read_string(data: Json, member: str) -> str:
    """A member that must be a string of Unicode text."""
    found = data.get(member)
    if not isinstance(found, str) or not _is_text(found):
        refuse_tree(f"`{member}` must be a string")
    return found


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _read_flag(data: Json, member: str) -> bool:
    found = data.get(member, False)
    if not isinstance(found, bool):
        refuse_tree(f"`{member}` must be true or false")
    return found


def _read_object(data: object) -> Json:
    if not isinstance(data, dict):
        refuse_tree("an element or entry must be an object")
    return data


class _Reader:
    def __init__(self, limits: Limits, text_length: int | None) -> None:
        self._limits = limits
        self._text_length = text_length
        self._nodes = 0

    def node(self, data: object, depth: int, names: tuple[str, ...]) -> checked.Checked:
        """One node; ``names`` are the variables of the macros around it."""
        self._nodes += 1
        if depth > self._limits.nesting:
            refuse_tree(f"nodes nest more than {self._limits.nesting} levels deep")
        if self._nodes > self._limits.nodes:
            refuse_tree(f"more than {self._limits.nodes} nodes")
        if not isinstance(data, dict):
            refuse_tree("a node must be an object")
        kind = data.get("kind")
        read = _READERS.get(kind) if isinstance(kind, str) else None
        if read is None:
            refuse_tree("a node has an unknown kind")
        return read(self, data, self._span(data), depth + 1, names)

    def nodes(
        self, data: Json, member: str, depth: int, names: tuple[str, ...]
    ) -> tuple[checked.Checked, ...]:
        return tuple(self.node(each, depth, names) for each in self.array(data, member))

    def array(self, data: Json, member: str) -> list[Any]:
        found = data.get(member)
        if not isinstance(found, list):
            refuse_tree(f"`{member}` must be an array")
        if len(found) > self._limits.list_elements:
            refuse_tree(f"`{member}` has more than {self._limits.list_elements} parts")
        return found

    def _span(self, data: Json) -> Span:
        span = data.get("span")
        if not isinstance(span, list) or len(span) != 2 or any(type(at) is not int for at in span):
            refuse_tree("`span` must be two offsets")
        start, end = span
        if not 0 <= start <= end or end > (self._text_length or end):
            refuse_tree("`span` lies outside the text")
        return Span(start, end)

    def literal(
        self, data: Json, span: Span, _depth: int, _names: tuple[str, ...]
    ) -> checked.Checked:
        try:
            return checked.Literal(from_wire(data.get("value")), span=span)
        except (ValueError, OverflowError) as error:
            refuse_tree(f"a literal has no value: {error}")

    def field(
        self, data: Json, span: Span, _depth: int, _names: tuple[str, ...]
    ) -> checked.Checked:
        return checked.Field(read_string(data, "name"), span=span)

    def has_field(
        self, data: Json, span: Span, _depth: int, _names: tuple[str, ...]
    ) -> checked.Checked:
        return checked.HasField(read_string(data, "name"), span=span)

    def local(self, data: Json, span: Span, _depth: int, names: tuple[str, ...]) -> checked.Checked:
        name = read_string(data, "name")
        if name not in names:
            refuse_tree(f"no macro declares the variable `{name[:60]}`")
        return checked.Local(name, span=span)

    def select(self, data: Json, span: Span, depth: int, names: tuple[str, ...]) -> checked.Checked:
        operand = self.node(data.get("operand"), depth, names)
        return checked.Select(
            operand, read_string(data, "field"), _read_flag(data, "optional"), span=span
        )

    def has(self, data: Json, span: Span, depth: int, names: tuple[str, ...]) -> checked.Checked:
        operand = self.node(data.get("operand"), depth, names)
        return checked.Has(operand, read_string(data, "field"), span=span)

    def index(self, data: Json, span: Span, depth: int, names: tuple[str, ...]) -> checked.Checked:
        operand = self.node(data.get("operand"), depth, names)
        index = self.node(data.get("index"), depth, names)
        return checked.Index(operand, index, _read_flag(data, "optional"), span=span)

    def call(self, data: Json, span: Span, depth: int, names: tuple[str, ...]) -> checked.Checked:
        arguments = self.nodes(data, "args", depth, names)
        regexes = self.array(data, "regexes") if "regexes" in data else []
        if not all(isinstance(each, str) for each in regexes):
            refuse_tree("`regexes` must be strings")
        member = _read_flag(data, "member")
        if member and not arguments:
            refuse_tree("a member call needs its receiver")
        return checked.Call(
            read_string(data, "function"), member, arguments, tuple(regexes), span=span
        )

    def conjunction(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        return checked.And(self._operands(data, depth, names), span=span)

    def disjunction(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        return checked.Or(self._operands(data, depth, names), span=span)

    def _operands(
        self, data: Json, depth: int, names: tuple[str, ...]
    ) -> tuple[checked.Checked, ...]:
        operands = self.nodes(data, "args", depth, names)
        if len(operands) < 2:
            refuse_tree("`and` and `or` need two operands or more")
        return operands

    def conditional(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        parts = self.nodes(data, "args", depth, names)
        if len(parts) != 3:
            refuse_tree("a conditional has three parts")
        condition, then, otherwise = parts
        return checked.Conditional(condition, then, otherwise, span=span)

    def list_node(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        elements = tuple(
            checked.ListElement(
                self.node(each.get("value"), depth, names), _read_flag(each, "optional")
            )
            for each in map(_read_object, self.array(data, "elements"))
        )
        return checked.List(elements, span=span)

    def map_node(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        entries = tuple(
            checked.MapEntry(
                self.node(each.get("key"), depth, names),
                self.node(each.get("value"), depth, names),
                _read_flag(each, "optional"),
            )
            for each in map(_read_object, self.array(data, "entries"))
        )
        return checked.Map(entries, span=span)

    def comprehension(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        macro = read_string(data, "macro")
        variables = self.array(data, "variables")
        if macro not in _COMPREHENSIONS:
            refuse_tree(f"unknown macro `{macro[:60]}`")
        if len(variables) not in (1, 2) or not all(isinstance(each, str) for each in variables):
            refuse_tree("`variables` must be one or two names")
        over = self.node(data.get("range"), depth, names)
        inner = (*names, *variables)
        has_condition = data.get("condition") is not None
        condition = self.node(data["condition"], depth, inner) if has_condition else None
        body = self.node(data.get("body"), depth, inner)
        return checked.Comprehension(macro, tuple(variables), over, body, condition, span=span)

    def bind(self, data: Json, span: Span, depth: int, names: tuple[str, ...]) -> checked.Checked:
        variable = read_string(data, "variable")
        value = self.node(data.get("value"), depth, names)
        body = self.node(data.get("body"), depth, (*names, variable))
        return checked.Bind(variable, value, body, span=span)

    def optional_map(
        self, data: Json, span: Span, depth: int, names: tuple[str, ...]
    ) -> checked.Checked:
        variable = read_string(data, "variable")
        operand = self.node(data.get("operand"), depth, names)
        body = self.node(data.get("body"), depth, (*names, variable))
        return checked.OptionalMap(operand, variable, body, _read_flag(data, "flat"), span=span)


_Read = Callable[[_Reader, Json, Span, int, tuple[str, ...]], checked.Checked]
_READERS: dict[str, _Read] = {
    "literal": _Reader.literal,
    "field": _Reader.field,
    "has_field": _Reader.has_field,
    "local": _Reader.local,
    "select": _Reader.select,
    "has": _Reader.has,
    "index": _Reader.index,
    "call": _Reader.call,
    "and": _Reader.conjunction,
    "or": _Reader.disjunction,
    "conditional": _Reader.conditional,
    "list": _Reader.list_node,
    "map": _Reader.map_node,
    "comprehension": _Reader.comprehension,
    "bind": _Reader.bind,
    "optional_map": _Reader.optional_map,
}
