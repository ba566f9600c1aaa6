"""The lines to type and the files to have, from the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^```(?P<language>\w*)(?: file=(?P<file>\S+))?\n(?P<text>.*?)^```$|^##? (?P<heading>[^\n]+)$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A fenced block of a page."""

    heading: str
    language: str
    file: str
    text: str


def blocks(page: str) -> list[Block]:
    """All blocks of a page, each with the heading it stands under."""
    heading = ""
    found = []
    for each in FENCE.finditer((ROOT / page).read_text()):
        heading = each["heading"] or heading
        if each["text"] is not None:
            found.append(Block(heading, each["language"], each["file"] or "", each["text"]))
    return found


def lines(page: str, heading: str) -> list[str]:
    """The shell lines under a heading of a page, without its remarks.

    Raises:
        LookupError: there is nothing to type.
    """
    typed = [
        re.sub(r"\s{2,}# .*$", "", line)
        for block in blocks(page)
        if block.heading == heading and not block.language
        for line in block.text.splitlines()
    ]
    if not typed:
        raise LookupError(f"{page} has nothing to type under {heading!r}")
    return typed


def write_files(page: str, directory: Path) -> None:
    """Write the files that a page has, under the names it gives them."""
    for block in blocks(page):
        if block.file:
            (directory / block.file).write_text(block.text)
