"""The one traversal, over both trees."""

from __future__ import annotations

import typing

import attrs
from hypothesis import given

from language.syntax_trees import trees
from tidegate.language.parse.parser import parse
from tidegate.language.tree import ast, checked
from tidegate.language.tree.walk import children, measure, walk


def test_parents_come_before_children_in_order() -> None:
    """The walk visits parents before children, in the order of the text."""
    names = [node.name for node in walk(parse("a + f(b, [c], {d: e})[g].h ? i : !j"))
             if isinstance(node, ast.Identifier)]  # fmt: skip
    assert names == list("abcdegij")


@given(trees)
def test_every_node_is_met(tree: ast.Node) -> None:
    """No part of a tree escapes the traversal: as many nodes as there are objects."""
    kinds = typing.get_args(ast.Node)

    def objects(thing: object) -> int:
        if isinstance(thing, tuple):
            return sum(map(objects, thing))
        if not attrs.has(type(thing)):
            return 0
        below = sum(objects(getattr(thing, field.name)) for field in attrs.fields(type(thing)))
        return below + isinstance(thing, kinds)

    assert len(list(walk(tree))) == objects(tree)


def test_every_kind_of_node_with_parts_has_children() -> None:
    """A new node class cannot be forgotten: those that hold nodes are in the table."""
    leaves = {"NullLiteral", "BoolLiteral", "IntLiteral", "UintLiteral", "DoubleLiteral",
              "StringLiteral", "BytesLiteral", "Identifier", "Literal", "Field", "HasField",
              "Local"}  # fmt: skip
    from tidegate.language.tree.walk import _CHILDREN

    kinds = {*typing.get_args(ast.Node), *typing.get_args(checked.Checked)}
    assert {kind for kind in kinds if kind.__name__ not in leaves} == set(_CHILDREN)


def test_measuring_needs_no_recursion() -> None:
    """The depth of a tree far deeper than Python's stack is found."""
    node: ast.Node = ast.Identifier("a")
    for _ in range(50_000):
        node = ast.Not(node)
    _, deep = measure(node, 64)
    assert isinstance(deep, ast.Not)
    assert measure(parse("a && !b"), 64) == (4, None)
    assert children(ast.Identifier("a")) == ()
