"""Deciders whose answers a test writes down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tidegate import Action, Allow, Decision, Reason


@attrs.define
class FixedDecider:
    """Gives one decision, and remembers what it was asked.

    Attributes:
        answer: the decision, or the error that is raised in its place.
    """

    answer: Decision | Exception = attrs.field(factory=lambda: Decision(Allow(), "no-match"))
    asked: list[Mapping[str, Any]] = attrs.field(factory=list)

    def decide(self, event: Mapping[str, Any], /) -> Decision:
        """The one decision."""
        self.asked.append(event)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def deciding(action: Action, reason: Reason = "policy") -> FixedDecider:
    """A decider of one action."""
    return FixedDecider(Decision(action, reason))


PROVEN = Decision(Allow(), "challenge-proof")
"""The decision on a valid proof."""
