"""Counts the events that each entity definition applies to, with reasons for the others.

It also finds the policies that could not have fired on any of the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.errors import EventError
from tidegate.evaluation.encoder import encode
from tidegate.evaluation.reference import evaluate
from tidegate.policy.decide import MISSING
from tidegate.policy.definitions.compiled import CompiledClause
from tidegate.policy.definitions.keys import part_of
from tidegate.policy.definitions.reads import reads
from tidegate.policy.explain.shown import clipped

if TYPE_CHECKING:
    from tidegate.evaluation.encoder import AddressLookup
    from tidegate.policy.backend import Backend
    from tidegate.policy.definitions.compiled import (
        CompiledDefinitions,
        CompiledEntity,
        CompiledPolicy,
    )

_FIRST, _THEN_EACH = 100, 100
"""The reason is determined for the first events a definition doesn't apply to, and then only for
every hundredth event: it takes far longer than a decision, and one reading of an event serves all
definitions."""
_MOST_KINDS = 10_000
_PROBLEM = "derived.client_ip_problem"
_NO_MATCH = "the match expression is false"


def by_scope(compiled: CompiledDefinitions) -> CompiledDefinitions | None:
    """Definitions with policies that fire wherever their scope holds; None if no policy has one.

    They contain only what scopes read, since lists may be large.
    """
    scopes = {each.slug: each.expression for each in compiled.policies if each.expression}
    if not scopes:
        return None
    read = {slug for each in scopes.values() for slug in each.references.actions}
    actions = tuple(each for each in compiled.actions if each.slug in read)
    expressions = (*scopes.values(), *(each.expression for each in actions))
    lists = {name for each in expressions for name in each.references.lists}
    return attrs.evolve(
        compiled,
        lists={name: named for name, named in compiled.lists.items() if name in lists},
        actions=actions,
        entities=(),
        mitigations=(),
        policies=tuple(
            attrs.evolve(each, clauses=(_IN_SCOPE,))
            for each in compiled.policies
            if each.slug in scopes
        ),
    )


_IN_SCOPE = CompiledClause(
    name="in-scope",
    enabled=True,
    expression=None,
    actions=(),
    entity=None,
    mitigation=None,
    window=None,
    final=False,
)


@attrs.define(slots=False)
class LeftOut:
    """Counts events by the entity definitions that apply to them.

    Args:
        compiled: the definitions.
        make_backend: creates the backend for definitions, if policies have scopes.
        addresses: the address databases.
    """

    _compiled: CompiledDefinitions
    _make_backend: Callable[[CompiledDefinitions], Backend]
    _addresses: AddressLookup | None = None
    _events: int = 0
    _applied: Counter[str] = attrs.field(factory=Counter)
    _looked_at: Counter[str] = attrs.field(factory=Counter)
    _reasons: dict[str, Counter[str]] = attrs.field(factory=dict)
    _matched: set[str] = attrs.field(factory=set)
    _kinds: set[tuple[frozenset[str], frozenset[str], frozenset[str]]] = attrs.field(factory=set)
    """The slugs of events that are counted; another event like these says nothing new of policies
    without a scope."""
    _young: set[str] = attrs.field(init=False)
    """The definitions that didn't apply to fewer than the first events."""
    _by_applied: dict[frozenset[str], tuple[CompiledEntity, ...]] = attrs.field(factory=dict)
    _with_scope: frozenset[str] = attrs.field(init=False)
    _out_of_scope: set[str] = attrs.field(init=False)
    """Policies with a scope that has held for no event so far."""
    _stopped: set[str] = attrs.field(init=False)
    """Policies that could not have fired on any event so far."""
    _by_action: dict[str, set[str]] = attrs.field(init=False)
    """The first action of a clause, or empty, to the policies with such clauses."""

    _scoped: Backend | None = attrs.field(init=False)
    """Decides by the scopes alone."""

    def __attrs_post_init__(self) -> None:
        scoped = by_scope(self._compiled)
        self._scoped = None if scoped is None else self._make_backend(scoped)
        self._young = {each.slug for each in self._compiled.entities}
        policies = self._compiled.policies
        self._stopped = {each.slug for each in policies}
        self._with_scope = frozenset(each.slug for each in policies if each.expression)
        self._out_of_scope = set(self._with_scope)
        self._by_action = {}
        for policy in policies:
            for clause in policy.clauses:
                self._by_action.setdefault((*clause.actions, "")[0], set()).add(policy.slug)

    def add(
        self,
        event: bytes,
        applied: Collection[str],
        matched: Collection[str],
        fired: Collection[str],
    ) -> None:
        """Count an event.

        Args:
            event: the event that was decided on.
            applied: slugs of the entity definitions that apply.
            matched: slugs of the event's actions.
            fired: slugs of the policies with a clause that fired.
        """
        self._events += 1
        self._applied.update(applied)
        kind = frozenset(applied), frozenset(matched), frozenset(fired)
        if self._stopped and (kind not in self._kinds or self._needs_scope):
            self._matched.update(matched)
            self._add_to_policies(event, applied, matched, fired)
            if len(self._kinds) < _MOST_KINDS:
                self._kinds.add(kind)
        looked = self._left_out(kind[0])
        if self._events % _THEN_EACH:
            looked = tuple(each for each in looked if each.slug in self._young)
        if not looked:
            return
        try:
            record = self._record(event, matched)
        except EventError:
            return
        for each in looked:
            self._looked_at[each.slug] += 1
            if self._events - self._applied[each.slug] >= _FIRST:
                self._young.discard(each.slug)
            self._reasons.setdefault(each.slug, Counter())[self._why(each, record)] += 1

    @property
    def _needs_scope(self) -> bool:
        """Whether events of the same kind may differ: some may be in scope."""
        return not self._stopped.isdisjoint(self._with_scope)

    def _left_out(self, applied: frozenset[str]) -> tuple[CompiledEntity, ...]:
        """The entity definitions that didn't apply."""
        found = self._by_applied.get(applied)
        if found is None:
            found = tuple(each for each in self._compiled.entities if each.slug not in applied)
            if len(self._by_applied) < _MOST_KINDS:
                self._by_applied[applied] = found
        return found

    def _add_to_policies(
        self,
        event: bytes,
        applied: Collection[str],
        matched: Collection[str],
        fired: Collection[str],
    ) -> None:
        self._stopped.difference_update(fired)
        self._out_of_scope.difference_update(fired)
        named = [self._by_action.get(each, set()) for each in ("", *matched)]
        candidates = self._stopped & set().union(*named)
        with_scope = self._with_scope & candidates
        in_scope = self._in_scope(event) if self._out_of_scope or with_scope else frozenset()
        self._out_of_scope.difference_update(in_scope)
        candidates -= with_scope - in_scope
        self._stopped.difference_update(
            slug
            for slug in candidates
            if any(_may_fire(each, applied, matched) for each in self._policies[slug].clauses)
        )

    def _in_scope(self, event: bytes) -> frozenset[str]:
        """The policies with a scope that holds for an event."""
        if self._scoped is None:
            return frozenset()
        try:
            record = orjson.loads(self._scoped.decide_record(event, 0, None, None))
        except EventError:
            return frozenset()
        return frozenset(each["policy"] for each in record["fired"])

    @cached_property
    def _policies(self) -> Mapping[str, CompiledPolicy]:
        return {each.slug: each for each in self._compiled.policies}

    @cached_property
    def _names(self) -> frozenset[str]:
        """The fields that entity definitions read."""
        read = [each.match for each in self._compiled.entities if each.match is not None]
        read += [field for each in self._compiled.entities for field in each.key_fields]
        return frozenset().union(*(each.references.fields for each in read))

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
                return _NO_MATCH
        for field in definition.key_fields:
            found = evaluate(field.root, record, lists=lists, limits=limits)
            text = f"`{clipped(field.text)}`"
            if found.failure is not None and found.failure.code not in MISSING:
                return f"{text} is an error: {found.failure.code}"
            if found.failure is not None or part_of(found.value) == "":
                return f"{text} is empty{_because(field.references.fields, record)}"
        return "the budget of the decision ended before it"

    def entities(self) -> list[dict[str, Any]]:
        """For each entity definition, the number of events it applied to and did not, and why not.

        The reasons come from ``looked_at`` events.
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
        """The policies with no clause that could fire on any of the events, and why."""
        if not self._events:
            return []
        inactive = [
            {"policy": each.slug, "because": f"its status is `{each.status}`"}
            for each in self._compiled.source.policies
            if each.status != "active"
        ]
        stopped = [
            {"policy": each.slug, "because": self._because_of(each)}
            for each in self._compiled.policies
            if each.slug in self._stopped
        ]
        return inactive + stopped

    def _because_of(self, policy: CompiledPolicy) -> str:
        """Why a policy could not fire on any of the events."""
        if policy.slug in self._out_of_scope:
            return "its scope held for no event"
        reasons = dict.fromkeys(self._obstacle(each) for each in policy.clauses)
        return "; ".join(reasons) or "it has no clauses"

    def _obstacle(self, clause: CompiledClause) -> str:
        """Why a clause could not fire on any of the events."""
        if not clause.enabled:
            return "it names a disabled action or entity"
        if clause.entity is not None and not self._applied[clause.entity]:
            return f"entity `{clause.entity}` applied to no event{self._commonest(clause.entity)}"
        never = [each for each in clause.actions if each not in self._matched]
        if never:
            return f"action `{never[0]}` matched no event{self._own_fields(never[0])}"
        return f"clause `{clause.name}`: scope, actions and entity never held for the same event"

    def _commonest(self, entity: str) -> str:
        """Why an entity definition applied to no event, in most of those looked at."""
        reasons = self._reasons.get(entity, Counter()).most_common(1)
        if not reasons:
            return ""
        (match,) = (each.match for each in self._compiled.entities if each.slug == entity)
        if match is not None and reasons[0][0] == _NO_MATCH:
            return f" (`{clipped(match.text)}` is false)"
        return f" ({reasons[0][0]})"

    def _own_fields(self, action: str) -> str:
        """The members that the site has to send for an action."""
        (read,) = (each.expression for each in self._compiled.actions if each.slug == action)
        paths = {each.path for each in reads(read.root) if each.path[0] == "fields"}
        own = ", ".join(f"`{'.'.join(each)}`" for each in sorted(paths))
        return f" (it reads {own})" if own else ""


def _may_fire(clause: CompiledClause, applied: Collection[str], matched: Collection[str]) -> bool:
    """Whether a clause may fire on an event in its policy's scope."""
    return (
        clause.enabled
        and (clause.entity is None or clause.entity in applied)
        and all(each in matched for each in clause.actions)
    )


def _because(read: Collection[str], record: Mapping[str, Any]) -> str:
    """The problem with the client's address, if that is the empty part."""
    about_address = {"request.client_ip", "derived.client_network", "derived.ip_subnet"}
    problem = record.get(_PROBLEM, "")
    return f" ({problem})" if problem and about_address & set(read) else ""
