"""The meaning of the codes of findings and rejections."""

from __future__ import annotations

from functools import cache
from importlib import resources

import attrs
import yaml


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


def problems() -> dict[str, Explained]:
    """The service's problem codes; empty if its libraries are not installed."""
    try:
        from tidegate_server.http.problems import KINDS
    except ModuleNotFoundError:
        return {}
    return {
        code: Explained(f"{kind.title}. The service answers it with status {kind.status}.")
        for code, kind in KINDS.items()
    }
