"""Exact rolling windows, naive on purpose: plain tuples, oldest first.

"At least ``threshold`` in the last ``duration``" holds exactly when the ``threshold``-th newest is
younger than ``duration``, so that many are kept and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from tidegate.policy.compiled import CompiledWindow


@attrs.frozen
class CountWindow:
    """Times of events."""

    times: tuple[int, ...] = ()

    def add(self, rule: CompiledWindow, time: int) -> CountWindow:
        """The window with one more event; a late one counts at the newest time seen."""
        newest = max((time, *self.times[-1:]))
        kept = [each for each in self.times if each > newest - rule.duration]
        return CountWindow((*kept, newest)[-rule.threshold :])

    def __len__(self) -> int:
        return len(self.times)


@attrs.frozen
class DistinctWindow:
    """Values, each with the time it was last seen."""

    values: tuple[tuple[str, int], ...] = ()

    def add(self, rule: CompiledWindow, time: int, value: str) -> DistinctWindow:
        """The window with a value seen; it moves to the newest end."""
        newest = max((time, *(last for _, last in self.values[-1:])))
        kept = [
            (other, last)
            for other, last in self.values
            if last > newest - rule.duration and other != value
        ]
        return DistinctWindow((*kept, (value, newest))[-rule.threshold :])

    def __len__(self) -> int:
        return len(self.values)


Window: TypeAlias = CountWindow | DistinctWindow


def added(window: Window | None, rule: CompiledWindow, time: int, value: str | None) -> Window:
    """The window of a rule with one more event, or the value it showed."""
    if value is not None:
        return (window if isinstance(window, DistinctWindow) else DistinctWindow()).add(
            rule, time, value
        )
    return (window if isinstance(window, CountWindow) else CountWindow()).add(rule, time)
