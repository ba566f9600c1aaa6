"""Formats the expressions of a document in place; everything around them stays as it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import attrs

from tidegate.errors import DefinitionsError, ExpressionError
from tidegate.language.printer import format as format_expression
from tidegate.language.tree.diagnostics import Source
from tidegate.policy.definitions.findings import Finding, pointer_to, refuse
from tidegate.policy.document.positions import locate
from tidegate.policy.document.tree import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidegate.policy.document.tree import Node

_EXPRESSION = re.compile(
    r"/actions/\d+/expression"
    r"|/entities/\d+/(?:match_expression|key_fields/\d+)"
    r"|/mitigations/\d+/block/computed_headers/[^/]+"
    r"|/policies/\d+/expression"
    r"|/policies/\d+/clauses/\d+/(?:expression|window/field)"
)
_HEADER = re.compile(r"[|>][^\r\n]*")
_BREAK = re.compile(r"\r?\n *")
_UNSAFE = re.compile(r"""^[-?:,\[\]{}#&*!|>'"%@`\s]|: |:$| #|\s$|^(?:true|false|null|~)$""")
_OF_FLOW = frozenset("[]{},")
"""Characters that a plain scalar within brackets can't have."""


@attrs.frozen
class Formatted:
    """A formatted document.

    Attributes:
        text: the document.
        skipped: pointers of expressions that stay as they are, because what is around them can't
            hold the formatted lines: those with comments need a block of lines.
    """

    text: str
    skipped: tuple[str, ...]


def format_tree(root: Node, text: str, parse: Callable[[str], Node]) -> Formatted:
    """Format the expressions of a document.

    Args:
        root: its tree.
        text: its text.
        parse: returns the tree for a text, to compare the result with the original.

    Raises:
        DefinitionsError: an expression doesn't parse.
    """
    found: list[Finding] = []
    skipped: list[str] = []
    parts: list[str] = []
    end = 0
    expressions = [
        (pointer, node)
        for pointer, node in _scalars(root, "")
        if _EXPRESSION.fullmatch(pointer) and isinstance(node.value, str)
    ]
    for pointer, node in sorted(expressions, key=lambda each: each[1].start or 0):
        try:
            formatted = format_expression(str(node.value))
        except ExpressionError as error:
            found += [
                Finding(each.code, each.message, pointer, hint=each.hint, span=each.span)
                for each in error.diagnostics
            ]
            continue
        written = _written(node, formatted, text)
        if written is None:
            skipped.append(pointer)
        elif node.start is not None and node.end is not None:
            parts += (text[end : node.start], written)
            end = node.end
    if found:
        raise refuse(locate(found, root, Source(text)))
    made = "".join((*parts, text[end:]))
    if not _is_same(root, made, parse):
        return Formatted(text, tuple(pointer for pointer, _ in expressions))
    return Formatted(made, tuple(skipped))


def _is_same(root: Node, made: str, parse: Callable[[str], Node]) -> bool:
    try:
        return _says_the_same(root, parse(made), "")
    except (DefinitionsError, ExpressionError):
        return False


def _scalars(node: Node, pointer: str) -> Iterator[tuple[str, Scalar]]:
    match node:
        case Mapping(entries):
            for key, value in entries:
                yield from _scalars(value, pointer_to(pointer, str(key.value)))
        case Sequence(items):
            for at, each in enumerate(items):
                yield from _scalars(each, pointer_to(pointer, at))
        case Scalar():
            yield pointer, node


def _written(node: Scalar, formatted: str, text: str) -> str | None:
    """An expression as the scalar writes it; None if it can't."""
    before = text[node.start : node.end]
    if formatted == node.value:
        return before
    if node.style in ("literal", "folded"):
        return _block(before, formatted, is_folded=node.style == "folded")
    line = _on_one_line(formatted)
    if line is None:
        return None
    if node.style == "double":
        return json.dumps(line, ensure_ascii=False)
    is_plain = node.style == "plain" and not _UNSAFE.search(line)
    if is_plain and not _OF_FLOW & (set(line) - set(before)):
        return line
    return "'" + line.replace("'", "''") + "'"


def _on_one_line(formatted: str) -> str | None:
    """An expression without line breaks; None if a comment needs one."""
    if "\n" not in formatted:
        return formatted
    line = _BREAK.sub(" ", formatted)
    try:
        return line if format_expression(line) == formatted else None
    except ExpressionError:
        return None


def _block(before: str, formatted: str, *, is_folded: bool) -> str:
    """The lines of a block, as far indented as they were."""
    header = _HEADER.match(before)
    lines = before.splitlines(keepends=True)
    content = next((each for each in lines[1:] if each.strip()), "")
    indent = content[: len(content) - len(content.lstrip(" "))]
    ending = "\r\n" if lines[0].endswith("\r\n") else "\n"
    tail = before[len(before.rstrip()) :]
    first = header[0] if header else "|-"
    if is_folded and "\n" in formatted:
        first = first.replace(">", "|", 1)
    body = ending.join(f"{indent}{each}" if each else "" for each in formatted.split("\n"))
    return f"{first}{ending}{body}{tail}"


def _says_the_same(one: Node, other: Node, pointer: str) -> bool:
    """Whether two trees differ at most in the layout of expressions."""
    match one, other:
        case Mapping(before), Mapping(after):
            return len(before) == len(after) and all(
                key.value == new_key.value
                and _says_the_same(value, new, pointer_to(pointer, str(key.value)))
                for (key, value), (new_key, new) in zip(before, after, strict=True)
            )
        case Sequence(before_items), Sequence(after_items):
            return len(before_items) == len(after_items) and all(
                _says_the_same(each, new, pointer_to(pointer, at))
                for at, (each, new) in enumerate(zip(before_items, after_items, strict=True))
            )
        case Scalar(str() as old), Scalar(str() as new) if _EXPRESSION.fullmatch(pointer):
            return format_expression(old) == format_expression(new)
        case Scalar(old_value), Scalar(new_value):
            return type(old_value) is type(new_value) and old_value == new_value
        case _:
            return False
