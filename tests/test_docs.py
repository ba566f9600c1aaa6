"""The examples in the README and the documentation, run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_examples_of_a_page_run(page: Path) -> None:
    """Every prompt of a page runs, top to bottom, and prints what the page says."""
    text = "\n".join(FENCE.findall(page.read_text()))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed = doctest.DocTestRunner(optionflags=options).run(test, out=report.append).failed
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", ["README.md", "docs/language.md"])
def test_a_page_that_teaches_has_examples(page: str) -> None:
    """A page without a prompt would pass the test above whatever it says."""
    assert ">>>" in (ROOT / page).read_text()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    """A relative link names a file that exists."""
    links = LINK.findall(page.read_text())
    assert not [link for link in links if not (page.parent / link).exists()]
