"""Exact rolling windows, naive on purpose: plain tuples, oldest first.

"At least ``threshold`` in the last ``duration``" holds exactly if the ``threshold``-th newest is
younger than ``duration``, so a window keeps only ``threshold`` of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from tidegate.policy.definitions.compiled import CompiledWindow


@attrs.frozen
class CountWindow:
    """Times of events."""

    times: tuple[int, ...] = ()

    def add(self, rule: CompiledWindow, time: int) -> CountWindow:
        """The window with one more event; a late one counts at the newest time seen."""
        newest = max((time, *self.times[-1:]))
        return CountWindow((*self.times, newest)).within(rule)

    def add_late(self, rule: CompiledWindow, time: int) -> CountWindow:
        """The window with one more event, inserted by time."""
        return CountWindow(tuple(sorted((*self.times, time)))).within(rule)

    def within(self, rule: CompiledWindow) -> CountWindow:
        """The part that a rule uses."""
        edge = self.times[-1] - rule.duration
        return CountWindow(tuple(each for each in self.times if each > edge)[-rule.threshold :])

    def __len__(self) -> int:
        return len(self.times)


@attrs.frozen
class DistinctWindow:
    """Values, each with the time it was last seen."""

    values: tuple[tuple[str, int], ...] = ()

    def add(self, rule: CompiledWindow, time: int, value: str) -> DistinctWindow:
        """The window with a value seen; it moves to the newest end."""
        newest = max((time, *(last for _, last in self.values[-1:])))
        others = (each for each in self.values if each[0] != value)
        return DistinctWindow((*others, (value, newest))).within(rule)

    def add_late(self, rule: CompiledWindow, time: int, value: str) -> DistinctWindow:
        """The window with a value seen, inserted by time."""
        seen = max(time, dict(self.values).get(value, 0))
        others = tuple(each for each in self.values if each[0] != value)
        place = sum(last <= seen for _, last in others)
        return DistinctWindow((*others[:place], (value, seen), *others[place:])).within(rule)

    def within(self, rule: CompiledWindow) -> DistinctWindow:
        """The part that a rule uses."""
        edge = self.values[-1][1] - rule.duration
        kept = tuple(each for each in self.values if each[1] > edge)
        return DistinctWindow(kept[-rule.threshold :])

    def __len__(self) -> int:
        return len(self.values)


Window: TypeAlias = CountWindow | DistinctWindow


def added(
    window: Window | None,
    rule: CompiledWindow,
    time: int,
    value: str | None,
    *,
    is_late: bool = False,
) -> Window:
    """A rule's window with one more event, or one more value.

    Args:
        window: the current window; None if there isn't one.
        rule: the window's rule.
        time: the event's time, in nanoseconds since 1970.
        value: the value that a distinct window counts.
        is_late: the event counts at its own time, even after later ones.
    """
    if value is not None:
        distinct = window if isinstance(window, DistinctWindow) else DistinctWindow()
        return (distinct.add_late if is_late else distinct.add)(rule, time, value)
    counts = window if isinstance(window, CountWindow) else CountWindow()
    return (counts.add_late if is_late else counts.add)(rule, time)
