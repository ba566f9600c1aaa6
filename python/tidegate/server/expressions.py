"""``expressions/check``: what an editor wants to know of an expression while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import ExpressionError
from tidegate.language.checker import check
from tidegate.language.diagnostics import Source
from tidegate.language.printer import format as format_text
from tidegate.language.schema import NamedList, Schema
from tidegate.language.types import BOOL
from tidegate.policy.expressions import KEY_TYPES
from tidegate.server import wire
from tidegate.server.call import Answer, Call
from tidegate.server.definition_kinds import ACTION, LIST
from tidegate.server.definition_set import load_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidegate.language.diagnostics import Diagnostic

_KEYS = ("key-field", "window-field")


def check_expression(call: Call) -> Answer:
    """Diagnostics, type, fields, cost and the formatted text; an error is an answer too."""
    body: wire.ExpressionCheck = call.body
    expect = KEY_TYPES if body.purpose in _KEYS else (BOOL,)
    try:
        checked = check(body.expression, _schema(call, body), expect=expect)
    except ExpressionError as error:
        found = _findings(body.expression, error.diagnostics)
        return Answer(body=wire.ExpressionReport(ok=False, diagnostics=found))
    return Answer(
        body=wire.ExpressionReport(
            ok=True,
            diagnostics=_findings(body.expression, checked.warnings),
            type=str(checked.type),
            fields=tuple(sorted(checked.references.fields)),
            lists=tuple(sorted(checked.references.lists)),
            cost_estimate=checked.cost_estimate.total,
            formatted=format_text(body.expression),
        )
    )


def _schema(call: Call, body: wire.ExpressionCheck) -> Schema:
    """What an expression of this purpose may read in this tenant."""
    with call.app.store.read() as connection:
        known = load_set(connection, call.tenant_id)
    lists = {
        # No type depends on the entries.
        each.slug: NamedList(each.body["kind"], ())
        for each in known.objects[LIST.section]
    }
    schema = Schema.default().with_lists(lists)
    if body.purpose == "action":
        return schema
    schema = schema.with_actions([each.slug for each in known.objects[ACTION.section]])
    return schema.with_entity_state() if body.entity else schema


def _findings(text: str, diagnostics: Iterable[Diagnostic]) -> tuple[wire.ExpressionFinding, ...]:
    source = Source(text)
    return tuple(
        wire.ExpressionFinding(
            code=each.code,
            severity=each.severity,
            message=each.message,
            line=source.position(each.span.start).line,
            column=source.position(each.span.start).column,
            start=each.span.start,
            end=each.span.end,
            hint=each.hint,
        )
        for each in diagnostics
    )
