"""The source of choices for generated programs and events.

The generators use one small interface, so they run from two sources: Hypothesis, which shrinks what
it finds, and a seeded ``random.Random``, which is some fifty times faster and drives the long
agreement runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Choices(Protocol):
    """A source of choices."""

    def below(self, bound: int) -> int:
        """A number from 0 up to but not including ``bound``; smaller is simpler."""
        ...


class RandomChoices:
    """Choices from a random generator: the same seed makes the same choices."""

    def __init__(self, source: random.Random) -> None:
        self._random = source.random

    def below(self, bound: int) -> int:
        return int(self._random() * bound)


class DrawnChoices:
    """Choices from a Hypothesis test, given a way to draw an integer below a bound."""

    def __init__(self, draw_below: Callable[[int], int]) -> None:
        self._draw_below = draw_below

    def below(self, bound: int) -> int:
        return 0 if bound <= 1 else self._draw_below(bound)


def pick(choices: Choices, options: Sequence[T]) -> T:
    """One of ``options``."""
    return options[choices.below(len(options))]


def happens(choices: Choices, percent: int) -> bool:
    """True in ``percent`` of a hundred cases."""
    return choices.below(100) >= 100 - percent
