"""``entity-definitions/{id}/health``: whether a key distinguishes actors in recorded events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError, EventError
from tidegate.policy.decide import MISSING
from tidegate.policy.definitions.expressions import Use
from tidegate.policy.definitions.keys import part_of
from tidegate_server.control.call import Answer, Call
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.stores.base import NotFoundError
from tidegate_server.traffic.key_figures import KeyFigures
from tidegate_server.traffic.key_findings import findings, verdict
from tidegate_server.traffic.preview import SECONDS, Deadline, Preview
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.traffic.tally import Tally
from tidegate_server.wire import entities as wire_entities
from tidegate_server.wire.kinds import ENTITY, POLICY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tidegate.policy.definitions.keys import Part
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.traffic.preview import Seen
    from tidegate_server.traffic.selection import Programs

_MATCH = "match"


def read_health(call: Call) -> Answer:
    """Return the figures of a definition's key in the newest events."""
    kept = Kept.of(call)
    tally = Tally()
    with call.app.store.read() as connection:
        known = TenantExpressions.of(call, connection)
        slug, body = _definition(known.known, str(call.ids["entity_definition_id"]))
        deadline = Deadline.after(SECONDS)
        key = _Key.of(slug, body, known)
        look = Preview(connection, call.tenant_id, call.query, kept, deadline)
        for row in look.rows():
            key.add(row, tally)
    forms = {} if kept.forms is None else kept.forms.by_slug
    figures = key.figures
    window = _widest_window(known.known, slug)
    found = findings(figures, tuple(body["key_fields"]), body["on_missing_key"], window)
    return Answer(
        body=wire_entities.KeyHealth(
            looked_at=look.looked_at,
            complete=look.complete,
            verdict=verdict(figures, found),
            findings=found,
            window_seconds=window,
            **figures.counts({each: form.id for each, form in forms.items()}),
            **tally.bounds(),
        ),
        headers=passed_over(look.passed),
    )


@attrs.define
class _Key:
    """The key of a definition, built from events like in the engine."""

    slug: str
    blank: bool
    programs: Programs
    names: Sequence[str]
    has_condition: bool
    figures: KeyFigures

    @classmethod
    def of(cls, slug: str, body: Mapping[str, Any], known: TenantExpressions) -> _Key:
        checked = {
            f"{at:02}": known.check(text, Use.KEY, f"/key_fields/{at}")
            for at, text in enumerate(body["key_fields"])
        }
        names = list(checked)
        condition = body.get("match_expression")
        if condition is not None:
            checked[_MATCH] = known.check(condition, Use.CONDITION, "/match_expression")
        return cls(
            slug=slug,
            blank=body["on_missing_key"] == "blank",
            programs=known.compile(checked),
            names=names,
            has_condition=condition is not None,
            figures=KeyFigures(tuple(body["key_fields"])),
        )

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
            if self.has_condition and not self._holds(prepared):
                self.figures.not_applicable += 1
                continue
            key = self._key(prepared)
            if key is None:
                self.figures.missing += 1
                continue
            tally.match(seen)
            others = {
                (each.definition, str(each.entity_id))
                for each in seen.record.entities
                if each.definition != self.slug
            }
            self.figures.add(key, seen.recorded.entry.index.observed_at_ns, others)

    def _holds(self, prepared: Any) -> bool:
        try:
            return self.programs.rules.evaluate(len(self.names), prepared) is True
        except EvaluationError:
            return False

    def _key(self, prepared: Any) -> tuple[Part, ...] | None:
        """Return all parts, which are counted; None if a required part is missing."""
        parts: list[Part] = []
        for at in range(len(self.names)):
            part = self.figures.see(at, self._part(at, prepared))
            if part is not None and (part != "" or self.blank):
                parts.append(part)
        return tuple(parts) if len(parts) == len(self.names) else None

    def _part(self, at: int, prepared: Any) -> Part | None:
        try:
            return part_of(self.programs.rules.evaluate(at, prepared))
        except EvaluationError as error:
            return "" if error.code in MISSING else None


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
