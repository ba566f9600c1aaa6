"""The worst cost of one evaluation, from declared maximum sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.language.diagnostics import Diagnostic

if TYPE_CHECKING:
    from tidegate.language.ast import Span
    from tidegate.language.checked import Checked
    from tidegate.language.schema import Schema
    from tidegate.limits import Limits


@attrs.frozen
class CostEstimate:
    """Units in the worst case, and the part that costs most."""

    total: int
    dominant: Span
    dominant_units: int

    def refusal(self, limit: int) -> Diagnostic:
        """The finding that the estimate is over the limit."""
        return Diagnostic(
            "cost-limit", f"may cost {self.total} units, more than {limit}", self.dominant
        )


def estimate(root: Checked, schema: Schema, limits: Limits) -> CostEstimate:
    return CostEstimate(0, root.span, 0)
