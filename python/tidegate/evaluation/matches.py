"""The results of matching a set against an event."""

from __future__ import annotations

from typing import NamedTuple

import tidegate.notebook as notebook


class Matches(NamedTuple):
    """The rules that match one event."""

    # A tuple, since every call creates one: an attrs class takes several times as long.

    matched: list[str]
    """Ids of the true rules, in the order of the set."""
    errors: dict[str, str]
    """Id to error code of the failed rules; filled on request."""

    def _repr_html_(self) -> str:
        rows = [(name, "matched") for name in self.matched] + list(self.errors.items())
        return notebook.table(("rule", ""), rows) if rows else notebook.text("no rule matched")
