"""The codes of findings and the page that promises them."""

from __future__ import annotations

import re
from pathlib import Path

import tidegate.language

PAGE = Path(__file__).resolve().parents[2] / "docs" / "findings.md"
SOURCES = Path(tidegate.language.__file__).parent
_MADE = re.compile(
    r'(?:Diagnostic|[Ff]inding|_warning|report|_report|_report_type|_warn)\(\s*"([a-z]+(?:-[a-z]+)+)"'
)
_NAMED = re.compile(r'code="([a-z]+(?:-[a-z]+)+)"')
_BUILT = {"always-true", "always-false", "overflow", "division-by-zero", "contradiction"}
"""Codes that are put together, translated or of one word, which the pattern doesn't find."""
_ELSEWHERE = {"challenge-without-return", "duplicate-entries", "never-used"}
"""Codes that the page explains, too, with an example, and that other modules make."""


def test_every_code_is_documented_and_every_documented_code_exists() -> None:
    """The page and the sources name the same codes."""
    listed = {
        code
        for line in PAGE.read_text().splitlines()
        if line.startswith(("| `", "### `"))
        for code in re.findall(r"`([a-z-]+)`", line.split("|")[1] if line[0] == "|" else line)
    }
    listed |= set(re.findall(r"^`([a-z-]+)` says", PAGE.read_text(), re.MULTILINE))
    policy = SOURCES.parent / "policy"
    sources = [*SOURCES.rglob("*.py"), *policy.rglob("*.py")]
    sources = [path for path in sources if path.parent.name not in ("document", "regex")]
    made = {code for path in sources for code in _MADE.findall(path.read_text())}
    made |= {code for path in sources for code in _NAMED.findall(path.read_text())}
    assert listed == made | _BUILT | _ELSEWHERE
