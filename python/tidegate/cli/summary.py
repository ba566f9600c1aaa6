"""Counting decisions and printing the count."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from tidegate.policy.decision import EngineDecision

OUTCOMES = ("allow", "challenge", "block")
COUNTED = ("total", *OUTCOMES, "by_others", "monitor")
"""Counts of a policy: events at which it fired; how they were answered, where a challenge or block
is its own answer; those at which nothing but Monitor clauses of it fired."""


@attrs.define
class Summary:
    """Decisions by outcome, by policy clause, and errors by place."""

    outcomes: Counter[str] = attrs.field(factory=Counter)
    reasons: Counter[str] = attrs.field(factory=Counter)
    answered: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(policy, clause) to the decisions it answered."""
    fired: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(policy, clause) to the events at which it fired by itself."""
    policies: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(policy, one of ``COUNTED``) to the events at which a clause of it fired, also by an active
    mitigation.  The service's results count the same."""
    errors: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    """(place, code) to events."""
    refused: Counter[str] = attrs.field(factory=Counter)
    seconds: float = 0.0
    """Time from the first line to the last, with reading and counting."""
    engine_seconds: float = 0.0
    """Time for decisions alone."""

    def add(self, decision: EngineDecision) -> None:
        self.outcomes[decision.action.type] += 1
        self.reasons[decision.reason] += 1
        if decision.policy is not None and decision.clause is not None:
            self.answered[decision.policy, decision.clause] += 1
        for clause in decision.fired:
            if not clause.active:
                self.fired[clause.policy, clause.clause] += 1
        modes: dict[str, set[str]] = {}
        for clause in decision.fired:
            modes.setdefault(clause.policy, set()).add(clause.mode)
        for policy, fired in modes.items():
            action = decision.action.type
            is_its_answer = action == "allow" or policy == decision.policy
            self.policies[policy, "total"] += 1
            self.policies[policy, action if is_its_answer else "by_others"] += 1
            self.policies[policy, "monitor"] += fired == {"Monitor"}
        for place, code in decision.errors.items():
            self.errors[place, code] += 1

    def refuse(self, code: str) -> None:
        self.refused[code] += 1

    @property
    def decided(self) -> int:
        return self.outcomes.total()

    @property
    def rate(self) -> float:
        """Decisions in a second of the engine's time."""
        return self.decided / self.engine_seconds if self.engine_seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "events": self.decided,
            "refused": dict(self.refused),
            "seconds": round(self.seconds, 3),
            "engine_seconds": round(self.engine_seconds, 3),
            "events_per_second": round(self.rate),
            "outcomes": {outcome: self.outcomes[outcome] for outcome in OUTCOMES},
            "reasons": dict(sorted(self.reasons.items())),
            "clauses": [
                {"policy": policy, "clause": clause, "fired": self.fired[policy, clause],
                 "answered": self.answered[policy, clause]}
                for policy, clause in sorted(self.fired.keys() | self.answered.keys())
            ],
            "policies": [
                {"policy": policy} | {name: self.policies[policy, name] for name in COUNTED}
                for policy in sorted({policy for policy, _ in self.policies})
            ],
            "errors": [
                {"expression": place, "code": code, "events": number}
                for (place, code), number in sorted(self.errors.items())
            ],
        }  # fmt: skip

    def print(self, console: Console) -> None:
        console.print(
            f"{self.decided:,} events, {self.rate:,.0f} events/s;"
            f" {self.engine_seconds:.2f} s deciding of {self.seconds:.2f} s"
        )
        for code, number in self.refused.items():
            console.print(f"{number:,} refused: {code}", style="red")
        console.print(self._outcome_table())
        if self.fired or self.answered:
            console.print(self._clause_table())
        if self.errors:
            console.print(self._error_table())

    def _outcome_table(self) -> Table:
        table = Table("outcome", _right("events"), _right("share"))
        for outcome in OUTCOMES:
            number = self.outcomes[outcome]
            share = number / self.decided if self.decided else 0.0
            table.add_row(outcome, f"{number:,}", f"{share:.1%}")
        return table

    def _clause_table(self) -> Table:
        table = Table("policy", "clause", _right("fired"), _right("answered"))
        for key in sorted(self.fired.keys() | self.answered.keys()):
            table.add_row(*key, f"{self.fired[key]:,}", f"{self.answered[key]:,}")
        return table

    def _error_table(self) -> Table:
        table = Table("expression", "error", _right("events"))
        for (place, code), number in sorted(self.errors.items()):
            table.add_row(place, code, f"{number:,}")
        return table


def _right(header: str) -> Any:
    from rich.table import Column

    return Column(header, justify="right")
