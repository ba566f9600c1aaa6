"""Run the draft of a policy over recorded events, in order of arrival.

The policy decides alone, with windows that start empty, so its effect isn't mixed with that of
other policies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from tidegate.engine import left_out
from tidegate.errors import DefinitionsError, EventError
from tidegate.policy.definitions.expressions import Use
from tidegate.policy.document import read_document
from tidegate_server.engines.drafts import in_member
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.http.ids import new_id
from tidegate_server.http.problems import Problem, problem_of
from tidegate_server.stores.decision_log.recorded import read_record
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire import replay as wire_replay
from tidegate_server.wire import traffic as wire_traffic
from tidegate_server.wire.kinds import POLICY, to_body

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from tidegate.policy.explain.left_out import LeftOut
    from tidegate_server.control.call import Call
    from tidegate_server.engines.definition_set import DefinitionSet
    from tidegate_server.traffic.preview import Deadline, Seen
    from tidegate_server.traffic.selection import TenantExpressions
    from tidegate_server.traffic.tally import Tally

_NAME = "scope"


@attrs.define
class Draft:
    """A policy under trial.

    Attributes:
        clauses: per clause, the events and entities it fired for.
        in_scope: events in its scope.
        left_out: counts the events that entity definitions apply to.
        decided: the number of events that it decided.
        matched: the number of events for which a clause fired.
    """

    engine: TenantEngine
    slug: str
    scope: str | None
    known: TenantExpressions
    clauses: dict[str, tuple[list[int], set[UUID]]]
    left_out: LeftOut
    in_scope: int = 0
    decided: int = 0
    matched: list[bytes] = attrs.field(factory=list)

    @classmethod
    def of(
        cls, call: Call, policy: wire_definitions.PolicyCreate, known: TenantExpressions
    ) -> Draft:
        """Build the draft of a request.

        Raises:
            Problem: it is inconsistent with the tenant's definitions.
        """
        members = {each.name: getattr(policy, each.name) for each in attrs.fields(type(policy))}
        with in_member("policy"):
            body = to_body(POLICY, members, known.known)
            definitions = _alone(known.known, body)
        redaction_key = call.app.keys.redaction_of(call.tenant_id)
        engine = TenantEngine(definitions, redaction_key=redaction_key, events="any")
        (made,) = engine.definitions.policies
        clauses: dict[str, tuple[list[int], set[UUID]]] = {
            each.name: ([0], set()) for each in made.clauses
        }
        return cls(engine, made.slug, policy.expression, known, clauses, left_out(engine))

    def run(self, events: Sequence[Seen], tally: Tally, deadline: Deadline) -> bool:
        """Decide on events, oldest first; return whether it reached the end in time."""
        self._count_scope(events)
        for each in events:
            if deadline.is_over:
                return False
            self.decided += 1
            tally.see(each)
            try:
                served = self.engine.serve(
                    each.event,
                    each.recorded.entry.index.received_at_ns,
                    str(each.recorded.entry.decision_id),
                )
            except EventError:
                tally.errors["invalid-event"] += 1
                continue
            record = read_record(served.record)
            tally.errors.update(set(record.errors.values()))
            self.left_out.add(
                each.event,
                {entity.definition for entity in record.entities},
                record.matched_actions,
                {self.slug} if record.fired else (),
            )
            if record.fired:
                tally.match(each, served.action)
                self.matched.append(each.event)
            for fired in record.fired:
                count, entities = self.clauses[fired.clause]
                count[0] += 1
                if fired.entity_id is not None:
                    entities.add(fired.entity_id)
        return True

    def counts(self) -> tuple[wire_traffic.ClauseCount, ...]:
        """Return the effect of each clause."""
        return tuple(
            wire_traffic.ClauseCount(clause=name, fired=count[0], entities=len(entities))
            for name, (count, entities) in self.clauses.items()
        )

    def entities(self) -> tuple[wire_replay.EntityUse, ...]:
        """Return how many events the entity definitions of the clauses applied to."""
        named = {each.entity for each in self.engine.definitions.policies[0].clauses}
        return tuple(
            msgspec.convert(each, wire_replay.EntityUse)
            for each in self.left_out.entities()
            if each["entity"] in named
        )

    def could_not_fire(self) -> tuple[wire_replay.StoppedPolicy, ...]:
        """Return the draft if it could not fire on any of the events."""
        return tuple(
            msgspec.convert(each, wire_replay.StoppedPolicy)
            for each in self.left_out.could_not_fire()
        )

    def _count_scope(self, events: Sequence[Seen]) -> None:
        if self.scope is None:
            self.in_scope = len(events)
            return
        checked = self.known.check(self.scope, Use.CONDITION, "/policy/expression")
        programs = self.known.compile({_NAME: checked})
        found = programs.match(programs.with_actions([each.event for each in events]))
        self.in_scope = sum(
            not isinstance(each, EventError) and bool(each.matched) for each in found
        )


def _alone(known: DefinitionSet, body: dict[str, Any]) -> Any:
    """Return the tenant's definitions with the draft as the only policy, activated."""
    document = known.document()
    document[POLICY.section] = [
        {**body, POLICY.id_member: str(new_id()), "enabled": True, "status": "active"}
    ]
    try:
        return read_document(document).compiled.source
    except DefinitionsError as error:
        problem = problem_of(error)
        place = f"/{POLICY.section}/0"
        errors = [
            attrs.evolve(each, pointer=str(each.pointer).removeprefix(place))
            for each in problem.errors
        ]
        raise Problem("invalid-definitions", "the policy is not valid", errors=errors) from None
