"""The pages for users of other engines: expressions in both evaluators, documents with tests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.newcomer.pages import ROOT, blocks, write_files

import tidegate
from tidegate.cli.main import tidegate as command
from tidegate.evaluation.rules import Evaluator

PAGES = sorted(each.relative_to(ROOT) for each in (ROOT / "docs" / "coming-from").glob("*.md"))
ROW = re.compile(r"^\|.*\| `(?P<expression>[^`]+)` \|$", re.MULTILINE)
"""A row whose last cell is an expression and nothing else."""
EXPRESSIONS = [
    (page, row["expression"].replace("\\|", "|"))
    for page in PAGES
    for row in ROW.finditer((ROOT / page).read_text())
]
WITH_DOCUMENTS = [page for page in PAGES if any(block.file for block in blocks(str(page)))]
LIMITS = "\n## Limits of Tidegate\n"


def event_of(page: Path) -> bytes:
    """The request that the expressions of a page are true for."""
    (text,) = (block.text for block in blocks(str(page)) if block.language == "json")
    return text.encode()


def test_each_page_has_expressions_and_names_limits() -> None:
    """Every page has rows that the pattern of this file finds, and the limits of Tidegate."""
    found = {page.stem: sum(each == page for each, _ in EXPRESSIONS) for page in PAGES}
    assert set(found) == {"anubis", "cel", "cloudflare", "crowdsec", "modsecurity", "nginx"}
    assert min(found.values()) >= 9, found
    assert all(LIMITS in (ROOT / page).read_text() for page in PAGES)


@pytest.mark.parametrize(("page", "expression"), EXPRESSIONS)
def test_an_expression_of_a_table_is_true(
    page: Path, expression: str, evaluator: Evaluator
) -> None:
    """An expression next to a form of another engine holds for the request of its page."""
    program = tidegate.compile(expression, evaluator=evaluator)
    assert program.evaluate(json.loads(event_of(page))) is True
    assert program.evaluate(event_of(page)) is True


@pytest.mark.parametrize("page", WITH_DOCUMENTS, ids=lambda page: page.stem)
def test_the_document_of_a_page_does_what_its_test_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document has no finding, and its test passes in both evaluators."""
    write_files(str(page), tmp_path)
    monkeypatch.chdir(tmp_path)
    checked = CliRunner().invoke(command, ["check", ".", "--warnings-as-errors"])
    assert checked.exit_code == 0, checked.output
    tested = CliRunner().invoke(command, ["test", "."])
    assert tested.exit_code == 0, tested.output
    assert " 0 failed" in tested.output
