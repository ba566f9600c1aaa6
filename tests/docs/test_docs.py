"""The examples in the README and the documentation, run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEACHING = [page for page in PAGES if ">>>" in page.read_text()]
"""The pages with examples."""
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", TEACHING, ids=page_name)
def test_examples_of_a_page_run(page: Path) -> None:
    """Every prompt of a page runs, top to bottom, and prints what the page says."""
    text = "\n".join(FENCE.findall(page.read_text()))
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    report: list[str] = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed = doctest.DocTestRunner(optionflags=options).run(test, out=report.append).failed
    assert test.examples
    assert not failed, "".join(report)


def test_the_pages_that_teach_have_examples() -> None:
    """A newcomer finds an example that runs on each page about the library."""
    assert {page_name(page) for page in TEACHING} >= {"README.md", "docs/language.md"}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    """A relative link names a file that exists."""
    links = LINK.findall(page.read_text())
    assert not [link for link in links if not (page.parent / link).exists()]
