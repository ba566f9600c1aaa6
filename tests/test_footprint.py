"""How much an installation takes on a disk."""

from __future__ import annotations

import pytest
from benchmarks.footprint import MEGABYTES, installed


@pytest.mark.parametrize(("requirement", "megabytes"), MEGABYTES.items())
def test_an_installation_stays_small(requirement: str, megabytes: int) -> None:
    """The files of a distribution and of all that it asks for stay within their bound."""
    sizes = installed(requirement)
    assert {"tidegate", "attrs", "lark", "rich"} <= {each.name for each in sizes}
    assert sum(each.files for each in sizes) <= megabytes * 1_000_000, sizes[:12]
