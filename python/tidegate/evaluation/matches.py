"""The results of matching a set against an event."""

from __future__ import annotations

from typing import NamedTuple

from tidegate import notebook


class Matches(NamedTuple):
    """The rules that hold for one event."""

    # A tuple, since every call makes one: an attrs class takes several times as long.

    matched: list[str]
    """Ids of the rules that are true, in the order of the set."""
    errors: dict[str, str]
    """Id to error code of the rules that are errors; filled when asked for."""

    def _repr_html_(self) -> str:
        rows = [(name, "matched") for name in self.matched] + list(self.errors.items())
        return notebook.table(("rule", ""), rows) if rows else notebook.text("no rule matched")
