"""Entities in recorded events: the busiest, and those that occur together with another one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs

from tidegate_server.control.call import Answer, Call
from tidegate_server.records.decisions import passed_over
from tidegate_server.records.kept import Kept
from tidegate_server.stores.base import NotFoundError
from tidegate_server.traffic.preview import SECONDS, Deadline, Preview
from tidegate_server.traffic.tally import Tally
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import traffic as wire_traffic

if TYPE_CHECKING:
    from tidegate.policy.definitions.keys import Part
    from tidegate_server.traffic.preview import Seen


@attrs.define
class _Counted:
    """The counts of an entity."""

    definition: str
    key: tuple[Part, ...]
    events: int = 0
    challenge: int = 0
    block: int = 0
    last_seen_ns: int = 0


def top(call: Call) -> Answer:
    """Return the entities with the most of the newest events."""
    return _counted(call)


def together(call: Call) -> Answer:
    """Return the entities that occur in the same events as an entity.

    Raises:
        NotFoundError: no event in the period has it.
    """
    return _counted(call, call.ids["entity_id"])


def _counted(call: Call, beside: UUID | None = None) -> Answer:
    """Return the busiest entities; given ``beside``, in events of that entity, excluding it."""
    query: wire_traffic.EntitiesQuery = call.query
    kept = Kept.of(call)
    known = {} if kept.forms is None else kept.forms.by_slug
    wanted = {
        slug for slug, form in known.items() if query.entity_definition_id in (None, UUID(form.id))
    }
    tally, found = Tally(), dict[UUID, _Counted]()
    with call.app.store.read() as connection:
        deadline = Deadline.after(SECONDS)
        look = Preview(connection, call.tenant_id, query, kept, deadline, beside)
        for row in look.rows():
            for seen in row:
                tally.see(seen)
                _count(seen, wanted, beside, found, tally)
    if beside is not None and not look.looked_at and look.complete:
        raise NotFoundError("entity")
    busiest = sorted(found.items(), key=lambda each: (-each[1].events, each[0]))
    return Answer(
        body=wire_traffic.EntitiesFound(
            looked_at=look.looked_at,
            complete=look.complete,
            entities=tuple(_answer(*each, kept) for each in busiest[: query.limit]),
            **tally.bounds(),
            **tally.answers(),
        ),
        headers=passed_over(look.passed),
    )


def _count(
    seen: Seen,
    wanted: set[str],
    beside: UUID | None,
    found: dict[UUID, _Counted],
    tally: Tally,
) -> None:
    entry = seen.recorded.entry
    has_any = False
    for each in seen.record.entities:
        if each.definition not in wanted or each.entity_id == beside:
            continue
        has_any = True
        counted = found.get(each.entity_id)
        if counted is None:
            counted = found[each.entity_id] = _Counted(each.definition, each.key)
        counted.events += 1
        counted.challenge += entry.index.action == "challenge"
        counted.block += entry.index.action == "block"
        counted.last_seen_ns = max(counted.last_seen_ns, entry.index.observed_at_ns)
    if has_any:
        tally.match(seen)


def _answer(entity_id: UUID, counted: _Counted, kept: Kept) -> wire_traffic.EntityTraffic:
    """Return the entity with its id and key as they are stored now."""
    assert kept.forms is not None  # without forms no definition is known, and nothing is counted
    form = kept.forms.by_slug[counted.definition]
    named = kept.forms.named(counted.definition, counted.key, kept.redactor)
    named_id, key = named or (str(entity_id), counted.key)
    return wire_traffic.EntityTraffic(
        entity_id=UUID(named_id),
        entity_definition_id=UUID(form.id),
        definition=counted.definition,
        key=key,
        events=counted.events,
        challenge=counted.challenge,
        block=counted.block,
        last_seen_at=wire_common.time_text(counted.last_seen_ns),
    )
