"""``traffic/match`` and ``traffic/facets``: recorded events that match an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import EventError
from tidegate.policy.definitions.expressions import Use
from tidegate_server.control.call import Answer, Call
from tidegate_server.http.problems import ErrorDetail, Problem
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.traffic.drafts import Draft
from tidegate_server.traffic.facets import Facets
from tidegate_server.traffic.preview import SECONDS, Deadline, Preview
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.traffic.tally import Tally
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate_server.traffic.preview import Seen

_USES = {"action": Use.ACTION}
_READING = 0.4
"""The share of a draft's time for reading its events."""
_NAME = "expression"
_TOP = 20
"""Values of each expression shown with a match."""


def match(call: Call) -> Answer:
    """Return the events that match an expression, or for which the draft of a policy fires."""
    body: wire_traffic.TrafficMatch = call.body
    if body.policy is not None and body.expression is not None:
        detail = "an expression or a policy is matched, not both"
        errors = [ErrorDetail(detail=detail, pointer="/expression")]
        raise Problem("invalid-request", detail, errors=errors)
    deadline = Deadline.after(SECONDS)
    tally = Tally(samples=body.samples, with_entities=True)
    with call.app.store.read() as connection:
        known = TenantExpressions.of(call, connection)
        facets = Facets(known, body.by, "by")
        draft = None if body.policy is None else Draft.of(call, body.policy, known)
        reading = deadline if draft is None else Deadline.after(SECONDS * _READING)
        look = Preview(connection, call.tenant_id, body, Kept.of(call), reading)
        if draft is None:
            for row in _matching(look, body, known, tally):
                facets.add([each.event for each in row])
        else:
            found = [each for row in look.rows() for each in row]
            found.sort(key=lambda each: each.recorded.entry.seq)
            look.complete &= draft.run(found, tally, deadline)
            look.looked_at = draft.decided
            facets.add(draft.matched)
    return Answer(
        body=wire_traffic.TrafficFound(
            looked_at=look.looked_at,
            complete=look.complete,
            in_scope=None if draft is None else draft.in_scope,
            clauses=() if draft is None else draft.counts(),
            left_out=() if draft is None else draft.entities(),
            could_not_fire=() if draft is None else draft.could_not_fire(),
            by=facets.found(_TOP),
            **tally.bounds(),
            **tally.counts(look.kept),
        ),
        headers=passed_over(look.passed),
    )


def count_values(call: Call) -> Answer:
    """Return the most frequent values of some expressions over the events that match another."""
    body: wire_traffic.TrafficFacets = call.body
    deadline = Deadline.after(SECONDS)
    tally = Tally()
    with call.app.store.read() as connection:
        known = TenantExpressions.of(call, connection)
        facets = Facets(known, body.fields, "fields")
        look = Preview(connection, call.tenant_id, body, Kept.of(call), deadline)
        for row in _matching(look, body, known, tally):
            facets.add([each.event for each in row])
    return Answer(
        body=wire_traffic.FacetsFound(
            looked_at=look.looked_at,
            complete=look.complete,
            facets=facets.found(body.top),
            **tally.bounds(),
        ),
        headers=passed_over(look.passed),
    )


def _matching(
    look: Preview, selection: wire_traffic.TrafficSelection, known: TenantExpressions, tally: Tally
) -> Iterator[list[Seen]]:
    """Yield the matching events, a row of the log at a time, and count all events."""
    text = selection.expression
    if text is None:
        for row in look.rows():
            for each in row:
                tally.see(each)
                tally.match(each)
            yield row
        return
    use = _USES.get(selection.purpose, Use.CONDITION)
    programs = known.compile({_NAME: known.check(text, use, "/expression")})
    for row in look.rows():
        matching = []
        found = programs.match(programs.with_actions([each.event for each in row]))
        for each, result in zip(row, found, strict=True):
            tally.see(each)
            if isinstance(result, EventError):
                tally.errors["invalid-event"] += 1
                continue
            tally.errors.update(result.errors.values())
            if result.matched:
                tally.match(each)
                matching.append(each)
        yield matching
