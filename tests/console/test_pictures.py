"""The pictures in the documentation of the console."""

from __future__ import annotations

import re

from tests.console.commands.pictures import DOCUMENTED, PICTURES
from tools.console import ROOT

MOST_BYTES = 1_000_000


def test_the_documentation_shows_pictures_that_a_command_makes() -> None:
    """Each picture of the page is made by ``python -m tests.console.commands.pictures
    --documented``, has a text in its place, and all of them are small."""
    text = (ROOT / "docs/console.md").read_text()
    shown = re.findall(r"!\[([^\]]+)\]\(pictures/([a-z-]+)\.png\)", text)
    assert [name for _, name in shown] == list(DOCUMENTED)
    files = sorted(PICTURES.iterdir())
    assert [each.name for each in files] == sorted(f"{name}.png" for name in DOCUMENTED)
    assert sum(each.stat().st_size for each in files) < MOST_BYTES
