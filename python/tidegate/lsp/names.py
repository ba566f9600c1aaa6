"""The objects that a document defines, and where their slugs are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.errors import ExpressionError
from tidegate.language.parse.parser import parse
from tidegate.language.tree import ast
from tidegate.language.tree.checked import ASK_LISTS
from tidegate.language.tree.walk import walk
from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.findings import pointer_to
from tidegate.policy.definitions.model import Definitions
from tidegate.policy.definitions.slugs import slug_from_name
from tidegate.policy.document.positions import document_offsets
from tidegate.policy.document.tree import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidegate.policy.document.tree import Node

WHOLE = shapes.Part(Definitions)


@attrs.frozen
class Named:
    """An object with a slug.

    Attributes:
        section: the member of the document that has it, such as ``actions``.
        pointer: JSON pointer.
        slug: as written, or made of the name.
        members: its scalars by name, each with its key.
    """

    section: str
    pointer: str
    slug: str
    members: dict[str, tuple[Scalar, Scalar]] = attrs.field(eq=False)

    @property
    def place(self) -> Scalar | None:
        """The scalar that names it."""
        found = self.members.get("slug") or self.members.get("name")
        return None if found is None else found[1]

    def text(self, member: str) -> str:
        """A member as text; empty if it has none."""
        found = self.members.get(member)
        return "" if found is None or found[1].value is None else str(found[1].value)


@attrs.frozen
class Mention:
    """A use of a slug, between two offsets of the document."""

    section: str
    slug: str
    start: int
    end: int
    style: str
    is_literal: bool = False
    """Whether it is the text of a literal in an expression."""


def named_objects(root: Node) -> list[Named]:
    """The objects of a document that have slugs, in its order."""
    return list(_named(root))


def _named(root: Node) -> Iterator[Named]:
    if not isinstance(root, Mapping):
        return
    known = shapes.members(Definitions)
    for key, section in root.entries:
        attribute = known.get(str(key.value))
        shape = None if attribute is None else shapes.shape_of(attribute)
        kind = None if shape is None else slug_kind(shape)
        if kind is None or not isinstance(section, Sequence):
            continue
        for at, each in enumerate(section.items):
            if isinstance(each, Mapping):
                members = {
                    str(name.value): (name, value)
                    for name, value in each.entries
                    if isinstance(value, Scalar)
                }
                slug = _slug(members, kind)
                if slug:
                    yield Named(str(key.value), f"/{key.value}/{at}", slug, members)


def slug_kind(shape: shapes.Shape) -> str | None:
    """The kind of slug that the objects of a list have; None if they have none."""
    if not isinstance(shape, shapes.Many) or not isinstance(shape.item, shapes.Part):
        return None
    attribute = shapes.members(shape.item.type).get("slug")
    found = None if attribute is None else shapes.shape_of(attribute)
    return found.kind if isinstance(found, shapes.Slug) else None


def _slug(members: dict[str, tuple[Scalar, Scalar]], kind: str) -> str:
    written = members.get("slug")
    if written is not None and written[1].value is not None:
        return str(written[1].value)
    name = members.get("name")
    return "" if name is None else slug_from_name(str(name[1].value or ""), kind)


def shape_at(path: Iterable[str]) -> shapes.Shape | None:
    """The shape at a path of names and items; None outside the model."""
    shape: shapes.Shape | None = WHOLE
    for part in path:
        match shape:
            case shapes.Part(type=model):
                attribute = shapes.members(model).get(part)
                shape = None if attribute is None else shapes.shape_of(attribute)
            case shapes.Many(item=item) | shapes.Map(item=item):
                shape = item
            case _:
                return None
    return shape


def scalars(root: Node) -> Iterator[tuple[str, Scalar, shapes.Shape | None]]:
    """Every scalar of a document with its pointer and shape."""
    stack: list[tuple[str, Node, shapes.Shape | None]] = [("", root, WHOLE)]
    while stack:
        pointer, node, shape = stack.pop()
        match node:
            case Scalar():
                yield pointer, node, shape
            case Mapping(entries):
                stack += [
                    (pointer_to(pointer, str(key.value)), value, _inner(shape, str(key.value)))
                    for key, value in entries
                ]
            case Sequence(items):
                inner = _inner(shape, "")
                stack += [(pointer_to(pointer, at), each, inner) for at, each in enumerate(items)]


def _inner(shape: shapes.Shape | None, name: str) -> shapes.Shape | None:
    match shape:
        case shapes.Part(type=model):
            attribute = shapes.members(model).get(name)
            return None if attribute is None else shapes.shape_of(attribute)
        case shapes.Many(item=item) | shapes.Map(item=item):
            return item
        case _:
            return None


def mentions(root: Node, text: str) -> Iterator[Mention]:
    """Every use of a slug in references and expressions, those of expressions that don't parse left
    out."""
    for _, node, shape in scalars(root):
        yield from mentions_in(node, shape, text)


def mentions_in(node: Scalar, shape: shapes.Shape | None, text: str) -> Iterator[Mention]:
    """The uses of slugs in one scalar."""
    value = node.value
    if not isinstance(value, str) or node.start is None or node.end is None:
        return
    if isinstance(shape, shapes.Reference):
        offsets = document_offsets(node, text)
        yield Mention(shape.section, value, offsets[0], offsets[-1], node.style)
    elif isinstance(shape, shapes.Expression) and _may_mention(value):
        try:
            found = list(expression_mentions(value))
        except ExpressionError:
            return
        offsets = document_offsets(node, text) if found else []
        for section, slug, span in found:
            start, end = offsets[span.start], offsets[span.end - 1] + 1
            yield Mention(section, slug, start, end, node.style, section == "lists")


def _may_mention(text: str) -> bool:
    return "actions" in text or any(each in text for each in ASK_LISTS)


def expression_mentions(text: str) -> Iterator[tuple[str, str, ast.Span]]:
    """The slugs in an expression: section, slug, and the slug's place, a literal without quotes.

    Raises:
        ExpressionError: the text doesn't parse.
    """
    for node in walk(parse(text)):
        match node:
            case ast.Select(operand=ast.Identifier(name="actions"), field=slug):
                yield "actions", slug, node.field_span
            case ast.Call(function=function, arguments=(*_, ast.StringLiteral(value=slug) as name)):
                start, end = name.span.start + 1, name.span.end - 1
                if function in ASK_LISTS and text[start:end] == slug:
                    yield "lists", slug, ast.Span(start, end)
