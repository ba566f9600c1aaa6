"""The syntax tree: the expression as written, with one frozen class per construct.

Nodes have no behaviour.  ``parser`` creates them, ``printer`` turns them back into text,
``checker`` resolves them into the checked tree of ``checked``. Spans are half-open ranges of code
points in the source text and are ignored in comparisons, so ``parse(print(tree)) == tree`` means
what it should.
"""

from __future__ import annotations

from typing import TypeAlias, Union

import attrs


@attrs.frozen
class Span:
    """A half-open range of code points, ``start <= i < end``, in the source text."""

    start: int
    end: int


def _span() -> Span:
    return attrs.field(eq=False, repr=False, kw_only=True, default=Span(0, 0))


@attrs.frozen
class NullLiteral:
    span: Span = _span()


@attrs.frozen
class BoolLiteral:
    value: bool
    span: Span = _span()


@attrs.frozen
class IntLiteral:
    """A decimal or hexadecimal integer.

    The sign, if any, belongs to ``Negate``, except for -9223372036854775808, which exists only with
    it.
    """

    value: int
    span: Span = _span()


@attrs.frozen
class UintLiteral:
    value: int
    span: Span = _span()


@attrs.frozen
class DoubleLiteral:
    value: float
    span: Span = _span()


@attrs.frozen
class StringLiteral:
    value: str
    span: Span = _span()


@attrs.frozen
class BytesLiteral:
    value: bytes
    span: Span = _span()


@attrs.frozen
class Identifier:
    """A simple name; ``absolute`` if written with a leading dot."""

    name: str
    absolute: bool = False
    span: Span = _span()


@attrs.frozen
class Select:
    """``operand.field``, or ``operand.?field`` if ``optional``."""

    operand: Node
    field: str
    optional: bool = False
    field_span: Span = attrs.field(eq=False, repr=False, kw_only=True, default=Span(0, 0))
    span: Span = _span()


@attrs.frozen
class IndexAccess:
    """``operand[index]``, or ``operand[?index]`` if ``optional``."""

    operand: Node
    index: Node
    optional: bool = False
    span: Span = _span()


@attrs.frozen
class Call:
    """A call as written: ``function(arguments)`` or ``target.function(arguments)``.

    Macros are calls here; only the checker distinguishes them.
    """

    function: str
    target: Node | None
    arguments: tuple[Node, ...]
    absolute: bool = False
    function_span: Span = attrs.field(eq=False, repr=False, kw_only=True, default=Span(0, 0))
    span: Span = _span()


@attrs.frozen
class ListElement:
    value: Node
    optional: bool = False


@attrs.frozen
class ListLiteral:
    elements: tuple[ListElement, ...]
    span: Span = _span()


@attrs.frozen
class MapEntry:
    key: Node
    value: Node
    optional: bool = False


@attrs.frozen
class MapLiteral:
    entries: tuple[MapEntry, ...]
    span: Span = _span()


@attrs.frozen
class MessageField:
    name: str
    value: Node
    optional: bool = False


@attrs.frozen
class MessageLiteral:
    """``Name{field: value}``: parsed so that the checker can reject it by name."""

    name: str
    fields: tuple[MessageField, ...]
    span: Span = _span()


@attrs.frozen
class Not:
    operand: Node
    span: Span = _span()


@attrs.frozen
class Negate:
    operand: Node
    span: Span = _span()


@attrs.frozen
class Binary:
    """One of ``+ - * / % == != < <= > >= in``."""

    operator: str
    left: Node
    right: Node
    operator_span: Span = attrs.field(eq=False, repr=False, kw_only=True, default=Span(0, 0))
    span: Span = _span()


@attrs.frozen
class And:
    """``a && b && ...``: a whole chain is one node, so that a long chain isn't deep."""

    operands: tuple[Node, ...]
    span: Span = _span()


@attrs.frozen
class Or:
    """``a || b || ...``, like ``And``."""

    operands: tuple[Node, ...]
    span: Span = _span()


@attrs.frozen
class Conditional:
    condition: Node
    then: Node
    otherwise: Node
    span: Span = _span()


Node: TypeAlias = Union[
    NullLiteral, BoolLiteral, IntLiteral, UintLiteral, DoubleLiteral, StringLiteral,
    BytesLiteral, Identifier, Select, IndexAccess, Call, ListLiteral, MapLiteral,
    MessageLiteral, Not, Negate, Binary, And, Or, Conditional,
]  # fmt: skip
