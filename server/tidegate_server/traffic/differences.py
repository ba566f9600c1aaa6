"""``differences/summary``: common properties of the decisions that a replay changes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import attrs

from tidegate.errors import EvaluationError, EventError
from tidegate.policy.definitions.expressions import Use
from tidegate_server.control.call import Answer, Call
from tidegate_server.records.kept import Kept
from tidegate_server.stores.decision_log import replay_jobs, traffic
from tidegate_server.stores.decision_log.decisions import DecisionQuery
from tidegate_server.traffic.facets import MAX_TEXT
from tidegate_server.traffic.preview import SECONDS, Deadline, Seen, readable
from tidegate_server.traffic.selection import TenantExpressions
from tidegate_server.wire import replay as wire_replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from tidegate_server.stores.decision_log.replay_jobs import Difference
    from tidegate_server.stores.decision_log.rows import Unreadable

EXPRESSIONS = {
    "path": "request.path",
    "country": "derived.country",
    "agent": "derived.ua_family",
}
"""The expression that reads the group's value from an event, by group name."""
STRICTNESS = ("allow", "challenge", "block")
PAGE = 2_000
NONE = "none"
_NAME = "value"
Value: TypeAlias = "tuple[str | None, str]"
"""The value of a group, and its text."""


@attrs.define
class _Counted:
    label: str
    example: UUID
    count: int = 0
    stricter: int = 0
    milder: int = 0


def summarise(call: Call) -> Answer:
    """Count a job's differences by one of their members, or of their events' members."""
    query: wire_replay.SummaryQuery = call.query
    deadline = Deadline.after(SECONDS)
    outcomes = Counter[tuple[str, str]]()
    groups: dict[str | None, _Counted] = {}
    with call.app.store.read() as connection:
        job_id = call.ids["replay_job_id"]
        job = replay_jobs.find(connection, call.tenant_id, job_id)
        found = _differences(connection, call.tenant_id, job_id)
        counted = 0
        for difference, (value, label) in _valued(call, connection, found, deadline):
            counted += 1
            was, now = difference.recorded["action"], difference.replayed["action"]
            outcomes[was, now] += 1
            group = groups.setdefault(value, _Counted(label, difference.decision_id))
            group.count += 1
            change = STRICTNESS.index(now) - STRICTNESS.index(was)
            group.stricter += change > 0
            group.milder += change < 0
    largest = sorted(groups.items(), key=lambda each: (-each[1].count, each[1].label))
    different = (job.result or {}).get("different", counted)
    return Answer(
        body=wire_replay.DifferencesSummary(
            by=query.by,
            counted=counted,
            complete=counted == different,
            outcomes=tuple(
                wire_replay.ChangedOutcome(recorded=was, replayed=now, count=count)  # type: ignore[arg-type]
                for (was, now), count in outcomes.most_common()
            ),
            groups=tuple(
                wire_replay.DifferenceGroup(value=value, **attrs.asdict(each))
                for value, each in largest[: query.limit]
            ),
        )
    )


def _differences(connection: Connection, tenant_id: UUID, job_id: UUID) -> list[Difference]:
    """Return all listed differences; a job lists a bounded number."""
    found: list[Difference] = []
    while page := replay_jobs.differences(
        connection, tenant_id, job_id, PAGE, found[-1].ordinal if found else -1
    ):
        found += page
    return found


def _valued(
    call: Call, connection: Connection, found: Sequence[Difference], deadline: Deadline
) -> Iterator[tuple[Difference, Value]]:
    """Yield the differences with the value that they are counted by, as far as the time allows."""
    by: wire_replay.DifferenceMember = call.query.by
    if by in ("action", "policy"):
        for each in found:
            yield each, _own_value(each, by)
        return
    kept = Kept.of(call)
    value_of = (
        _entity_value(kept)
        if by == "entity"
        else _event_value(TenantExpressions.of(call, connection), EXPRESSIONS[by])
    )
    by_name = {each.decision_id.bytes: each for each in found}
    passed: list[Unreadable] = []
    rows = traffic.newest(
        connection, call.tenant_id, DecisionQuery(), _received(by_name), passed, by_name
    )
    for row in rows:
        for seen in readable(row, kept, passed):
            yield by_name[seen.recorded.entry.name], value_of(seen)
        if deadline.is_over:
            return


def _received(names: dict[bytes, Any]) -> list[tuple[int, int]]:
    """Return the period of the ids, which start with their milliseconds."""
    if not names:
        return []
    first, last = (int.from_bytes(each[:6]) * 1_000_000 for each in (min(names), max(names)))
    return [(first, last + 1_000_000)]


def _own_value(difference: Difference, by: str) -> Value:
    was, now = difference.recorded, difference.replayed
    if by == "policy":
        policy = now["policy"] or was["policy"]
        return policy, policy or NONE
    text = f"{was['action']} to {now['action']}"
    return text, text


def _event_value(known: TenantExpressions, text: str) -> Callable[[Seen], Value]:
    rules = known.compile({_NAME: known.check(text, Use.KEY, "/by")}).rules

    def value_of(seen: Seen) -> Value:
        try:
            found = str(rules.evaluate(0, rules.prepare(seen.event)))[:MAX_TEXT]
        except (EvaluationError, EventError):
            return None, NONE
        return (found, found) if found else (None, NONE)

    return value_of


def _entity_value(kept: Kept) -> Callable[[Seen], Value]:
    """Return a function that gives the first entity of an event."""

    def value_of(seen: Seen) -> Value:
        first = next(iter(seen.record.entities), None)
        if first is None:
            return None, NONE
        entity_id, key = str(first.entity_id), first.key
        if kept.forms is not None:
            named = kept.forms.named(first.definition, key, kept.redactor)
            # A key of a deleted definition may be a secret by now, so its id replaces it.
            entity_id, key = named or (entity_id, (entity_id,))
        return entity_id, f"{first.definition} {', '.join(str(each) for each in key)}"[:MAX_TEXT]

    return value_of
