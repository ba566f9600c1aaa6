"""A goal: what was asked, what was found, and whether that meets it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """One line of the table.

    ``found`` is None where something it needs is not there; ``why`` then says what.
    """

    name: str
    what: str
    bound: float
    found: float | None
    unit: str = ""
    is_at_least: bool = False
    why: str = ""

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
        bound = f"{relation} {_shown(self.bound)}{self.unit}"
        return f"| {self.name} | {self.what} | {bound} | {found} | {self.verdict} |"


def _shown(number: float) -> str:
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def absent(name: str, what: str, bound: float, why: str) -> Goal:
    """A goal that could not be measured, and why."""
    return Goal(name, what, bound, None, why=why)
