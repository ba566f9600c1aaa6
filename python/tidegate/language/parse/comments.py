"""Assigns a text's comments to places in its tree.

A comment is between two *items* (operands of a logical chain, elements of a list, arguments of a
call, parts of a conditional), or before or after the whole expression.  One on the line where an
item ends trails that item; any other leads the item after it.  A comment inside an item, if no
finer place is known, leads that item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.language.parse.parser import LexicalError, tokens
from tidegate.language.tree import ast
from tidegate.language.tree.walk import children

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.frozen
class Comments:
    """Comments by the ``id`` of their node; a map entry uses its key.

    Attributes:
        leading: on separate lines before the item.
        trailing: at the end of the item's last line.
        closing: after the last item of a bracket, by the bracket's node.
        after: on lines after the whole expression.
    """

    leading: dict[int, list[str]] = attrs.field(factory=dict)
    trailing: dict[int, list[str]] = attrs.field(factory=dict)
    closing: dict[int, list[str]] = attrs.field(factory=dict)
    after: list[str] = attrs.field(factory=list)


@attrs.frozen
class _Item:
    """A part between comments: its anchor, its extent, and the nodes to search."""

    anchor: ast.Node
    start: int
    end: int
    nodes: tuple[ast.Node, ...]


def comments_of(text: str, tree: ast.Node) -> Comments:
    """The comments of a text that parses to ``tree``."""
    found = Comments()
    for at, comment in _comments(text):
        if at < tree.span.start:
            found.leading.setdefault(id(tree), []).append(comment)
        elif at < tree.span.end:
            _attach(text, tree, at, comment, found)
        elif "\n" in text[tree.span.end : at]:
            found.after.append(comment)
        else:
            found.trailing.setdefault(id(tree), []).append(comment)
    return found


def comment_spans(text: str) -> Iterator[ast.Span]:
    """The positions of a text's comments, up to the first unreadable place."""
    try:
        for at, comment in _comments(text):
            yield ast.Span(at, at + len(comment))
    except LexicalError:
        return


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Every comment with its offset: they are in the gaps between tokens."""
    at = 0
    for span in tokens(text):
        yield from _comments_in(text, at, span.start)
        at = span.end
    yield from _comments_in(text, at, len(text))


def _comments_in(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    at = text.find("//", start, end)
    while at >= 0:
        line_end = text.find("\n", at, end)
        line_end = end if line_end < 0 else line_end
        yield at, text[at:line_end].rstrip()
        at = text.find("//", line_end, end)


def _attach(text: str, tree: ast.Node, at: int, comment: str, found: Comments) -> None:
    """Assign a comment within the tree to the innermost possible item."""
    place, node = tree, tree
    while True:
        items = _items(node, at)
        if items is None:
            inner = _containing(children(node), at)
        else:
            item = next((each for each in items if each.start <= at < each.end), None)
            if item is None:
                _attach_between(text, node, items, at, comment, found)
                return
            if item.start > place.span.start:
                place = item.anchor  # otherwise, a comment leading the first item leads the whole
            inner = _containing(item.nodes, at)
        if inner is None:
            found.leading.setdefault(id(place), []).append(comment)
            return
        node = inner


def _attach_between(
    text: str, node: ast.Node, items: list[_Item], at: int, comment: str, found: Comments
) -> None:
    before = [item for item in items if item.end <= at]
    after = [item for item in items if item.start > at]
    if before and "\n" not in text[before[-1].end : at]:
        found.trailing.setdefault(id(before[-1].anchor), []).append(comment)
    elif after:
        found.leading.setdefault(id(after[0].anchor), []).append(comment)
    else:
        found.closing.setdefault(id(node), []).append(comment)


def _containing(nodes: tuple[ast.Node, ...], at: int) -> ast.Node | None:
    return next((node for node in nodes if node.span.start <= at < node.span.end), None)


def _items(node: ast.Node, at: int) -> list[_Item] | None:
    """The items of a node if ``at`` is in its list of items."""
    match node:
        case ast.MapLiteral(entries):
            return [
                _Item(
                    entry.key,
                    entry.key.span.start,
                    entry.value.span.end,
                    (entry.key, entry.value),
                )
                for entry in entries
            ]
        case ast.Call(arguments=arguments) if at >= node.function_span.end:
            nodes = arguments
        case ast.And(operands) | ast.Or(operands):
            nodes = operands
        case ast.ListLiteral() | ast.MessageLiteral() | ast.Conditional():
            nodes = children(node)
        case _:
            return None
    return [_Item(each, each.span.start, each.span.end, (each,)) for each in nodes]
