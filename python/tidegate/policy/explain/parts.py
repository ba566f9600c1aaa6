"""The parts of an explanation."""

from __future__ import annotations

import attrs


@attrs.frozen
class StepExplanation:
    """One node's value: the text of the node, and its result.

    ``start`` and ``end`` count code points of the expression's text. ``type`` is of the value; None
    where there isn't one. A node that was not ``reached`` was not evaluated; such nodes come last.
    """

    text: str
    depth: int
    value: str | None
    error: str | None
    start: int
    end: int
    type: str | None
    reached: bool


@attrs.frozen
class ExpressionExplanation:
    """One expression: its text, its result, and the part that decided it.

    ``excerpt`` is the line with carets under the part that was false or an error; None
    when the expression holds.
    """

    place: str
    text: str
    value: str | None
    error: str | None
    message: str | None
    excerpt: str | None
    cost: int
    steps: tuple[StepExplanation, ...]
    steps_left_out: int


@attrs.frozen
class ActionExplanation:
    """``expression`` is None where the budget ended before."""

    slug: str
    matched: bool
    expression: ExpressionExplanation | None


@attrs.frozen
class EntityExplanation:
    """``because`` says why a definition does not apply; the rest is the state before."""

    slug: str
    applies: bool
    because: str | None
    key: tuple[str | int | bool, ...] | None
    entity_id: str | None
    event_count: int | None
    first_seen_at: str | None
    last_seen_at: str | None
    expressions: tuple[ExpressionExplanation, ...]


@attrs.frozen
class WindowExplanation:
    """``value`` is None when the event was not counted."""

    value: int | None
    threshold: int
    duration_seconds: float
    measure: str
    field: ExpressionExplanation | None


@attrs.frozen
class ClauseExplanation:
    """``because`` says in words why the clause fired or did not."""

    name: str
    fired: bool
    active: bool
    because: str
    mitigation: str | None
    mode: str
    active_until: str | None
    condition: ExpressionExplanation | None
    window: WindowExplanation | None
    final: bool


@attrs.frozen
class OverrideExplanation:
    """The ban or exemption that answered, as it is defined."""

    override_id: str
    name: str
    kind: str
    network: str | None
    entity_id: str | None
    starts_at: str | None
    ends_at: str
    author: str
    reason: str


@attrs.frozen
class PolicyExplanation:
    """A policy: whether it was in scope, and its clauses."""

    slug: str
    in_scope: bool | None
    scope: ExpressionExplanation | None
    clauses: tuple[ClauseExplanation, ...]
