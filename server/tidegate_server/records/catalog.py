"""The field catalog: the fields for expressions and keys, and how traffic fills them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import attrs

from tidegate.editing.descriptions import DESCRIPTIONS
from tidegate.evaluation.secrets.names import Names
from tidegate.language.printer import member_text
from tidegate.language.tree.schema import FIELD_MODEL
from tidegate.policy.definitions.redaction import Redaction
from tidegate_server.control.call import Answer, Call
from tidegate_server.control.pages import page_after, page_of
from tidegate_server.engines.definition_set import empty_fields
from tidegate_server.engines.derived_reads import learned
from tidegate_server.operators.permissions import Permission, may
from tidegate_server.stores.index import catalog
from tidegate_server.stores.objects import definitions
from tidegate_server.wire import catalog as wire_catalog
from tidegate_server.wire import common as wire_common
from tidegate_server.wire.kinds import ACTION

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy import Connection

_HARMLESS = frozenset({"int", "double", "bool"})
"""Types with examples that everybody may see."""
_SECTIONS = (
    "fields",
    "request.headers",
    "request.query_params",
    "request.cookies",
    "request.route_params",
)
"""The maps that contain captured names."""


@attrs.frozen
class _Examples:
    """The examples that a caller may see: text only for callers who may read its events."""

    shows_text: bool
    names: Names
    redaction: Redaction

    @classmethod
    def for_(cls, call: Call) -> _Examples:
        forms = call.app.runtime.key_forms(call.tenant_id)
        redaction = Redaction() if forms is None else forms.redaction
        shows_text = call.role is not None and may(call.role, Permission.READ_RECORDS)
        return cls(shows_text, Names(redaction.patterns), redaction)

    def of(self, seen: catalog.CatalogField) -> str | None:
        """Return an example, unless it could be a secret.

        The example may be older than the name that makes it one.
        """
        if not self.shows_text and seen.type not in _HARMLESS:
            return None
        section = next(each for each in _SECTIONS if seen.name.startswith(f"{each}."))
        name = seen.name.removeprefix(f"{section}.")
        is_kept = self.redaction.keeps((*section.split("."), name)) or self.names.is_clear(name)
        if not seen.example or not is_kept or self.names.may_be_secret(name):
            return None
        return seen.example


def list_(call: Call) -> Answer:
    """List every field by name, including fields that traffic never had."""
    after = page_after(call)
    last = str(after[0]) if after else ""
    with learned(call.app.store) as connection:
        known = {each.name: each for each in _fields(connection, call)}
    page = [known[name] for name in sorted(known) if name > last][: call.query.limit + 1]
    return page_of(call, page, lambda each: each, lambda each: [each.name])


def _fields(connection: Connection, call: Call) -> Iterator[wire_catalog.CatalogField]:
    examples = _Examples.for_(call)
    empty = empty_fields(call.app.runtime.located_fields())
    for name, kind in FIELD_MODEL.items():
        group: Literal["captured", "derived"] = (
            "derived" if name.startswith("derived.") else "captured"
        )
        is_empty = "; no address database is configured" if name in empty else ""
        description = DESCRIPTIONS[name] + is_empty
        yield _unseen(call.tenant_id, name, str(kind), group, description)
    for each in definitions.of_tenant(connection, call.tenant_id):
        if each.kind == ACTION.name:
            text = each.body.get("description") or f"whether the action {each.name} was recognised"
            yield _unseen(call.tenant_id, f"actions.{each.slug}", "bool", "action", text)
    for seen in catalog.fields(connection, call.tenant_id):
        yield wire_catalog.CatalogField(
            tenant_id=call.tenant_id,
            name=seen.name,
            expression=expression_of(seen.name, seen.type),
            type=seen.type,
            group="captured",
            description="captured from traffic",
            example=examples.of(seen),
            events=seen.events,
            present=seen.present,
            fill_rate=seen.present / max(1, seen.events),
            distinct_estimate=seen.distinct_estimate,
            last_seen_at=wire_common.time_text(seen.last_seen_at_ns),
        )


def expression_of(name: str, kind: str) -> str:
    """Return the expression that reads a captured name.

    Args:
        name: with its section, such as ``request.headers.x-app``.
        kind: the type of its values.
    """
    if name == "fields.body" and kind in ("map", "list"):
        return "request.body"
    section = next(each for each in _SECTIONS if name.startswith(f"{each}."))
    return member_text(section, name.removeprefix(f"{section}."))


def _unseen(
    tenant_id: UUID,
    name: str,
    kind: str,
    group: Literal["captured", "derived", "action"],
    description: str,
) -> wire_catalog.CatalogField:
    return wire_catalog.CatalogField(
        tenant_id=tenant_id,
        name=name,
        expression=name,
        type=kind,
        group=group,
        description=description,
        example=None,
        events=None,
        present=None,
        fill_rate=None,
        distinct_estimate=None,
        last_seen_at=None,
    )
