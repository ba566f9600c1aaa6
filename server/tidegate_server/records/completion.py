"""``expressions/complete``: completions at a position in a text that is being written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import ExpressionError
from tidegate.functions import FUNCTIONS
from tidegate.language.check.macros import USAGE
from tidegate.language.check.node_types import node_types
from tidegate.language.printer import to_text
from tidegate.language.tree import ast
from tidegate.types import DYN, TypeParam
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.expressions import expressions_of, use_of
from tidegate_server.engines.derived_reads import learned
from tidegate_server.records.catalog import expression_of
from tidegate_server.stores.index import catalog
from tidegate_server.wire import expressions as wire_expressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.language.tree.schema import Schema
    from tidegate.types import Type

MOST = 100
"""The most completions in an answer."""
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


def complete(call: Call) -> Answer:
    """Return completions at a position; an unfinished text isn't an error."""
    body: wire_expressions.ExpressionCompletion = call.body
    before = body.expression[: body.position]
    expressions = expressions_of(call)
    schema = expressions.schemas[use_of(body.purpose, body.entity)]
    if (found := _LIST.search(before)) is not None:
        names = expressions.names
        slugs = names.lists if found["function"] == "inList" else names.texts
        items = _starting(_lists(slugs), found["text"].replace("'", '"'))
        return _answer(found.start("text"), items)
    if (found := _CAPTURED.search(before)) is not None:
        wanted = f"{found['map']}.{found['name']}".lower()
        named = [each for each in _captured(call) if each.label.lower().startswith(wanted)]
        return _answer(found.start(), named)
    word = _WORD.search(before)
    at = len(before) if word is None else word.start()
    operand = _operand(before[: at - 1]) if before[:at].endswith(".") else ""
    kind = _type_of(operand, schema)
    if kind is not None:
        within = [
            attrs.evolve(each, insert=each.insert[len(operand) + 1 :])
            for each in _captured(call)
            if each.insert.startswith(f"{operand}.")
        ]
        return _answer(at, _starting([*within, *_members(kind)], before[at:]))
    name = _NAME.search(before)
    start = len(before) if name is None else name.start()
    items = [*_fields(schema), *_captured(call), *_functions()]
    return _answer(start, _starting(items, before[start:]))


def _answer(start: int, items: Sequence[wire_expressions.Completion]) -> Answer:
    shown = tuple(items[:MOST])
    return Answer(body=wire_expressions.Completions(start=start, completions=shown))


def _starting(
    items: Iterator[wire_expressions.Completion] | list[wire_expressions.Completion], text: str
) -> list[wire_expressions.Completion]:
    """Return completions that start with a text, ignoring case."""
    wanted = text.lower()
    return [each for each in items if each.insert.lower().startswith(wanted)]


def _lists(slugs: frozenset[str]) -> Iterator[wire_expressions.Completion]:
    for slug in sorted(slugs):
        text = to_text(ast.StringLiteral(slug))
        yield wire_expressions.Completion(label=slug, insert=text, kind="list")


def _fields(schema: Schema) -> Iterator[wire_expressions.Completion]:
    for name, kind in sorted(schema.fields.items()):
        is_action = name.startswith("actions.")
        yield wire_expressions.Completion(
            label=name, insert=name, type=str(kind), kind="action" if is_action else "field"
        )


def _captured(call: Call) -> list[wire_expressions.Completion]:
    """Return names that traffic has, most frequent first, as the text that reads them."""
    with learned(call.app.store) as connection:
        found = catalog.fields(connection, call.tenant_id)
    found.sort(key=lambda each: (-each.present, each.name))
    made = [(expression_of(each.name, each.type), each) for each in found]
    return [
        wire_expressions.Completion(
            label=each.name,
            insert=text,
            type="string",
            kind="field",
            fill_rate=each.present / max(1, each.events),
        )
        for text, each in made
    ]


def _members(kind: Type) -> list[wire_expressions.Completion]:
    """Return the functions of values of a type."""
    return [
        wire_expressions.Completion(
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


def _functions() -> Iterator[wire_expressions.Completion]:
    for name, usage in sorted(USAGE.items()):
        yield wire_expressions.Completion(label=name, insert=f"{name}(", detail=usage, kind="macro")
    for (name, is_member), function in sorted(FUNCTIONS.items()):
        if not is_member and name[:1].isalpha():
            signature = function.overloads[0].signature
            yield wire_expressions.Completion(
                label=name,
                insert=f"{name}(",
                type=str(signature.result),
                detail=str(signature),
                kind="function",
            )


def _type_of(operand: str, schema: Schema) -> Type | None:
    """Return the type of the operand before a dot; None if it isn't a value by itself."""
    if not operand:
        return None
    try:
        (_, kind), *_ = node_types(operand, schema)
    except ExpressionError:
        return None
    is_name = _NAME.fullmatch(operand) is not None
    return None if is_name and operand not in schema.fields else kind


def _operand(text: str) -> str:
    """Return the end of a text that is one value: names, calls and indexes joined by dots."""
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
    """Return the index of the bracket that opens a closed one; -1 if there is none."""
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
