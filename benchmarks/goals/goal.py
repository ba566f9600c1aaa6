"""A goal: what was asked, what was found, and whether that meets it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Goal:
    """One line of the table.

    ``found`` is None where something it needs is not there; ``why`` then says what. Of several
    runs it is the median, and ``best`` is the value of the best one.
    """

    name: str
    what: str
    bound: float
    found: float | None
    unit: str = ""
    is_at_least: bool = False
    why: str = ""
    best: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        if self.found is None:
            return f"not measured: {self.why}"
        is_met = self.found >= self.bound if self.is_at_least else self.found <= self.bound
        return "met" if is_met else "**not met**"

    def row(self) -> str:
        """The line, as Markdown."""
        relation = "≥" if self.is_at_least else "≤"
        found = "" if self.found is None else f"{_shown(self.found)}{self.unit}"
        if self.best is not None:
            found += f" ({_shown(self.best)})"
        bound = f"{relation} {_shown(self.bound)}{self.unit}"
        return f"| {self.name} | {self.what} | {bound} | {found} | {self.verdict} |"


def of_runs(runs: Sequence[Sequence[Goal]]) -> list[Goal]:
    """The goals of several runs, which each found all of them in the same order."""
    return [_of_runs(goals) for goals in zip(*runs, strict=True)]


def _of_runs(goals: Sequence[Goal]) -> Goal:
    first = goals[0]
    found = [goal.found for goal in goals if goal.found is not None]
    best = max(found) if first.is_at_least else min(found)
    return replace(first, found=statistics.median(found), best=best)


def _shown(number: float) -> str:
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def absent(name: str, what: str, bound: float, why: str) -> Goal:
    """A goal that could not be measured, and why."""
    return Goal(name, what, bound, None, why=why)
