"""``expressions/complete``: completions at a position in a text that is being written."""

from __future__ import annotations

import attrs

from tidegate.editing.completion import Completion
from tidegate.editing.completion import complete as completions_of
from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.expressions import expressions_of, use_of
from tidegate_server.engines.derived_reads import learned
from tidegate_server.records.catalog import expression_of
from tidegate_server.stores.index import catalog
from tidegate_server.wire import expressions as wire_expressions

MOST = 100
"""The most completions in an answer."""


def complete(call: Call) -> Answer:
    """Return completions at a position; an unfinished text isn't an error."""
    body: wire_expressions.ExpressionCompletion = call.body
    before = body.expression[: body.position]
    expressions = expressions_of(call)
    schema = expressions.schemas[use_of(body.purpose, body.entity)]
    start, found = completions_of(before, schema, expressions.names, lambda: _captured(call))
    shown = tuple(wire_expressions.Completion(**attrs.asdict(each)) for each in found[:MOST])
    return Answer(body=wire_expressions.Completions(start=start, completions=shown))


def _captured(call: Call) -> list[Completion]:
    """Return names that traffic has, most frequent first, as the text that reads them."""
    with learned(call.app.store) as connection:
        found = catalog.fields(connection, call.tenant_id)
    found.sort(key=lambda each: (-each.present, each.name))
    made = [(expression_of(each.name, each.type), each) for each in found]
    return [
        Completion(
            label=each.name,
            insert=text,
            type="string",
            kind="field",
            fill_rate=each.present / max(1, each.events),
        )
        for text, each in made
    ]
