"""The field catalog with the values in the newest events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.policy.definitions.expressions import Use
from tidegate_server.control.call import Answer, Call
from tidegate_server.engines.definition_set import empty_fields
from tidegate_server.http.problems import Problem
from tidegate_server.operators.permissions import Permission, may
from tidegate_server.records import catalog
from tidegate_server.records.kept import Kept
from tidegate_server.traffic.facets import Facets
from tidegate_server.traffic.preview import SECONDS, Deadline, Preview
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.wire import catalog as wire_catalog
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from sqlalchemy import Connection

NEWEST = wire_traffic.TrafficRange(newest=500)
"""The events to count values in."""
TOP = 5
NO_VALUE = ("map", "list", "timestamp", "duration", "double")
"""Types with values that can't be keys, and so aren't counted."""


def list_fields(call: Call) -> Answer:
    """List every field by name, with its values if requested."""
    answer = catalog.list_(call)
    if not call.query.values:
        return answer
    fields: list[wire_catalog.CatalogField] = answer.body
    shows_values = call.role is not None and may(call.role, Permission.READ_RECORDS)
    with call.app.store.read() as connection:
        known = TenantExpressions.of(call, connection)
        counted = [each for each in fields if _can_be_counted(each, known)]
        looked_at, facets = _look(call, connection, known, [each.expression for each in counted])
    found = dict(zip((each.name for each in counted), facets, strict=True)) if looked_at else {}
    for name in empty_fields(call.app.runtime.located_fields()):
        if name in found and all(not each.value for each in found[name].values):
            del found[name]  # a share of 0 % would say that it was looked up
    return attrs.evolve(
        answer,
        body=[_with_values(each, found.get(each.name), looked_at, shows_values) for each in fields],
    )


def _can_be_counted(field: wire_catalog.CatalogField, known: TenantExpressions) -> bool:
    if field.type.split("(")[0] in NO_VALUE:
        return False
    try:
        known.check(field.expression, Use.KEY, "/expression")
    except Problem:
        return False
    return True


def _look(
    call: Call, connection: Connection, known: TenantExpressions, expressions: list[str]
) -> tuple[int, tuple[wire_traffic.Facet, ...]]:
    """Return how many events were read, and each expression's values in them."""
    facets = Facets(known, expressions, "fields")
    look = Preview(connection, call.tenant_id, NEWEST, Kept.of(call), Deadline.after(SECONDS))
    for row in look.rows():
        facets.add([each.event for each in row])
    return look.looked_at, facets.found(TOP)


def _with_values(
    field: wire_catalog.CatalogField,
    found: wire_traffic.Facet | None,
    looked_at: int,
    shows_values: bool,
) -> wire_catalog.CatalogField:
    if found is None:
        return field
    top_values = found.values if shows_values else None
    if field.events is not None:
        return attrs.evolve(field, top_values=top_values)
    return attrs.evolve(
        field,
        top_values=top_values,
        events=looked_at,
        present=found.present,
        fill_rate=found.present / max(1, looked_at),
        distinct_estimate=found.distinct,
    )
