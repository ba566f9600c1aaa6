"""Completions at a place of a document, broken or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from tidegate.editing.completion import complete as complete_expression
from tidegate.editing.descriptions import DESCRIPTIONS, description_of
from tidegate.functions import FUNCTIONS
from tidegate.lsp.analysis import use_of
from tidegate.lsp.names import shape_at
from tidegate.lsp.place import place_at
from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.model import API_VERSION, Definitions
from tidegate.policy.document.members import WANTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import attrs

    from tidegate.editing.completion import Completion
    from tidegate.lsp.analysis import Analysis
    from tidegate.lsp.events import Events
    from tidegate.lsp.place import Place
    from tidegate.lsp.text import Text

MOST = 200
"""The most completions in an answer; the client asks again as the word grows."""
TRIGGERS = (".", '"', "'", "[", "(", " ", ":")
_API_VERSION = "apiVersion"
_COMPARED = re.compile(
    r"(?P<field>[A-Za-z_][\w.]*(?:\[(?:\"[^\"]*\"|'[^']*')\])?)\s*"
    r"(?:(?:==|!=)\s*|\.(?:startsWith|endsWith|contains)\(\s*|in\s*\[(?:[^\]]*,)?\s*)"
    r"(?P<text>[\"'][^\"']*|[0-9]*)\Z"
)
_KINDS = {
    "field": lsp.CompletionItemKind.Field,
    "action": lsp.CompletionItemKind.Event,
    "function": lsp.CompletionItemKind.Function,
    "macro": lsp.CompletionItemKind.Snippet,
    "list": lsp.CompletionItemKind.Constant,
}


def completions(
    text: Text, offset: int, analysis: Analysis, events: Events | None
) -> lsp.CompletionList:
    """The completions at an offset.

    Args:
        text: the document.
        offset: of the cursor.
        analysis: of this text or an earlier one, for the names.
        events: for recent values; None offers none.
    """
    place = place_at(text, offset)
    maker = _Maker(text, offset, place)
    if place.is_key:
        items = list(_members(maker, place))
    else:
        shape = shape_at(place.path)
        items = list(_values(maker, place, shape, analysis, events))
        if isinstance(shape, shapes.Part) and place.path[-1:] == ("*",):
            items += _members(maker, place)  # the first member of an item of a list
    return lsp.CompletionList(is_incomplete=len(items) > MOST, items=items[:MOST])


class _Maker:
    """Makes completions that replace the word before the cursor."""

    def __init__(self, text: Text, offset: int, place: Place) -> None:
        self._text = text
        self._offset = offset
        self._place = place
        self._count = 0

    def item(
        self,
        label: str,
        insert: str,
        start: int,
        kind: lsp.CompletionItemKind,
        *,
        detail: str | None = None,
        documentation: str = "",
    ) -> lsp.CompletionItem:
        """One completion; ``start`` is where in the place's text the replaced word begins."""
        replaced = self._place.text[start:]
        width = len(self._place.written(replaced))
        self._count += 1
        shown = lsp.MarkupContent(lsp.MarkupKind.Markdown, documentation)
        new = self._place.written(insert)
        return lsp.CompletionItem(
            label=label,
            kind=kind,
            detail=detail,
            documentation=shown if documentation else None,
            filter_text=self._place.written(replaced) + " " + new if replaced else new,
            sort_text=f"{self._count:05}",
            text_edit=lsp.TextEdit(self._text.range(self._offset - width, self._offset), new),
        )


def _members(maker: _Maker, place: Place) -> Iterator[lsp.CompletionItem]:
    """The members that the object around may have and hasn't."""
    shape = shape_at(place.path)
    if not isinstance(shape, shapes.Part):
        return
    model: type[attrs.AttrsInstance] = shape.type
    if model is Definitions and _API_VERSION not in place.siblings:
        insert = f"{_API_VERSION}: {API_VERSION}"
        yield maker.item(_API_VERSION, insert, 0, lsp.CompletionItemKind.Property)
    for name, attribute in shapes.members(model).items():
        if name not in place.siblings:
            detail = _wanted(shapes.shape_of(attribute))
            kind = lsp.CompletionItemKind.Property
            yield maker.item(name, f"{name}: ", 0, kind, detail=detail)


def _wanted(shape: shapes.Shape) -> str:
    match shape:
        case shapes.Choice(values=values):
            return " | ".join(values)
        case shapes.Many():
            return "a list"
        case shapes.Part() | shapes.Labels() | shapes.Headers() | shapes.Map():
            return "an object"
    return WANTED.get(type(shape), "")


def _values(
    maker: _Maker,
    place: Place,
    shape: shapes.Shape | None,
    analysis: Analysis,
    events: Events | None,
) -> Iterator[lsp.CompletionItem]:
    match shape:
        case shapes.Choice(values=values):
            for each in values:
                yield maker.item(each, each, 0, lsp.CompletionItemKind.EnumMember)
        case shapes.Boolean():
            for each in ("true", "false"):
                yield maker.item(each, each, 0, lsp.CompletionItemKind.Value)
        case shapes.Many(item=shapes.Reference(section=section)):
            yield from _references(maker, section, analysis, "[{}]")
        case shapes.Reference(section=section):
            yield from _references(maker, section, analysis, "{}")
        case shapes.Expression():
            yield from _expression(maker, place, shape, analysis, events)
        case None if place.path == (_API_VERSION,):
            yield maker.item(API_VERSION, API_VERSION, 0, lsp.CompletionItemKind.Constant)


def _references(
    maker: _Maker, section: str, analysis: Analysis, form: str
) -> Iterator[lsp.CompletionItem]:
    for each in analysis.slugs(section):
        yield maker.item(
            each.slug,
            form.format(each.slug),
            0,
            lsp.CompletionItemKind.Reference,
            detail=each.text("name"),
            documentation=each.text("description"),
        )


def _expression(
    maker: _Maker,
    place: Place,
    shape: shapes.Expression,
    analysis: Analysis,
    events: Events | None,
) -> Iterator[lsp.CompletionItem]:
    before = place.text
    compared = _COMPARED.search(before)
    if events is not None and compared is not None:
        start = compared.start("text")
        wanted = compared["text"].replace("'", '"')
        for literal, count in events.values(compared["field"]):
            if literal.startswith(wanted):
                detail = f"in {count:,} of {len(events.lines):,} events"
                kind = lsp.CompletionItemKind.Value
                yield maker.item(literal, literal, start, kind, detail=detail)
    if compared is not None and compared["text"][:1] in ("'", '"'):
        return
    checks = analysis.expressions
    schema = checks.schemas[use_of(shape, has_entity="entity" in place.siblings)]
    captured: list[Completion] = [] if events is None else events.captured
    start, found = complete_expression(before, schema, checks.names, lambda: captured)
    for each in found:
        yield maker.item(
            each.label,
            each.insert,
            start,
            _KINDS[each.kind],
            detail=each.detail or each.type,
            documentation=_documentation(each, analysis),
        )


def _documentation(completion: Completion, analysis: Analysis) -> str:
    rate = completion.fill_rate
    filled = "" if rate is None else f"in {rate:.0%} of the events"
    if completion.kind == "function":
        name = completion.insert.removesuffix("(")
        known = (FUNCTIONS.get((name, is_member)) for is_member in (True, False))
        return "\n\n".join(description_of(each) for each in known if each is not None)
    if completion.kind == "action":
        slug = completion.label.removeprefix("actions.")
        found = next((each for each in analysis.slugs("actions") if each.slug == slug), None)
        return "" if found is None else found.text("description") or found.text("name")
    return DESCRIPTIONS.get(completion.label, filled)
