"""Definitions ready to decide by: only what is live, in decision order, expressions checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Interface, IPv6Interface
from uuid import UUID

import attrs

from tidegate.language.checker import CheckedExpression
from tidegate.language.schema import NamedList
from tidegate.language.types import Type
from tidegate.limits import Limits
from tidegate.policy.model import (
    Block,
    Challenge,
    Definitions,
    Measure,
    MissingKey,
    Mode,
    OnBudgetExceeded,
)
from tidegate.policy.secrets import Reading


@attrs.frozen
class CompiledAction:
    slug: str
    expression: CheckedExpression


@attrs.frozen
class CompiledEntity:
    slug: str
    id: str
    priority: int
    on_missing_key: MissingKey
    match: CheckedExpression | None
    key_fields: tuple[CheckedExpression, ...]
    key_readings: tuple[Reading, ...]
    """Of each key field."""


@attrs.frozen
class CompiledMitigation:
    """``challenge`` and ``block`` are there exactly for the mode that answers with them."""

    slug: str
    mode: Mode
    ttl_seconds: int
    challenge: Challenge | None
    block: Block | None


@attrs.frozen
class CompiledWindow:
    duration_seconds: int | float
    duration: int
    """The same in nanoseconds."""
    threshold: int
    measure: Measure
    field: CheckedExpression | None
    field_reading: Reading | None
    """Of the field, where there is one."""


@attrs.frozen
class CompiledClause:
    """A clause; ``enabled`` is false when it names a disabled action or entity.

    Such a clause never fires, but keeps its place: positions are those of the document.
    """

    name: str
    enabled: bool
    expression: CheckedExpression | None
    actions: tuple[str, ...]
    entity: str | None
    mitigation: CompiledMitigation | None
    window: CompiledWindow | None
    final: bool


@attrs.frozen
class CompiledPolicy:
    slug: str
    id: str
    expression: CheckedExpression | None
    clauses: tuple[CompiledClause, ...]


@attrs.frozen(eq=False)
class CompiledDefinitions:
    """What an engine is made of."""

    source: Definitions = attrs.field(repr=False)
    tenant: UUID
    revision: int
    limits: Limits
    fields: Mapping[str, Type]
    """Every field an expression may read, with its type."""
    lists: Mapping[str, NamedList]
    trusted_proxies: tuple[IPv4Interface | IPv6Interface, ...]
    max_keys: int
    on_budget_exceeded: OnBudgetExceeded
    actions: tuple[CompiledAction, ...]
    entities: tuple[CompiledEntity, ...]
    mitigations: tuple[CompiledMitigation, ...]
    policies: tuple[CompiledPolicy, ...]
    names_read: frozenset[str] = attrs.field(init=False, repr=False)
    """The fields some expression reads: nothing else of an event is looked at."""
    clauses: Mapping[tuple[str, str], CompiledClause] = attrs.field(init=False, repr=False)
    """By policy slug and clause name, under which state is kept; in decision order."""

    @names_read.default
    def _names_read(self) -> frozenset[str]:
        return frozenset().union(*(each.references.fields for each in self.expressions()))

    @clauses.default
    def _clauses(self) -> Mapping[tuple[str, str], CompiledClause]:
        return {
            (policy.slug, clause.name): clause
            for policy in self.policies
            for clause in policy.clauses
        }

    def expressions(self) -> Iterator[CheckedExpression]:
        """Every expression that a decision may evaluate."""
        yield from (action.expression for action in self.actions)
        for entity in self.entities:
            yield from entity.key_fields
            yield from _given(entity.match)
        for policy in self.policies:
            yield from _given(policy.expression)
            for clause in policy.clauses:
                yield from _given(clause.expression, clause.window.field if clause.window else None)


def _given(*expressions: CheckedExpression | None) -> Iterator[CheckedExpression]:
    return (each for each in expressions if each is not None)
