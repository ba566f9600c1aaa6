"""The tutorial, typed into a terminal from its first line to its last."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.integrations.edges import free_port
from tests.newcomer.pages import ROOT, Block, blocks
from tests.newcomer.terminal import Terminal, terminal

PAGE = "docs/tutorial.md"
ALREADY = ("python3 -m venv", "pip install")
"""Lines that the steps of a newcomer type (`tests/newcomer`); Tidegate is installed here."""
PASSWORD = "a password of mine, long enough"
ANSWERS = {
    "Email address of the first operator:": "me@example.com",
    "Name of the tenant:": "My Shop",
    "Password (at least 12 characters):": PASSWORD,
    "Repeat for confirmation:": PASSWORD,
}


class Reader:
    """A reader of the page, with ports that are free in the place of the page's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ports = {"8080": free_port(), "8000": free_port(), "8001": free_port()}
        self.printed = ""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the terminal."""
        service = f"127.0.0.1:{self.ports['8080']}"
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "TIDEGATE_SERVER_PORT": str(self.ports["8080"]),
            "TIDEGATE_URL": f"http://{service}",
            "TIDEGATE_ADDRESS": service,
            "PORT": str(self.ports["8000"]),
            "SITE_PORT": str(self.ports["8001"]),
        }

    def here(self, text: str) -> str:
        """A text of the page, with the ports of this machine."""
        return re.sub(r"(?<=127\.0\.0\.1:)(\d{4})\b", lambda found: str(self.ports[found[1]]), text)

    def read(self, block: Block, shell: Terminal) -> None:
        """Save a file, type lines, or compare what was printed."""
        if block.file:
            (self.directory / block.file).write_text(self.here(block.text))
        elif block.language == "text":
            assert pattern(self.here(block.text)).search(self.printed), self.printed
        elif not block.language:
            self.printed = "".join(self.type(line, shell) for line in block.text.splitlines())

    def type(self, line: str, shell: Terminal) -> str:
        """Type a line of the page, and give what it printed."""
        if line.startswith(ALREADY):
            return ""
        typed = re.sub(r"\s{2,}# .*$", "", self.here(line))
        printed = shell.type(typed, answers=ANSWERS if " init " in line else None)
        return re.sub(r" \(\d+ ms\)|\[\d+\] ready> ", "", printed)


def pattern(shown: str) -> re.Pattern[str]:
    """The expression for a text of the page, in which `...` stands for any lines."""
    parts = [re.escape(part.strip()) for part in shown.split("...\n")]
    return re.compile(".*".join(parts), re.DOTALL)


@pytest.mark.usefixtures("process", "proxy")
def test_the_tutorial_leads_from_a_log_to_a_block_and_back(tmp_path: Path) -> None:
    """Each command of the tutorial ends with 0 and prints what the page shows."""
    reader = Reader(tmp_path)
    shutil.copytree(ROOT / "deploy" / "integrations" / "nginx", tmp_path / "nginx")
    with terminal(tmp_path, reader.environment) as shell:
        for block in blocks(PAGE):
            reader.read(block, shell)
    assert reader.printed.strip().endswith("200")


def test_a_shown_text_may_leave_lines_out() -> None:
    """`...` on a line of its own stands for lines, and everything else for itself."""
    assert pattern("a (1)\n...\nc\n").search("a (1)\nb\nc\n")
    assert not pattern("a (1)\n...\nd\n").search("a (1)\nb\nc\n")
