"""The only traversal: the children of any node, and iterative walks over either tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from tidegate.language.tree import ast, checked, form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AnyNode: TypeAlias = ast.Node | checked.Checked

_NONE: tuple[Any, ...] = ()


def _elements(node: Any) -> tuple[Any, ...]:
    return tuple([element.value for element in node.elements])


def _entries(node: Any) -> tuple[Any, ...]:
    return tuple([part for entry in node.entries for part in (entry.key, entry.value)])


def _call(node: Any) -> tuple[Any, ...]:
    return node.arguments if node.target is None else (node.target, *node.arguments)


_CHILDREN: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    ast.Select: lambda node: (node.operand,),
    ast.IndexAccess: lambda node: (node.operand, node.index),
    ast.Call: _call,
    ast.ListLiteral: _elements,
    ast.MapLiteral: _entries,
    ast.MessageLiteral: lambda node: tuple([field.value for field in node.fields]),
    ast.Not: lambda node: (node.operand,),
    ast.Negate: lambda node: (node.operand,),
    ast.Binary: lambda node: (node.left, node.right),
    ast.And: lambda node: node.operands,
    ast.Or: lambda node: node.operands,
    ast.Conditional: lambda node: (node.condition, node.then, node.otherwise),
    **{kind: form.children for kind in get_args(checked.Checked) if form.WITH_NODES[kind]},
}


def children(node: AnyNode) -> tuple[Any, ...]:
    """The nodes directly below a node, in source order."""
    read = _CHILDREN.get(type(node))
    return read(node) if read else _NONE


def walk(root: AnyNode) -> Iterator[Any]:
    """Every node, parents before children, in source order."""
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        yield node
        below = children(node)
        if below:
            stack.extend(reversed(below))


def measure(root: AnyNode, max_depth: int) -> tuple[int, Any | None]:
    """The number of nodes, and the first one found below ``max_depth`` levels.

    The only traversal that accepts a tree of any depth.
    """
    count, depth, level = 0, 0, [root]
    while level:
        depth += 1
        if depth > max_depth:
            return count, level[0]
        count += len(level)
        level = [child for node in level for child in children(node)]
    return count, None
