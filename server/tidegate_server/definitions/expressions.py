"""``expressions/check``: data for an editor about an expression being written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import ExpressionError
from tidegate.language.check.lint import key_warnings
from tidegate.language.check.node_types import node_types
from tidegate.language.printer import format as format_text
from tidegate.language.tree.diagnostics import Source
from tidegate.limits import DEFAULT
from tidegate.policy.definitions.expressions import Expressions, Use
from tidegate.types import NamedList
from tidegate_server.control.call import Answer, Call
from tidegate_server.engines.definition_set import load_set
from tidegate_server.wire import expressions as wire_expressions
from tidegate_server.wire.kinds import ACTION, LIST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidegate.language.tree.diagnostics import Diagnostic
    from tidegate.language.tree.schema import Schema

_USES: Mapping[wire_expressions.Purpose, Use] = {
    "action": Use.ACTION,
    "scope": Use.CONDITION,
    "condition": Use.CONDITION,
    "match": Use.CONDITION,
    "key-field": Use.KEY,
    "window-field": Use.KEY,
    "header": Use.HEADER,
}


def check_expression(call: Call) -> Answer:
    """Return diagnostics, type, fields, cost and the formatted text; an error is an answer too."""
    body: wire_expressions.ExpressionCheck = call.body
    use = use_of(body.purpose, body.entity)
    expressions = expressions_of(call)
    nodes = _nodes(body.expression, expressions.schemas[use]) if body.types else ()
    try:
        checked = expressions.check(body.expression, use)
    except ExpressionError as error:
        found = _findings(body.expression, error.diagnostics)
        return Answer(
            body=wire_expressions.ExpressionReport(ok=False, diagnostics=found, nodes=nodes)
        )
    of_key = key_warnings([(checked.root, checked.type)]) if body.purpose == "key-field" else [[]]
    return Answer(
        body=wire_expressions.ExpressionReport(
            ok=True,
            diagnostics=_findings(body.expression, [*checked.warnings, *of_key[0]]),
            type=str(checked.type),
            fields=tuple(sorted(checked.references.fields)),
            lists=tuple(sorted(checked.references.lists)),
            cost_estimate=checked.cost_estimate.total,
            work_estimate=checked.cost_estimate.work,
            formatted=format_text(body.expression),
            nodes=nodes,
        )
    )


def use_of(purpose: wire_expressions.Purpose, is_on_entity: bool) -> Use:
    """Return the use of an expression from the members of a request."""
    if is_on_entity and purpose == "condition":
        return Use.CONDITION_ON_ENTITY
    return _USES[purpose]


def _nodes(text: str, schema: Schema) -> tuple[wire_expressions.TypedPart, ...]:
    """Return every part with its type; empty for a text that doesn't parse."""
    try:
        found = node_types(text, schema)
    except ExpressionError:
        return ()
    return tuple(
        wire_expressions.TypedPart(start=span.start, end=span.end, type=str(kind))
        for span, kind in found
    )


def expressions_of(call: Call) -> Expressions:
    """Return a checker with the tenant's names, as for saving definitions."""
    with call.app.store.read() as connection:
        known = load_set(connection, call.tenant_id)
    actions = (each.slug for each in known.objects[ACTION.section])
    # No type depends on the entries.
    lists = {each.slug: NamedList(each.body["kind"], ()) for each in known.objects[LIST.section]}
    return Expressions(actions, lists, DEFAULT)


def _findings(
    text: str, diagnostics: Iterable[Diagnostic]
) -> tuple[wire_expressions.ExpressionFinding, ...]:
    source = Source(text)
    return tuple(
        wire_expressions.ExpressionFinding(
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
