"""The meaning of the codes of findings and rejections."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.metadata import entry_points

import attrs
import yaml

ADDED = "tidegate.codes"
"""The entry points by which another distribution adds codes: functions that return the meanings."""


@attrs.frozen
class Explained:
    """A code explained.

    Attributes:
        meaning: the problem and its fix.
        wrong: an expression that gets the code; None if one expression alone cannot.
        right: the intended expression.
    """

    meaning: str
    wrong: str | None = None
    right: str | None = None


@cache
def codes() -> dict[str, Explained]:
    """Every code of findings about expressions, documents and lines, and of evaluation errors."""
    text = resources.files("tidegate.cli.findings").joinpath("codes.yaml").read_bytes()
    read = yaml.load(text, Loader=yaml.CSafeLoader)
    return {code: Explained(**members) for code, members in read.items()}


def added() -> dict[str, Explained]:
    """The codes that other distributions add by entry points, as the service adds its problems."""
    return {
        code: Explained(meaning)
        for point in entry_points(group=ADDED)
        for code, meaning in point.load()().items()
    }
