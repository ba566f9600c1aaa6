"""The checked tree: names resolved, macros recognised, constants folded.

This is the canonical tree: both evaluators run it, and ``docs/canonical-tree.md`` documents it.
Only ``checker`` creates it. Its JSON form follows from the classes here (``form``).
"""

from __future__ import annotations

from typing import Any, TypeAlias, Union

import attrs

from tidegate.language.tree.ast import Span

MEMBER = "member"
"""Metadata key of an attribute: its member in the JSON form, if the names differ."""
_ARGS = {MEMBER: "args"}

COMPREHENSIONS = frozenset(
    (
        "all",
        "exists",
        "exists_one",
        "map",
        "filter",
        "sortBy",
        "transformList",
        "transformMap",
        "transformMapEntry",
    )
)


PHRASE_TESTS = frozenset(("containsAny", "startsWithAny", "endsWithAny"))
"""Functions that take a list of texts, or the name of one."""
ASK_LISTS = PHRASE_TESTS | {"inList"}
"""Functions that may name a list."""


def _two_or_more(_node: object, _attribute: object, operands: tuple[Any, ...]) -> None:
    if len(operands) < 2:
        raise ValueError("`and` and `or` need two operands or more")


def _one_or_two(_node: object, _attribute: object, variables: tuple[str, ...]) -> None:
    if len(variables) not in (1, 2):
        raise ValueError("`variables` must be one or two names")


def _is_macro(_node: object, _attribute: object, macro: str) -> None:
    if macro not in COMPREHENSIONS:
        raise ValueError(f"unknown macro `{macro[:60]}`")


def _span() -> Span:
    return attrs.field(eq=False, repr=False, kw_only=True, default=Span(0, 0))


@attrs.frozen
class Literal:
    """A constant: scalar, type name, or a list or map of constants only.

    ``value`` is a value of ``tidegate.values``.
    """

    value: object
    span: Span = _span()


@attrs.frozen
class Field:
    """A declared field or variable by its full name, such as ``request.path``."""

    name: str
    span: Span = _span()


@attrs.frozen
class HasField:
    """``has(request.body)``: whether a declared field is present in the event."""

    name: str
    span: Span = _span()


@attrs.frozen
class Local:
    """A variable bound by an enclosing comprehension, bind or slot; innermost wins."""

    name: str
    span: Span = _span()


@attrs.frozen
class Select:
    operand: Checked
    field: str
    optional: bool = False
    span: Span = _span()


@attrs.frozen
class Has:
    """``has(operand.field)``."""

    operand: Checked
    field: str
    span: Span = _span()


@attrs.frozen
class Index:
    operand: Checked
    index: Checked
    optional: bool = False
    span: Span = _span()


@attrs.frozen
class Call:
    """A function or operator; for a member call the receiver is ``arguments[0]``.

    ``function`` is the full name (``contains``, ``math.greatest``, ``==``, ``!``, ``-`` with one or
    two arguments).  ``regexes`` has the translated text of the constant patterns, in order, if the
    function takes patterns; ``pattern_work`` is the work of all of them per character, if it was
    determined.
    """

    function: str
    member: bool
    arguments: tuple[Checked, ...] = attrs.field(metadata=_ARGS)
    regexes: tuple[str, ...] = ()
    span: Span = _span()
    pattern_work: int = attrs.field(default=0, eq=False, repr=False)


@attrs.frozen
class And:
    operands: tuple[Checked, ...] = attrs.field(metadata=_ARGS, validator=_two_or_more)
    span: Span = _span()


@attrs.frozen
class Or:
    operands: tuple[Checked, ...] = attrs.field(metadata=_ARGS, validator=_two_or_more)
    span: Span = _span()


@attrs.frozen
class Conditional:
    condition: Checked = attrs.field(metadata=_ARGS)
    then: Checked = attrs.field(metadata=_ARGS)
    otherwise: Checked = attrs.field(metadata=_ARGS)
    span: Span = _span()


@attrs.frozen
class ListElement:
    value: Checked
    optional: bool = False


@attrs.frozen
class List:
    elements: tuple[ListElement, ...]
    span: Span = _span()


@attrs.frozen
class MapEntry:
    key: Checked
    value: Checked
    optional: bool = False


@attrs.frozen
class Map:
    entries: tuple[MapEntry, ...]
    span: Span = _span()


@attrs.frozen
class Comprehension:
    """One of :data:`COMPREHENSIONS`; ``existsOne`` is ``exists_one``.

    ``variables`` has one name (element, or key of a map) or two (index and
    element, or key and value).  ``condition`` is the filter of the three-part
    forms; for ``filter`` itself the predicate is ``body``.
    """

    macro: str = attrs.field(validator=_is_macro)
    variables: tuple[str, ...] = attrs.field(validator=_one_or_two)
    range: Checked
    condition: Checked | None
    body: Checked
    span: Span = _span()


@attrs.frozen
class Bind:
    """``cel.bind(variable, value, body)``."""

    variable: str
    value: Checked
    body: Checked
    span: Span = _span()


@attrs.frozen
class Slot:
    """One of the values of ``cel.block``, and the rest of the block.

    Unlike with ``Bind``, an error of the value is one where ``variable`` is read.
    """

    variable: str
    value: Checked
    body: Checked
    span: Span = _span()


@attrs.frozen
class OptionalMap:
    """``operand.optMap(variable, body)``, or ``optFlatMap`` if ``flat``."""

    operand: Checked
    variable: str
    body: Checked
    flat: bool = False
    span: Span = _span()


Checked: TypeAlias = Union[
    Literal, Field, HasField, Local, Select, Has, Index, Call, And, Or, Conditional,
    List, Map, Comprehension, Bind, Slot, OptionalMap,
]  # fmt: skip


def list_name(node: Call) -> str | None:
    """The named list that a call asks; None if it asks none, or one with a computed name."""
    match node:
        case Call(function=function, arguments=(_, Literal(value=str(name)))):
            return name if function in ASK_LISTS else None
        case _:
            return None
