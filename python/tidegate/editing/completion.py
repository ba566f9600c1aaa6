"""Completions at a position in an expression that is being written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import attrs

from tidegate.errors import ExpressionError
from tidegate.functions import FUNCTIONS
from tidegate.language.check.macros import USAGE
from tidegate.language.check.node_types import node_types
from tidegate.language.printer import to_text
from tidegate.language.tree import ast
from tidegate.types import DYN, TypeParam

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tidegate.language.tree.schema import Schema
    from tidegate.policy.definitions.expressions import Names
    from tidegate.types import Type

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_LIST = re.compile(
    r"(?P<function>inList|(?:contains|startsWith|endsWith)Any)\(\s*(?P<text>[\"'][^\"']*)\Z"
)
_CAPTURED = re.compile(
    r"(?P<map>fields|request\.(?:headers|cookies|query_params|route_params))"
    r"\[[\"']?(?P<name>[^\"'\]]*)\Z"
)
_OPENING = {")": "(", "]": "["}


@attrs.frozen(kw_only=True)
class Completion:
    """One completion.

    Attributes:
        label: as shown in the list.
        insert: the text to insert.
        kind: of what it names.
        type: of its value, if known.
        detail: a signature, or how to write a macro.
        fill_rate: the share of recent events that have the field, if known.
    """

    label: str
    insert: str
    kind: Literal["field", "action", "function", "macro", "list"]
    type: str | None = None
    detail: str | None = None
    fill_rate: float | None = None


def complete(
    before: str, schema: Schema, names: Names, captured: Callable[[], Sequence[Completion]]
) -> tuple[int, list[Completion]]:
    """Completions at the end of a text; an unfinished text isn't an error.

    Args:
        before: the expression up to the position.
        schema: the names that it may use.
        names: the slugs of lists that it may use.
        captured: returns the names that traffic has, the most frequent first.

    Returns:
        The code point at which the completed word begins, and the completions.
    """
    if (found := _LIST.search(before)) is not None:
        slugs = names.lists if found["function"] == "inList" else names.texts
        items = _starting(_lists(slugs), found["text"].replace("'", '"'))
        return found.start("text"), items
    if (found := _CAPTURED.search(before)) is not None:
        wanted = f"{found['map']}.{found['name']}".lower()
        return found.start(), [each for each in captured() if each.label.lower().startswith(wanted)]
    word = _WORD.search(before)
    at = len(before) if word is None else word.start()
    operand = _operand(before[: at - 1]) if before[:at].endswith(".") else ""
    kind = _type_of(operand, schema)
    if kind is not None:
        within = [
            attrs.evolve(each, insert=each.insert[len(operand) + 1 :])
            for each in captured()
            if each.insert.startswith(f"{operand}.")
        ]
        return at, _starting([*within, *_members(kind)], before[at:])
    name = _NAME.search(before)
    start = len(before) if name is None else name.start()
    items = [*_fields(schema), *captured(), *_functions()]
    return start, _starting(items, before[start:])


def _starting(items: Iterable[Completion], text: str) -> list[Completion]:
    """Completions that start with a text, ignoring case."""
    wanted = text.lower()
    return [each for each in items if each.insert.lower().startswith(wanted)]


def _lists(slugs: frozenset[str]) -> Iterator[Completion]:
    for slug in sorted(slugs):
        text = to_text(ast.StringLiteral(slug))
        yield Completion(label=slug, insert=text, kind="list")


def _fields(schema: Schema) -> Iterator[Completion]:
    for name, kind in sorted(schema.fields.items()):
        is_action = name.startswith("actions.")
        yield Completion(
            label=name, insert=name, type=str(kind), kind="action" if is_action else "field"
        )


def _members(kind: Type) -> list[Completion]:
    """The functions of values of a type."""
    return [
        Completion(
            label=function.name,
            insert=f"{function.name}(",
            type=str(signatures[0].result),
            detail=str(signatures[0]),
            kind="function",
        )
        for (_, is_member), function in sorted(FUNCTIONS.items())
        if is_member
        and (
            signatures := [
                each.signature
                for each in function.overloads
                if _takes(each.signature.params[0], kind)
            ]
        )
    ]


def _takes(parameter: Type, kind: Type) -> bool:
    if kind is DYN or parameter is DYN or isinstance(parameter, TypeParam):
        return True
    is_plain = not (attrs.fields_dict(type(kind)).keys() - {"name"})
    return parameter == kind if is_plain else type(parameter) is type(kind)


def _functions() -> Iterator[Completion]:
    for name, usage in sorted(USAGE.items()):
        yield Completion(label=name, insert=f"{name}(", detail=usage, kind="macro")
    for (name, is_member), function in sorted(FUNCTIONS.items()):
        if not is_member and name[:1].isalpha():
            signature = function.overloads[0].signature
            yield Completion(
                label=name,
                insert=f"{name}(",
                type=str(signature.result),
                detail=str(signature),
                kind="function",
            )


def _type_of(operand: str, schema: Schema) -> Type | None:
    """The type of the operand before a dot; None if it isn't a value by itself."""
    if not operand:
        return None
    try:
        (_, kind), *_ = node_types(operand, schema)
    except ExpressionError:
        return None
    is_name = _NAME.fullmatch(operand) is not None
    return None if is_name and operand not in schema.fields else kind


def _operand(text: str) -> str:
    """The end of a text that is one value: names, calls and indexes joined by dots."""
    at = len(text)
    while at > 0:
        closing = text[at - 1]
        if closing in _OPENING:
            at = _opening(text, at - 1)
            if at < 0:
                return ""
            if (word := _NAME.search(text[:at])) is not None:
                at = word.start()
        elif (word := _NAME.search(text[:at])) is not None:
            at = word.start()
        elif closing in "\"'":
            at = text.rfind(closing, 0, at - 1)
            if at < 0:
                return ""
        else:
            break
        if text[at - 1 : at] != ".":
            break
        at -= 1
    return text[at:]


def _opening(text: str, closing: int) -> int:
    """The index of the opening bracket, or -1."""
    depth, quote = 0, ""
    for at in range(closing, -1, -1):
        each = text[at]
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        elif each in ")]":
            depth += 1
        elif each in "([":
            depth -= 1
            if not depth:
                return at
    return -1
