"""When a clause can fire, and how two clauses relate."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from tidegate.language.tree.checked import Field
from tidegate.policy.lint.atoms import ACTION, Atom, alternatives
from tidegate.policy.lint.facts import Facts, is_certain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidegate.language.tree.checked import Checked
    from tidegate.policy.definitions.compiled import (
        CompiledClause,
        CompiledEntity,
        CompiledMitigation,
        CompiledPolicy,
        CompiledWindow,
    )


@attrs.frozen(eq=False)
class Surroundings:
    """The enabled objects that clauses name.

    Attributes:
        actions: the expression of each action.
        entities: each entity definition.
    """

    actions: Mapping[str, Checked]
    entities: Mapping[str, CompiledEntity]


@attrs.frozen(eq=False)
class PlacedClause:
    """A clause of a policy, with what an event must have for it to be tried and counted.

    Attributes:
        pointer: of the clause in the document.
        is_live: whether its policy decides now.
        policy: its policy.
        clause: the clause.
    """

    pointer: str
    is_live: bool
    policy: CompiledPolicy
    clause: CompiledClause
    _around: Surroundings

    @cached_property
    def cases(self) -> list[Facts]:
        """The alternatives of its scope, actions, entity and condition that can hold."""
        found = map(Facts, alternatives(self._conditions(), self._around.actions))
        return [each for each in found if each.is_possible]

    @cached_property
    def needs(self) -> list[Facts]:
        """The tests an event must pass, in alternatives; a matched action stands for its tests."""
        return [
            Facts(frozenset(each for each in case.atoms if not self._is_given(each)))
            for case in self.cases
        ]

    @property
    def window(self) -> CompiledWindow | None:
        return self.clause.window

    @property
    def mitigation(self) -> CompiledMitigation | None:
        return self.clause.mitigation

    @property
    def counts_every_event(self) -> bool:
        """Whether it fires on each event that it counts."""
        window = self.window
        return window is None or (window.threshold == 1 and window.field is None)

    def holds_with(self, other: PlacedClause) -> bool:
        """Whether an event that passes another clause's tests certainly passes its own.

        That doesn't include its window.
        """
        if self.clause.entity not in (None, other.clause.entity):
            return False
        return all(any(map(case.implies_all, self.needs)) for case in other.cases)

    def fires_with(self, other: PlacedClause) -> bool:
        """Whether it certainly fires on each event on which another clause fires by itself."""
        if not self.holds_with(other):
            return False
        return self.counts_every_event or self._window_is_reached_with(other)

    def _window_is_reached_with(self, other: PlacedClause) -> bool:
        mine, theirs = self.window, other.window
        if mine is None or theirs is None or self.clause.entity != other.clause.entity:
            return False
        is_alike = mine.measure == theirs.measure and (
            mine.field is None
            or (theirs.field is not None and mine.field.root == theirs.field.root)
        )
        return is_alike and mine.threshold <= theirs.threshold and mine.duration >= theirs.duration

    def _conditions(self) -> list[Checked]:
        entity = self._around.entities.get(self.clause.entity or "")
        given = (
            self.policy.expression,
            entity.match if entity is not None else None,
            self.clause.expression,
        )
        named: list[Checked] = [Field(f"{ACTION}{slug}") for slug in self.clause.actions]
        return [*named, *(each.root for each in given if each is not None)]

    def _is_given(self, atom: Atom) -> bool:
        """Whether a test needn't be compared: it always passes, or stands for others."""
        return is_certain(atom) or (
            atom.is_action
            and isinstance(atom.node, Field)
            and atom.node.name.removeprefix(ACTION) in self._around.actions
        )
