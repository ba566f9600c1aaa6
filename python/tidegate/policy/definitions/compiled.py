"""Compiled definitions: only live objects, in decision order, with checked expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from ipaddress import IPv4Interface, IPv6Interface
from uuid import UUID

import attrs

from tidegate.evaluation.encoder import Source
from tidegate.language.check.checker import CheckedExpression
from tidegate.limits import Limits
from tidegate.policy.definitions.model import (
    Block,
    Challenge,
    Definitions,
    Measure,
    MissingKey,
    Mode,
    OnBudgetExceeded,
)
from tidegate.policy.definitions.overrides import Overrides
from tidegate.policy.definitions.reads import reads
from tidegate.policy.definitions.secrets import Reading
from tidegate.types import NamedList, Type


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
    """How each key field is read."""


@attrs.frozen
class ComputedHeader:
    """A header of a block with the value of an expression.

    Attributes:
        name: of the header.
        place: of the expression.
        expression: its value is a string.
        reading: how the value is read.
    """

    name: str
    place: str
    expression: CheckedExpression
    reading: Reading


@attrs.frozen
class CompiledMitigation:
    """``challenge`` or ``block`` is present exactly in the mode that uses it."""

    slug: str
    mode: Mode
    ttl_seconds: int
    challenge: Challenge | None
    block: Block | None
    headers: tuple[ComputedHeader, ...] = ()
    """The computed headers of the block."""


@attrs.frozen
class CompiledWindow:
    duration_seconds: int | float
    duration: int
    """The duration in nanoseconds."""
    threshold: int
    measure: Measure
    field: CheckedExpression | None
    field_reading: Reading | None
    """How the field is read, if there is one."""


@attrs.frozen
class CompiledClause:
    """A clause; ``enabled`` is false if it names a disabled action or entity.

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

    @cached_property
    def placed(self) -> tuple[tuple[str, CheckedExpression], ...]:
        """Every expression that a decision may evaluate, with its place, in decision order."""
        return tuple(self._placed())

    @cached_property
    def members_read(self) -> frozenset[Source]:
        """The event members that its expressions read."""
        return _members_read(expression for _, expression in self.placed)

    def _placed(self) -> Iterator[tuple[str, CheckedExpression]]:
        if self.expression is not None:
            yield f"policies.{self.slug}.expression", self.expression
        for number, clause in enumerate(self.clauses):
            place = f"policies.{self.slug}.clauses[{number}]"
            if clause.enabled and clause.expression is not None:
                yield f"{place}.expression", clause.expression
            if clause.enabled and clause.window is not None and clause.window.field is not None:
                yield f"{place}.window.field", clause.window.field


@attrs.frozen(eq=False)
class CompiledDefinitions:
    """An engine's input."""

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
    overrides: Overrides

    @cached_property
    def names_read(self) -> frozenset[str]:
        """The fields that some expression reads: nothing else in an event is examined."""
        return frozenset().union(*{each.references.fields for each in self.expressions()})

    @cached_property
    def members_read(self) -> frozenset[Source]:
        """The event members read by expressions that a decision may evaluate."""
        of_entities = _members_read(
            expression
            for entity in self.entities
            for expression in (*entity.key_fields, *_given(entity.match))
        )
        of_actions = _members_read(action.expression for action in self.actions)
        of_headers = _members_read(each.expression for each in self.headers())
        of_policies = (each.members_read for each in self.policies)
        return of_actions.union(of_entities, of_headers, *of_policies)

    @cached_property
    def clauses(self) -> Mapping[tuple[str, str], CompiledClause]:
        """Clauses by policy slug and clause name, the keys of the state; in decision order."""
        return {
            (policy.slug, clause.name): clause
            for policy in self.policies
            for clause in policy.clauses
        }

    def headers(self) -> Iterator[ComputedHeader]:
        """The computed headers of all mitigations."""
        return (header for each in self.mitigations for header in each.headers)

    def expressions(self) -> Iterator[CheckedExpression]:
        """Every expression that a decision may evaluate."""
        yield from (action.expression for action in self.actions)
        for entity in self.entities:
            yield from entity.key_fields
            yield from _given(entity.match)
        yield from (each.expression for each in self.headers())
        for policy in self.policies:
            yield from _given(policy.expression)
            for clause in policy.clauses:
                yield from _given(clause.expression, clause.window.field if clause.window else None)


def _members_read(expressions: Iterable[CheckedExpression]) -> frozenset[Source]:
    return frozenset(each.path for expression in expressions for each in reads(expression.root))


def _given(*expressions: CheckedExpression | None) -> Iterator[CheckedExpression]:
    return (each for each in expressions if each is not None)
