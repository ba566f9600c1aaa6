"""Hypothesis strategies for syntax trees as the parser makes them."""

from __future__ import annotations

from hypothesis import strategies as st

from tidegate.language.parse.tree_builder import RESERVED
from tidegate.language.tree import ast
from tidegate.language.tree.literals import INT_MAX, UINT_MAX

_KEYWORDS = RESERVED | {"in", "true", "false", "null"}

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name not in _KEYWORDS
)
field_names = names | st.from_regex(r"[A-Za-z0-9_./ -]{1,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)

literals = st.one_of(
    st.builds(ast.NullLiteral),
    st.builds(ast.BoolLiteral, st.booleans()),
    st.builds(ast.IntLiteral, st.integers(0, INT_MAX) | st.just(-(2**63))),
    st.builds(ast.UintLiteral, st.integers(0, UINT_MAX)),
    st.builds(ast.DoubleLiteral, st.floats(0, allow_nan=False, allow_infinity=False)),
    st.builds(ast.StringLiteral, texts),
    st.builds(ast.BytesLiteral, st.binary(max_size=12)),
)
identifiers = st.builds(ast.Identifier, names, st.booleans())
operators = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in"])


def _chain(
    kind: type[ast.And] | type[ast.Or], nodes: st.SearchStrategy[ast.Node]
) -> st.SearchStrategy[ast.Node]:
    """A chain as the parser makes it: a nested one of the same kind is part of it."""

    def flat(operands: list[ast.Node]) -> ast.Node:
        parts: list[ast.Node] = []
        for each in operands:
            parts += each.operands if isinstance(each, kind) else [each]
        return kind(tuple(parts))

    return st.lists(nodes, min_size=2, max_size=4).map(flat)


def _nested(nodes: st.SearchStrategy[ast.Node]) -> st.SearchStrategy[ast.Node]:
    some = st.lists(nodes, max_size=3).map(tuple)
    elements = st.lists(st.builds(ast.ListElement, nodes, st.booleans()), max_size=3).map(tuple)
    entries = st.lists(st.builds(ast.MapEntry, nodes, nodes, st.booleans()), max_size=3).map(tuple)
    fields = st.lists(
        st.builds(ast.MessageField, field_names, nodes, st.booleans()), max_size=2
    ).map(tuple)
    return st.one_of(
        st.builds(ast.Select, nodes, field_names, st.booleans()),
        st.builds(ast.IndexAccess, nodes, nodes, st.booleans()),
        st.builds(ast.Call, names, st.none(), some, st.booleans()),
        st.builds(ast.Call, names, nodes, some),
        st.builds(ast.ListLiteral, elements),
        st.builds(ast.MapLiteral, entries),
        st.builds(ast.MessageLiteral, names, fields),
        st.builds(ast.Not, nodes),
        st.builds(ast.Negate, nodes),
        st.builds(ast.Binary, operators, nodes, nodes),
        _chain(ast.And, nodes),
        _chain(ast.Or, nodes),
        st.builds(ast.Conditional, nodes, nodes, nodes),
    )


trees = st.recursive(literals | identifiers, _nested, max_leaves=24)
"""Any syntax tree that some text parses to."""
