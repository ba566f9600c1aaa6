"""The end of a decision's budget, and the answer past it (docs/decision.md, "Budget")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.decider import Action, Allow, Block, Challenge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.policy.definitions.compiled import CompiledDefinitions
    from tidegate.policy.definitions.model import OnBudgetExceeded

_PROVIDER, _DIFFICULTY = "pow", 4
"""The difficulty of the challenge past the budget, equal to a mitigation's default."""


class Ends:
    """The known ends of the budget: in actions and policies, and in entities.

    Args:
        compiled: the definitions.
        ended_at: the places, as in a record.

    Raises:
        ValueError: one isn't a place in the definitions.
    """

    def __init__(self, compiled: CompiledDefinitions, ended_at: Sequence[str]) -> None:
        order = {place: at for at, place in enumerate(_places(compiled))} if ended_at else {}
        if not order.keys() >= set(ended_at):
            raise ValueError(f"not all are places of the definitions: {list(ended_at)}")
        self._order = order
        self._entities = min((order[at] for at in ended_at if _is_of_entity(at)), default=None)
        self._walk = min((order[at] for at in ended_at if not _is_of_entity(at)), default=None)

    def are_before(self, place: str) -> bool:
        """Whether the budget ended at or before a place."""
        end = self._entities if _is_of_entity(place) else self._walk
        return end is not None and self._order[place] >= end

    def reached(self, last: str | None) -> tuple[str, ...]:
        """The places at which it ended, up to the last clause tried.

        Args:
            last: the place of a final clause that fired; None if none did.
        """
        ends = [self._walk, self._entities]
        if last is not None and not self.are_before(f"{last}.window.field"):
            ends = [None, self._entities]
        places = list(self._order)
        return tuple(places[end] for end in ends if end is not None)


def past_budget(setting: OnBudgetExceeded, return_url: str | None) -> Action:
    """The answer if the budget ended and no clause gives one.

    Args:
        setting: the tenant's setting.
        return_url: the event's return URL.
    """
    if setting == "challenge":
        return Challenge(provider=_PROVIDER, difficulty=_DIFFICULTY, return_url=return_url or None)
    if setting == "block":
        return Block()
    return Allow()


def _is_of_entity(place: str) -> bool:
    return place.startswith("entities.")


def _places(compiled: CompiledDefinitions) -> Iterator[str]:
    """Every place at which a decision may evaluate an expression, in decision order."""
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
