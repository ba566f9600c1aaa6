"""Formats a syntax tree as canonical text.

The canonical layout: one space around operators, no needless parentheses, strings in double quotes
(raw if they contain backslashes), lines broken before ``&&`` and ``||`` beyond 100 columns, and in
brackets around the broken part.  Comments stay with the part they belong to.  The text parses to an
equal tree, and formatting it again changes nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidegate.language.layout import FORCED, HARD, LINE, SOFT, Document, Group, Nest, lay_out
from tidegate.language.parse.comments import Comments, comments_of
from tidegate.language.parse.parser import parse
from tidegate.language.tree import ast
from tidegate.language.tree.walk import walk
from tidegate.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 100
"""Longer lines are broken."""

_CONDITIONAL, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _MEMBER = range(8)
_BINARY = {
    "==": _RELATION, "!=": _RELATION, "<": _RELATION, "<=": _RELATION, ">": _RELATION,
    ">=": _RELATION, "in": _RELATION, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT,
    "%": _PRODUCT,
}  # fmt: skip
_PLAIN_NAME = re.compile(r"(?!(?:in|true|false|null)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")


_SETTLING = 8
"""Most layout passes for a text with comments; two usually suffice."""


def format(text: str, limits: Limits = DEFAULT) -> str:
    """The expression in its canonical layout, comments kept.

    Raises:
        ExpressionError: the text does not parse.
    """
    tree = parse(text, limits)
    comments = comments_of(text, tree)
    found = _Printer(comments).print(tree)
    if comments == Comments():
        return found
    # A comment between two tokens belongs to the node that begins after it, which can change once
    # lines are broken elsewhere. Its place is final when nothing moves any longer.
    for _ in range(_SETTLING):
        again = parse(found, limits)
        settled = _Printer(comments_of(found, again)).print(again)
        if settled == found:
            break
        found = settled
    return found


def to_text(tree: ast.Node) -> str:
    """The canonical text of a syntax tree."""
    return _Printer(Comments()).print(tree)


class _Printer:
    def __init__(self, comments: Comments) -> None:
        self._comments = comments

    def print(self, tree: ast.Node) -> str:
        document = self._item(tree, self._document(tree))
        after: list[Document] = [[HARD, comment] for comment in self._comments.after]
        return lay_out([document, *after], WIDTH)

    # Precedence

    def _operand(self, node: ast.Node, required: int) -> Document:
        """A node where the grammar requires at least this precedence, parenthesised if needed."""
        document = self._document(node)
        if _strength(node) >= required:
            return document
        return Group(["(", Nest([SOFT, document]), SOFT, ")"], rigid=not _is_breakable(node))

    # Comments

    def _item(self, node: ast.Node, document: Document, sign: str = "") -> Document:
        """A part with its comments, and the operator before it."""
        leading = self._comments.leading.get(id(node), ())
        trailing = self._comments.trailing.get(id(node), ())
        before: list[Document] = [[comment, HARD] for comment in leading]
        after: list[Document] = [[" ", comment, FORCED] for comment in trailing]
        return [*before, sign, document, *after]

    def _bracketed(
        self, node: ast.Node, opening: str, items: Sequence[tuple[ast.Node, Document]], closing: str
    ) -> Document:
        """Items between brackets, one per line if they are broken."""
        last = self._comments.closing.get(id(node), ())
        if not items and not last:
            return opening + closing
        parts: list[Document] = []
        for index, (anchor, document) in enumerate(items):
            # A comma goes before its item's trailing comment.
            comma = "," if index < len(items) - 1 else ""
            parts += [LINE if index else SOFT, self._item(anchor, [document, comma])]
        parts += [[HARD, comment] for comment in last]
        rigid = not any(_is_breakable(part) for part in walk(node) if part is not node)
        return Group([opening, Nest(parts), SOFT, closing], rigid=rigid)

    # Constructs

    def _document(self, node: ast.Node) -> Document:
        match node:
            case ast.And(operands):
                return self._chain(operands, "&& ", _RELATION)
            case ast.Or(operands):
                return self._chain(operands, "|| ", _AND)
            case ast.Binary(operator, left, right):
                strength = _BINARY[operator]
                ours, theirs = self._operand(left, strength), self._operand(right, strength + 1)
                return [ours, f" {operator} ", theirs]
            case ast.Conditional():
                return self._conditional(node)
            case ast.Not(operand):
                return ["!", self._operand(operand, _UNARY)]
            case ast.Negate(operand):
                return ["-", self._operand(operand, _UNARY)]
            case ast.Select(operand, field, optional):
                sign = ".?" if optional else "."
                return [self._operand(operand, _MEMBER), sign, _field(field)]
            case ast.IndexAccess(operand, index, optional):
                opening = "[?" if optional else "["
                return [self._operand(operand, _MEMBER), opening, self._document(index), "]"]
            case ast.Call():
                return self._call(node)
            case ast.ListLiteral() | ast.MapLiteral() | ast.MessageLiteral():
                return self._aggregate(node)
            case _:
                return _leaf(node)

    def _chain(self, operands: Sequence[ast.Node], sign: str, required: int) -> Document:
        parts: list[Document] = []
        for index, operand in enumerate(operands):
            document = self._operand(operand, required)
            if isinstance(operand, ast.And):
                document = Nest(document)
            if index:
                parts.append(LINE)
            parts.append(self._item(operand, document, sign if index else ""))
        return Group(parts)

    def _conditional(self, node: ast.Conditional) -> Document:
        condition = self._item(node.condition, self._operand(node.condition, _OR))
        then = self._item(node.then, self._operand(node.then, _OR), "? ")
        otherwise = self._item(node.otherwise, self._document(node.otherwise), ": ")
        return Group([condition, Nest([LINE, then, LINE, otherwise])])

    def _call(self, node: ast.Call) -> Document:
        items = [(argument, self._document(argument)) for argument in node.arguments]
        arguments = self._bracketed(node, "(", items, ")")
        if node.target is None:
            return ["." if node.absolute else "", node.function, arguments]
        return [self._operand(node.target, _MEMBER), ".", node.function, arguments]

    def _aggregate(self, node: ast.ListLiteral | ast.MapLiteral | ast.MessageLiteral) -> Document:
        items: list[tuple[ast.Node, Document]]
        match node:
            case ast.ListLiteral(elements):
                items = [
                    (each.value, [_mark(each.optional), self._document(each.value)])
                    for each in elements
                ]
                return self._bracketed(node, "[", items, "]")
            case ast.MapLiteral(entries):
                items = [(each.key, self._entry(each)) for each in entries]
                return self._bracketed(node, "{", items, "}")
            case ast.MessageLiteral(name, fields):
                items = [
                    (
                        each.value,
                        [_mark(each.optional), _field(each.name), ": ", self._document(each.value)],
                    )
                    for each in fields
                ]
                return [name, self._bracketed(node, "{", items, "}")]

    def _entry(self, entry: ast.MapEntry) -> Document:
        key, value = self._document(entry.key), self._document(entry.value)
        return [_mark(entry.optional), key, ": ", value]


def _mark(optional: bool) -> str:
    return "?" if optional else ""


def _strength(node: ast.Node) -> int:
    match node:
        case ast.Conditional():
            return _CONDITIONAL
        case ast.Or():
            return _OR
        case ast.And():
            return _AND
        case ast.Binary(operator):
            return _BINARY[operator]
        case ast.Not() | ast.Negate():
            return _UNARY
        case ast.IntLiteral(value) if value < 0:
            return _UNARY
        case _:
            return _MEMBER


def _is_breakable(node: ast.Node) -> bool:
    return isinstance(node, (ast.And, ast.Or, ast.Conditional))


def _field(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else f"`{name}`"


def _leaf(node: ast.Node) -> str:
    match node:
        case ast.Identifier(name, absolute):
            return f".{name}" if absolute else name
        case ast.NullLiteral():
            return "null"
        case ast.BoolLiteral(value):
            return "true" if value else "false"
        case ast.IntLiteral(value):
            return str(value)
        case ast.UintLiteral(value):
            return f"{value}u"
        case ast.DoubleLiteral(value):
            return repr(value)
        case ast.StringLiteral(value):
            return string_literal(value)
        case ast.BytesLiteral(value):
            return _bytes_literal(value)
    raise TypeError(f"`{type(node).__name__}` is no node of the syntax tree")


def member_text(operand: str, name: str) -> str:
    """The text that accesses a member of a map: ``fields.account``, ``request.headers["x-app"]``.

    Args:
        operand: the map's text.
        name: the member's name, any string.
    """
    if _PLAIN_NAME.match(name):
        return f"{operand}.{name}"
    return f"{operand}[{string_literal(name)}]"


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string_literal(value: str) -> str:
    """A string literal: in double quotes unless others need fewer escapes."""
    quote = "'" if '"' in value and "'" not in value else '"'
    if "\\" in value and quote not in value and value.isprintable():
        return f"r{quote}{value}{quote}"
    return quote + "".join(_escaped(character, quote) for character in value) + quote


def _escaped(character: str, quote: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == quote:
        return "\\" + character
    if character.isprintable():
        return character
    point = ord(character)
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _bytes_literal(value: bytes) -> str:
    body = "".join(
        _escaped(chr(byte), '"') if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in value
    )
    return f'b"{body}"'
