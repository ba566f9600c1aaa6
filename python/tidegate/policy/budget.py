"""Where the budget of a decision ended, and the answer past it (docs/decision.md, "Budget")."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, TypeAlias

from tidegate.policy.decision import BlockAnswer, ChallengeAnswer, DecidedAction
from tidegate.policy.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tidegate.language.checker import CheckedExpression
    from tidegate.policy.compiled import CompiledDefinitions
    from tidegate.policy.model import OnBudgetExceeded

    _Placed: TypeAlias = tuple[str, CheckedExpression]

_PROVIDER, _DIFFICULTY = "pow", 4
"""Of the challenge past the budget: what a mitigation has that does not say."""


RESERVE = 4
"""Entities have a budget of their own: what a decision may take, divided by this."""
NAMED = 3
"""The dearest expressions that a warning names."""


def budget_warnings(compiled: CompiledDefinitions) -> Iterator[Finding]:
    """Warnings that one event may take more work than a decision may.

    The estimate is of an event for which every expression is evaluated, equal ones once, over
    texts of the declared sizes (``language/sizes``).
    """
    limit = compiled.limits.decision_work
    yield from _over("the actions and policies", _of_walk(compiled), limit)
    yield from _over("the entities", _of_entities(compiled), limit // RESERVE)


def _over(whose: str, placed: Iterable[_Placed], limit: int) -> Iterator[Finding]:
    """A warning, if what some expressions may take is over a limit."""
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


class Ends:
    """Where the budget is known to have ended: in actions and policies, and in entities.

    Args:
        compiled: the definitions.
        ended_at: the places, as a record has them.

    Raises:
        ValueError: one is no place of the definitions.
    """

    def __init__(self, compiled: CompiledDefinitions, ended_at: Sequence[str]) -> None:
        order = {place: at for at, place in enumerate(_places(compiled))} if ended_at else {}
        if not order.keys() >= set(ended_at):
            raise ValueError(f"not all are places of the definitions: {list(ended_at)}")
        self._order = order
        self._entities = min((order[at] for at in ended_at if _is_of_entity(at)), default=None)
        self._walk = min((order[at] for at in ended_at if not _is_of_entity(at)), default=None)

    def are_before(self, place: str) -> bool:
        """Whether the budget ended at a place, or before it."""
        end = self._entities if _is_of_entity(place) else self._walk
        return end is not None and self._order[place] >= end

    def reached(self, last: str | None) -> tuple[str, ...]:
        """The places at which it ended up to the last clause that was tried.

        Args:
            last: the place of a final clause that fired, None where none did.
        """
        ends = [self._walk, self._entities]
        if last is not None and not self.are_before(f"{last}.window.field"):
            ends = [None, self._entities]
        places = list(self._order)
        return tuple(places[end] for end in ends if end is not None)


def past_budget(setting: OnBudgetExceeded, return_url: str | None) -> DecidedAction:
    """The answer where the budget ended and no clause gives one.

    Args:
        setting: of the tenant.
        return_url: of the event.
    """
    if setting == "challenge":
        answer = ChallengeAnswer(_PROVIDER, _DIFFICULTY, return_url or None)
        return DecidedAction("challenge", challenge=answer)
    if setting == "block":
        return DecidedAction("block", block=BlockAnswer(403, "", {}))
    return DecidedAction("allow")


def _is_of_entity(place: str) -> bool:
    return place.startswith("entities.")


def _of_walk(compiled: CompiledDefinitions) -> Iterator[_Placed]:
    """Every live expression of actions and policies with its place, in decision order."""
    for action in compiled.actions:
        yield f"actions.{action.slug}.expression", action.expression
    for policy in compiled.policies:
        yield from policy.placed


def _of_entities(compiled: CompiledDefinitions) -> Iterator[_Placed]:
    """The same of entities."""
    for entity in compiled.entities:
        if entity.match is not None:
            yield f"entities.{entity.slug}.match_expression", entity.match
        for number, field in enumerate(entity.key_fields):
            yield f"entities.{entity.slug}.key_fields[{number}]", field


def _places(compiled: CompiledDefinitions) -> Iterator[str]:
    """Every place at which a decision may evaluate something, in decision order."""
    yield from (f"actions.{each.slug}.expression" for each in compiled.actions)
    for entity in compiled.entities:
        yield f"entities.{entity.slug}.match_expression"
        for number in range(len(entity.key_fields)):
            yield f"entities.{entity.slug}.key_fields[{number}]"
    for policy in compiled.policies:
        yield f"policies.{policy.slug}.expression"
        for number in range(len(policy.clauses)):
            yield f"policies.{policy.slug}.clauses[{number}].expression"
            yield f"policies.{policy.slug}.clauses[{number}].window.field"
