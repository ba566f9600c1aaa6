"""The meaning of what is under the cursor: type, documentation, and the value in an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from tidegate.editing.descriptions import DESCRIPTIONS, description_of
from tidegate.errors import ExpressionError
from tidegate.functions import FUNCTIONS
from tidegate.language.check.macros import USAGE
from tidegate.language.check.node_types import node_types
from tidegate.language.parse.parser import parse
from tidegate.language.tree import ast
from tidegate.language.tree.walk import walk
from tidegate.lsp.analysis import use_of
from tidegate.lsp.names import expression_mentions
from tidegate.lsp.spot import spot_at
from tidegate.policy.definitions import shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.lsp.analysis import Analysis
    from tidegate.lsp.events import Explained
    from tidegate.lsp.names import Named
    from tidegate.lsp.spot import Spot
    from tidegate.lsp.text import Text

MAX_SIGNATURES = 6


def hover(
    text: Text, offset: int, analysis: Analysis, explained: Explained | None
) -> lsp.Hover | None:
    """The meaning of the part at an offset; None if it has none, or the text isn't YAML.

    Args:
        text: the document.
        offset: of the cursor.
        analysis: of the same text.
        explained: the chosen event, if there is one.
    """
    if analysis.root is None:
        return None
    spot = spot_at(analysis.root, text.text, offset)
    if spot is None or not isinstance(spot.node.value, str):
        return None
    if isinstance(spot.shape, shapes.Reference) and not spot.is_key:
        found = _object(analysis, spot.shape.section, spot.node.value)
        parts = [] if found is None else [_of_object(found)]
        return _made(text, parts, spot.offsets[0], spot.offsets[-1])
    if isinstance(spot.shape, shapes.Expression) and not spot.is_key:
        return _of_expression(text, spot, spot.shape, analysis, explained)
    return None


def _of_expression(
    text: Text,
    spot: Spot,
    shape: shapes.Expression,
    analysis: Analysis,
    explained: Explained | None,
) -> lsp.Hover | None:
    value = str(spot.node.value)
    schema = analysis.expressions.schemas[use_of(shape, has_entity=spot.has_entity)]
    try:
        tree = parse(value)
        types = node_types(value, schema)
        mentioned = list(expression_mentions(value))
    except ExpressionError:
        return None
    span = ast.Span(0, len(value))
    parts: list[str] = []
    for section, slug, place in mentioned:
        if place.start <= spot.inside <= place.end:
            found = _object(analysis, section, slug)
            parts += [] if found is None else [_of_object(found)]
    if not parts and (call := _call_at(tree, spot.inside)) is not None:
        span = call.function_span
        parts = list(_of_function(call))
    around = [each for each in types if each[0].start <= spot.inside < each[0].end]
    if not parts and around:
        span, kind = around[-1]
        for each, of_part in around:  # a member of a field is shown as the field
            if value[each.start : each.end] in schema.fields:
                span, kind = each, of_part
        source = value[span.start : span.end]
        parts = [f"```\n{source}: {kind}\n```", DESCRIPTIONS.get(source, "")]
    inner = around[-1][0] if around else span
    parts += _in_event(spot.pointer, inner, value, explained)
    return _made(text, parts, spot.offsets[span.start], spot.offsets[span.end])


def _made(text: Text, parts: list[str], start: int, end: int) -> lsp.Hover | None:
    shown = "\n\n".join(filter(None, parts))
    if not shown:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, shown), text.range(start, end))


def _call_at(tree: ast.Node, inside: int) -> ast.Call | None:
    for node in walk(tree):
        if isinstance(node, ast.Call):
            span = node.function_span
            if span.start <= inside < span.end:
                return node
    return None


def _of_function(call: ast.Call) -> Iterator[str]:
    if call.function in USAGE:
        yield USAGE[call.function]
        return
    for is_member in (True, False):
        found = FUNCTIONS.get((call.function, is_member))
        if found is None or (call.target is None) == is_member:
            continue
        signatures = [str(each.signature) for each in found.overloads]
        more = len(signatures) - MAX_SIGNATURES
        shown = signatures[:MAX_SIGNATURES] + ([f"and {more} more"] if more > 0 else [])
        yield "```\n" + "\n".join(shown) + "\n```"
        yield description_of(found)


def _object(analysis: Analysis, section: str, slug: str) -> Named | None:
    return next((each for each in analysis.slugs(section) if each.slug == slug), None)


def _of_object(found: Named) -> str:
    lines = [f"**{found.text('name') or found.slug}** (`{found.section}`)"]
    lines.append(found.text("description"))
    expression = found.text("expression") or found.text("match_expression")
    lines.append(f"```\n{expression.strip()}\n```" if expression else "")
    return "\n\n".join(filter(None, lines))


def _in_event(
    pointer: str, span: ast.Span, value: str, explained: Explained | None
) -> Iterator[str]:
    """The value of a part in the chosen event, and the part that decided the expression."""
    found = None if explained is None else explained.expressions.get(pointer)
    if explained is None or found is None or found.text != value:
        return
    step = next(
        (each for each in found.steps if (each.start, each.end) == (span.start, span.end)), None
    )
    if step is not None:
        shown = step.value if step.error is None else f"error: {step.error}"
        shown = shown if step.reached else "not evaluated"
        yield f"In event {explained.number}: `{shown}`"
    whole = found.value if found.error is None else f"error: {found.error}"
    yield f"The expression in event {explained.number}: `{whole}`"
    if found.excerpt:
        yield f"```\n{found.excerpt}\n```"
