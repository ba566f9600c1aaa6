"""To how many events each entity definition applies, why not to the others, and the policies that
for this reason could not fire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EventError
from tidegate.evaluation.encoder import encode
from tidegate.evaluation.reference import evaluate
from tidegate.policy.decide import MISSING
from tidegate.policy.definitions.keys import part_of
from tidegate.policy.explain.shown import clipped

if TYPE_CHECKING:
    from tidegate.evaluation.encoder import AddressLookup
    from tidegate.policy.definitions.compiled import (
        CompiledClause,
        CompiledDefinitions,
        CompiledEntity,
    )

_FIRST, _THEN_EACH = 100, 100
"""The reason is looked for at the first events that a definition doesn't apply to, and then at each
of so many: it takes far longer than a decision."""
_PROBLEM = "derived.client_ip_problem"


@attrs.define(slots=False)
class LeftOut:
    """Counts events by the entity definitions that apply to them.

    Args:
        compiled: the definitions.
        addresses: the address databases.
    """

    _compiled: CompiledDefinitions
    _addresses: AddressLookup | None = None
    _events: int = 0
    _applied: Counter[str] = attrs.field(factory=Counter)
    _looked_at: Counter[str] = attrs.field(factory=Counter)
    _reasons: dict[str, Counter[str]] = attrs.field(factory=dict)
    _matched: set[str] = attrs.field(factory=set)
    _fired: set[str] = attrs.field(factory=set)

    def add(
        self,
        event: bytes,
        applied: Collection[str],
        matched: Collection[str],
        fired: Collection[str],
    ) -> None:
        """Count an event.

        Args:
            event: as it was decided on.
            applied: slugs of the entity definitions that apply.
            matched: slugs of its actions.
            fired: slugs of the policies of which a clause fired.
        """
        self._events += 1
        self._applied.update(applied)
        self._matched.update(matched)
        self._fired.update(fired)
        left_out = [each for each in self._compiled.entities if each.slug not in applied]
        looked = [each for each in left_out if self._is_looked_at(each.slug)]
        if not looked:
            return
        try:
            record = self._record(event, matched)
        except EventError:
            return
        for each in looked:
            self._looked_at[each.slug] += 1
            self._reasons.setdefault(each.slug, Counter())[self._why(each, record)] += 1

    @cached_property
    def _names(self) -> frozenset[str]:
        """The fields that entity definitions read."""
        read = [each.match for each in self._compiled.entities if each.match is not None]
        read += [field for each in self._compiled.entities for field in each.key_fields]
        return frozenset().union(*(each.references.fields for each in read))

    def _is_looked_at(self, slug: str) -> bool:
        before = self._events - 1 - self._applied[slug]
        return before < _FIRST or before % _THEN_EACH == 0

    def _record(self, event: bytes, matched: Collection[str]) -> dict[str, Any]:
        record = encode(
            event,
            {*self._names, _PROBLEM},
            variables={},
            trusted_proxies=self._compiled.trusted_proxies,
            addresses=self._addresses,
        )
        actions = {f"actions.{each.slug}": each.slug in matched for each in self._compiled.actions}
        return record | actions

    def _why(self, definition: CompiledEntity, record: Mapping[str, Any]) -> str:
        lists, limits = self._compiled.lists, self._compiled.limits
        if definition.match is not None:
            found = evaluate(definition.match.root, record, lists=lists, limits=limits)
            if found.failure is not None:
                return f"the match expression is an error: {found.failure.code}"
            if found.value is not True:
                return "the match expression is false"
        for field in definition.key_fields:
            found = evaluate(field.root, record, lists=lists, limits=limits)
            text = f"`{clipped(field.text)}`"
            if found.failure is not None and found.failure.code not in MISSING:
                return f"{text} is an error: {found.failure.code}"
            if found.failure is not None or part_of(found.value) == "":
                return f"{text} is empty{_because(field.references.fields, record)}"
        return "the budget of the decision ended before it"

    def entities(self) -> list[dict[str, Any]]:
        """Each entity definition: events that it applied to and did not, and why not.

        The reasons are those of ``looked_at`` events.
        """
        return [
            {
                "entity": each.slug,
                "applied": self._applied[each.slug],
                "not_applied": self._events - self._applied[each.slug],
                "looked_at": self._looked_at[each.slug],
                "why": [
                    {"reason": reason, "events": count}
                    for reason, count in self._reasons.get(each.slug, Counter()).most_common()
                ],
            }
            for each in self._compiled.entities
        ]

    def could_not_fire(self) -> list[dict[str, str]]:
        """The policies of which no clause could fire on any of the events, and why."""
        if not self._events:
            return []
        found = [
            {"policy": each.slug, "because": f"its status is `{each.status}`"}
            for each in self._compiled.source.policies
            if each.status != "active"
        ]
        for policy in self._compiled.policies:
            obstacles = [self._obstacle(each) for each in policy.clauses]
            if policy.slug not in self._fired and all(obstacles):
                reasons = dict.fromkeys(obstacles) or {"it has no clauses": None}
                found.append({"policy": policy.slug, "because": "; ".join(reasons)})
        return found

    def _obstacle(self, clause: CompiledClause) -> str:
        """Why a clause could fire on none of the events; empty where it could."""
        if not clause.enabled:
            return "it names a disabled action or entity"
        if clause.entity is not None and not self._applied[clause.entity]:
            return f"entity `{clause.entity}` applied to no event"
        never = [each for each in clause.actions if each not in self._matched]
        return f"action `{never[0]}` matched no event" if never else ""


def _because(read: Collection[str], record: Mapping[str, Any]) -> str:
    """The problem of the client's address, where that is what is empty."""
    about_address = {"request.client_ip", "derived.client_network", "derived.ip_subnet"}
    problem = record.get(_PROBLEM, "")
    return f" ({problem})" if problem and about_address & set(read) else ""
