"""The meaning of the codes of findings and refusals."""

from __future__ import annotations

from functools import cache
from importlib import resources

import attrs
import yaml


@attrs.frozen
class Explained:
    """A code in words.

    Attributes:
        meaning: what is wrong, and what mends it.
        wrong: an expression that gets the code; None where one expression alone cannot.
        right: what was meant.
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
    """The codes of the service's refusals; none where its libraries are not installed."""
    try:
        from tidegate.server.http.problems import KINDS
    except ModuleNotFoundError:
        return {}
    return {
        code: Explained(f"{kind.title}. The service answers it with status {kind.status}.")
        for code, kind in KINDS.items()
    }
