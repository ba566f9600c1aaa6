"""Builds the nodes of the syntax tree as the parser recognises constructs.

Each method of ``TreeBuilder`` is named after a rule's alias in ``grammar.lark`` and gets the rule's
parts: tokens, nodes, or lists of nodes.
"""

from __future__ import annotations

from typing import Any

import attrs

from tidegate.language.parse.syntax_errors import report, withdraw
from tidegate.language.tree.ast import (
    And,
    Binary,
    BoolLiteral,
    BytesLiteral,
    Call,
    Conditional,
    DoubleLiteral,
    Identifier,
    IndexAccess,
    IntLiteral,
    ListElement,
    ListLiteral,
    MapEntry,
    MapLiteral,
    MessageField,
    MessageLiteral,
    Negate,
    Node,
    Not,
    NullLiteral,
    Or,
    Select,
    Span,
    StringLiteral,
    UintLiteral,
)
from tidegate.language.tree.literals import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    LiteralError,
    bytes_value,
    int_value,
    string_value,
)

RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)

_PRECEDENCE = {
    "||": 1, "&&": 2,
    "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip
_FOREIGN_OPERATORS = {
    "=": "==", "===": "==", "=~": "==", "<>": "!=", "!==": "!=", "&": "&&", "|": "||", "^": "!=",
}  # fmt: skip
_WRITTEN_OTHERWISE = {"=~": 'text.matches("pattern")'}
"""Nodes without an operator between them."""


class Token:
    """A terminal in the text; the parser library expects ``line`` and similar attributes."""

    __slots__ = ("end_pos", "start_pos", "type", "value")
    line = column = end_line = end_column = None

    def __init__(self, kind: str, value: str, start: int, end: int) -> None:
        self.type = kind
        self.value = value
        self.start_pos = start
        self.end_pos = end


Parts = list[Any]


def _span(first: Token, last: Token) -> Span:
    return Span(first.start_pos, last.end_pos)


def _own(token: Token) -> Span:
    return Span(token.start_pos, token.end_pos)


class TreeBuilder:
    """Callbacks of the parser; stateless, so that one instance serves every thread."""

    # Sequences

    def none(self, _parts: Parts) -> Parts:
        return []

    def one(self, parts: Parts) -> Parts:
        return parts

    def more(self, parts: Parts) -> Parts:
        items: Parts = parts[0]
        items.append(parts[2])
        return items

    def first(self, parts: Parts) -> Any:
        return parts[0]

    def chain_start(self, parts: Parts) -> Parts:
        return parts

    def chain_next(self, parts: Parts) -> Parts:
        chain: Parts = parts[0]
        chain.append(parts[1])
        chain.append(parts[2])
        return chain

    # Operators

    def conditional(self, parts: Parts) -> Node:
        condition, _, then, _, otherwise = parts
        return Conditional(
            condition, then, otherwise, span=Span(condition.span.start, otherwise.span.end)
        )

    def operation(self, parts: Parts) -> Node:
        return _climb(parts[0])

    def negation(self, parts: Parts) -> Node:
        sign, operand = parts
        return Not(operand, span=Span(sign.start_pos, operand.span.end))

    def negative(self, parts: Parts) -> Node:
        sign, operand = parts
        span = Span(sign.start_pos, operand.span.end)
        if type(operand) is IntLiteral and operand.value == -INT_MIN and withdraw(operand.span):
            return IntLiteral(INT_MIN, span=span)
        return Negate(operand, span=span)

    def parenthesized(self, parts: Parts) -> Node:
        opening, inner, closing = parts
        node: Node = attrs.evolve(inner, span=_span(opening, closing))
        return node

    # Names, calls and access

    def identifier(self, parts: Parts) -> Node:
        name = parts[0]
        _refuse_reserved(name)
        return Identifier(name.value, span=Span(name.start_pos, name.end_pos))

    def absolute(self, parts: Parts) -> Node:
        dot, name = parts
        _refuse_reserved(name)
        return Identifier(name.value, True, span=_span(dot, name))

    def call(self, parts: Parts) -> Node:
        name, _, arguments, closing = parts
        _refuse_reserved(name)
        return Call(
            name.value, None, tuple(arguments),
            function_span=_own(name), span=_span(name, closing),
        )  # fmt: skip

    def absolute_call(self, parts: Parts) -> Node:
        dot, name, _, arguments, closing = parts
        _refuse_reserved(name)
        return Call(
            name.value, None, tuple(arguments), True,
            function_span=_own(name), span=_span(dot, closing),
        )  # fmt: skip

    def member_call(self, parts: Parts) -> Node:
        target, _, name, _, arguments, closing = parts
        return Call(
            name.value, target, tuple(arguments),
            function_span=_own(name), span=Span(target.span.start, closing.end_pos),
        )  # fmt: skip

    def select(self, parts: Parts) -> Node:
        operand, _, name = parts
        return Select(
            operand, _field_name(name),
            field_span=_own(name), span=Span(operand.span.start, name.end_pos),
        )  # fmt: skip

    def optional_select(self, parts: Parts) -> Node:
        operand, _, _, name = parts
        return Select(
            operand, _field_name(name), True,
            field_span=_own(name), span=Span(operand.span.start, name.end_pos),
        )  # fmt: skip

    def index(self, parts: Parts) -> Node:
        operand, _, index, closing = parts
        return IndexAccess(operand, index, span=Span(operand.span.start, closing.end_pos))

    def optional_index(self, parts: Parts) -> Node:
        operand, _, _, index, closing = parts
        return IndexAccess(operand, index, True, span=Span(operand.span.start, closing.end_pos))

    # Aggregates

    def element(self, parts: Parts) -> ListElement:
        return ListElement(parts[0])

    def optional_element(self, parts: Parts) -> ListElement:
        return ListElement(parts[1], True)

    def list_literal(self, parts: Parts) -> Node:
        opening, elements, closing = parts
        return ListLiteral(tuple(elements), span=_span(opening, closing))

    def entry(self, parts: Parts) -> MapEntry:
        return MapEntry(parts[0], parts[2])

    def optional_entry(self, parts: Parts) -> MapEntry:
        return MapEntry(parts[1], parts[3], True)

    def map_literal(self, parts: Parts) -> Node:
        opening, entries, closing = parts
        return MapLiteral(tuple(entries), span=_span(opening, closing))

    def message_field(self, parts: Parts) -> MessageField:
        return MessageField(_field_name(parts[0]), parts[2])

    def optional_message_field(self, parts: Parts) -> MessageField:
        return MessageField(_field_name(parts[1]), parts[3], True)

    def message_literal(self, parts: Parts) -> Node:
        target, opening, fields, closing = parts
        name = qualified_name(target)
        if name is None:
            report("syntax-error", "`{` after what is no name", _own(opening))
        span = Span(target.span.start, closing.end_pos)
        return MessageLiteral(name or "", tuple(fields), span=span)

    # Literals

    def int_literal(self, parts: Parts) -> Node:
        token = parts[0]
        value = int_value(token.value)
        if value > INT_MAX:
            # ``negative`` handles the one value that is valid only after a minus.
            report("invalid-number", f"int literal `{token.value}` is out of range", _own(token),
                   "an int has 64 bits; write a uint as `1u`, a double as `1.0`")  # fmt: skip
        return IntLiteral(value, span=_own(token))

    def uint_literal(self, parts: Parts) -> Node:
        token = parts[0]
        value = int_value(token.value[:-1])
        if value > UINT_MAX:
            report("invalid-number", f"uint literal `{token.value}` is out of range", _own(token))
        return UintLiteral(value, span=_own(token))

    def double_literal(self, parts: Parts) -> Node:
        token = parts[0]
        value = float(token.value)
        if value == float("inf"):
            report("invalid-number", f"double literal `{token.value}` is out of range", _own(token))
        return DoubleLiteral(value, span=_own(token))

    def string_literal(self, parts: Parts) -> Node:
        token = parts[0]
        span = Span(token.start_pos, token.end_pos)
        try:
            return StringLiteral(string_value(token.value), span=span)
        except LiteralError as error:
            _report_literal(token, error)
            return StringLiteral("", span=span)

    def bytes_literal(self, parts: Parts) -> Node:
        token = parts[0]
        try:
            return BytesLiteral(bytes_value(token.value), span=_own(token))
        except LiteralError as error:
            _report_literal(token, error)
            return BytesLiteral(b"", span=_own(token))

    def true_literal(self, parts: Parts) -> Node:
        return BoolLiteral(True, span=_own(parts[0]))

    def false_literal(self, parts: Parts) -> Node:
        return BoolLiteral(False, span=_own(parts[0]))

    def null_literal(self, parts: Parts) -> Node:
        return NullLiteral(span=_own(parts[0]))


def qualified_name(node: Node) -> str | None:
    """``a.b.c`` as text if the node is a chain of plain names, else None."""
    names: list[str] = []
    while type(node) is Select and not node.optional:
        names.append(node.field)
        node = node.operand
    if type(node) is not Identifier:
        return None
    names.append(f".{node.name}" if node.absolute else node.name)
    return ".".join(reversed(names))


def _field_name(token: Token) -> str:
    return token.value[1:-1] if token.type == "QUOTED" else token.value


def _refuse_reserved(name: Token) -> None:
    if name.value in RESERVED:
        report(
            "reserved-word", f"`{name.value}` is a reserved word", _own(name),
            "reserved words can name fields and members, not variables or functions",
        )  # fmt: skip


def _report_literal(token: Token, error: LiteralError) -> None:
    span = Span(token.start_pos + error.start, token.start_pos + error.end)
    report("invalid-escape", str(error), span, error.hint)


# Precedence


def _climb(chain: list[Any]) -> Node:
    """The tree for a flat chain: operand, operator, operand, operator, operand, ..."""
    for at in range(1, len(chain), 2):
        token = chain[at]
        if token.value not in _PRECEDENCE:
            meant = _FOREIGN_OPERATORS[token.value]
            mend = _WRITTEN_OTHERWISE.get(token.value, meant)
            report("syntax-error", f"no such operator `{token.value}`", _own(token),
                   f"write `{mend}`")  # fmt: skip
            chain[at] = Token(token.type, meant, token.start_pos, token.end_pos)
    return _logical(chain, "||", Or)


def _logical(chain: list[Any], sign: str, kind: type[And] | type[Or]) -> Node:
    """Split at a logical operator; a nested node of the same kind is part of the chain."""
    operands: list[Node] = []
    start = 0
    for at in range(1, len(chain) + 1, 2):
        if at == len(chain) or chain[at].value == sign:
            part = chain[start:at]
            node = _logical(part, "&&", And) if kind is Or else _relations(part)
            if type(node) is kind:
                operands.extend(node.operands)
            else:
                operands.append(node)
            start = at + 1
    if len(operands) == 1:
        return operands[0]
    return kind(tuple(operands), span=Span(chain[0].span.start, chain[-1].span.end))


def _relations(chain: list[Any]) -> Node:
    """Relations and arithmetic, all left-associative, by operator precedence."""
    operands: list[Node] = [chain[0]]
    operators: list[Token] = []
    for at in range(1, len(chain), 2):
        token = chain[at]
        strength = _PRECEDENCE[token.value]
        while operators and _PRECEDENCE[operators[-1].value] >= strength:
            _reduce(operands, operators)
        operators.append(token)
        operands.append(chain[at + 1])
    while operators:
        _reduce(operands, operators)
    return operands[0]


def _reduce(operands: list[Node], operators: list[Token]) -> None:
    right, left, token = operands.pop(), operands.pop(), operators.pop()
    operands.append(
        Binary(
            token.value, left, right,
            operator_span=_own(token), span=Span(left.span.start, right.span.end),
        )
    )  # fmt: skip
