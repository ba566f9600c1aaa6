"""Warnings that one event may exceed a decision's budget (docs/decision.md, "Budget")."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, TypeAlias

from tidegate.policy.definitions.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidegate.language.check.checker import CheckedExpression
    from tidegate.policy.definitions.compiled import CompiledDefinitions

    _Placed: TypeAlias = tuple[str, CheckedExpression]

RESERVE = 4
"""Entities have their own budget: the decision's work divided by this."""
NAMED = 3
"""Most expensive expressions named in a warning."""


def budget_warnings(compiled: CompiledDefinitions) -> Iterator[Finding]:
    """Warnings that one event may exceed a decision's budget.

    The estimate assumes an event for which every expression is evaluated, equal ones once, over
    texts of the declared sizes (``language/sizes``).
    """
    limit = compiled.limits.decision_work
    yield from _over("the actions and policies", _of_walk(compiled), limit)
    yield from _over("the entities", _of_entities(compiled), limit // RESERVE)


def _over(whose: str, placed: Iterable[_Placed], limit: int) -> Iterator[Finding]:
    """A warning, if the work of some expressions may exceed a limit."""
    work = {id(expression): (expression.cost_estimate.work, place) for place, expression in placed}
    total = sum(units for units, _ in work.values())
    if total > limit:
        dearest = nlargest(NAMED, work.values(), key=lambda each: each[0])
        named = ", ".join(f"`{place}` ({100 * units // total} %)" for units, place in dearest)
        yield Finding(
            "budget-may-end",
            f"{whose} may take {total} units of work for one event, more than the {limit} of a "
            f"decision; the dearest: {named}",
            "",
            severity="warning",
            hint="past its budget a decision fires nothing more by itself (docs/decision.md)",
        )


def _of_walk(compiled: CompiledDefinitions) -> Iterator[_Placed]:
    """Every live expression of actions and policies with its place, in decision order."""
    for action in compiled.actions:
        yield f"actions.{action.slug}.expression", action.expression
    for policy in compiled.policies:
        yield from policy.placed


def _of_entities(compiled: CompiledDefinitions) -> Iterator[_Placed]:
    """Every live expression of entities with its place."""
    for entity in compiled.entities:
        if entity.match is not None:
            yield f"entities.{entity.slug}.match_expression", entity.match
        for number, field in enumerate(entity.key_fields):
            yield f"entities.{entity.slug}.key_fields[{number}]", field
