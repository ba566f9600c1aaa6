"""``entity-definitions/.../health``: whether a key distinguishes actors in recorded events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from tidegate.errors import EventError
from tidegate.policy.definitions.expressions import Use
from tidegate.policy.definitions.slugs import slug_from_name
from tidegate.policy.traffic.doctor import KeyReader
from tidegate.policy.traffic.figures import KeyFigures
from tidegate.policy.traffic.findings import findings, is_forgeable, verdict
from tidegate_server.control.call import Answer, Call
from tidegate_server.engines.drafts import in_member
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.stores.base import NotFoundError
from tidegate_server.traffic.preview import SECONDS, Deadline, Preview
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.traffic.tally import Tally
from tidegate_server.wire import entities as wire_entities
from tidegate_server.wire.kinds import ENTITY, POLICY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.traffic.programs import Programs
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.traffic.preview import Seen
    from tidegate_server.wire.traffic import TrafficRange

_MATCH = "match"


def read_health(call: Call) -> Answer:
    """Return the figures of a saved definition's key in the newest events."""
    with call.app.store.read() as connection:
        known = TenantExpressions.of(call, connection)
        slug, body = _definition(known.known, str(call.ids["entity_definition_id"]))
        return _health(call, connection, call.query, known, slug, body)


def try_key(call: Call) -> Answer:
    """Return the figures of an unsaved definition's key in the newest events."""
    trial: wire_entities.KeyHealthTrial = call.body
    given = trial.definition
    slug = given.slug or slug_from_name(given.name, "entity")
    body = {
        "key_fields": given.key_fields,
        "match_expression": given.match_expression,
        "on_missing_key": given.on_missing_key,
    }
    with call.app.store.read() as connection, in_member("definition"):
        known = TenantExpressions.of(call, connection)
        return _health(call, connection, trial, known, slug, body)


def _health(
    call: Call,
    connection: Connection,
    selection: TrafficRange,
    known: TenantExpressions,
    slug: str,
    body: Mapping[str, Any],
) -> Answer:
    kept = Kept.of(call)
    tally = Tally()
    deadline = Deadline.after(SECONDS)
    key = _Key.of(slug, body, known)
    look = Preview(connection, call.tenant_id, selection, kept, deadline)
    for row in look.rows():
        key.add(row, tally)
    forms = {} if kept.forms is None else kept.forms.by_slug
    figures = key.figures
    window = _widest_window(known.known, slug)
    found = findings(
        figures,
        on_missing_key=body["on_missing_key"],
        forgeable=is_forgeable(key.parts),
        window=window,
    )
    return Answer(
        body=wire_entities.KeyHealth(
            looked_at=look.looked_at,
            complete=look.complete,
            verdict=verdict(figures, found),
            findings=tuple(wire_entities.KeyHealthFinding(**attrs.asdict(each)) for each in found),
            window_seconds=window,
            **_to_wire(figures.counts(), {each: form.id for each, form in forms.items()}),
            **tally.bounds(),
        ),
        headers=passed_over(look.passed),
    )


@attrs.define
class _Key:
    """The key of a definition, built from recorded events."""

    slug: str
    programs: Programs
    parts: tuple[CheckedExpression, ...]
    reader: KeyReader

    @classmethod
    def of(cls, slug: str, body: Mapping[str, Any], known: TenantExpressions) -> _Key:
        checked = {
            f"{at:02}": known.check(text, Use.KEY, f"/key_fields/{at}")
            for at, text in enumerate(body["key_fields"])
        }
        parts = tuple(checked.values())
        condition = body.get("match_expression")
        if condition is not None:
            checked[_MATCH] = known.check(condition, Use.CONDITION, "/match_expression")
        reader = KeyReader(
            blank=body["on_missing_key"] == "blank",
            has_condition=condition is not None,
            parts=len(parts),
            figures=KeyFigures(tuple(body["key_fields"])),
        )
        return cls(slug, known.compile(checked), parts, reader)

    @property
    def figures(self) -> KeyFigures:
        return self.reader.figures

    def add(self, row: Sequence[Seen], tally: Tally) -> None:
        """Count the events of a row of the log."""
        events = self.programs.with_actions([each.event for each in row])
        for seen, event in zip(row, events, strict=True):
            tally.see(seen)
            try:
                prepared = self.programs.rules.prepare(event)
            except EventError:
                self.figures.not_applicable += 1
                continue
            key = self.reader.read(self.programs, prepared)
            if key is None:
                continue
            tally.match(seen)
            others = {
                (each.definition, str(each.entity_id))
                for each in seen.record.entities
                if each.definition != self.slug
            }
            self.figures.add(key, seen.recorded.entry.index.observed_at_ns, others)


def _to_wire(counts: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """The counts as members of the answer.

    Args:
        counts: the figures.
        ids: the tenant's entity definitions, by slug.
    """
    return {
        **counts,
        "parts": tuple(
            wire_entities.KeyPartHealth(**attrs.asdict(each)) for each in counts["parts"]
        ),
        "largest": tuple(
            wire_entities.KeyGroup(key=each.key, events=each.events) for each in counts["largest"]
        ),
        "beside": tuple(
            wire_entities.KeyBeside(
                entity_definition_id=UUID(ids[each.definition]), **attrs.asdict(each)
            )
            for each in counts["beside"]
            if each.definition in ids
        ),
    }


def _definition(known: DefinitionSet, wanted: str) -> tuple[str, Mapping[str, Any]]:
    for each in known.objects[ENTITY.section]:
        if str(each.object_id) == wanted:
            return each.slug, {"on_missing_key": "skip", **each.body}
    raise NotFoundError("entity definition")


def _widest_window(known: DefinitionSet, slug: str) -> int | None:
    """Return the widest window that an active policy counts by a definition, in seconds."""
    widths = [
        clause["window"]["duration_seconds"]
        for policy in known.objects[POLICY.section]
        if policy.body.get("status", "active") == "active"
        for clause in policy.body["clauses"]
        if clause.get("entity") == slug and clause.get("window")
    ]
    return max(widths, default=None)
