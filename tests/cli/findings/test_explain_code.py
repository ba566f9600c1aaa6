"""``tidegate explain-code``: each code in words, and its examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner, Result

from tidegate.cli.findings.codes import Explained, codes
from tidegate.cli.main import tidegate
from tidegate.decider import Reason
from tidegate.edge.reply import CODES
from tidegate.errors import ExpressionError
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema
from tidegate.policy.definitions.return_urls import NO_RETURN
from tidegate_server.definitions.challenge_safety import CANNOT_ANSWER, NO_PUBLIC_URL
from tidegate_server.http.problems import KINDS

DOCS = Path(__file__).resolve().parents[3] / "docs"
EXAMPLES = [(code, each) for code, each in codes().items() if each.wrong or each.right]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tidegate, ["explain-code", *arguments])


def documented() -> set[str]:
    """The codes in the first columns of the tables of codes, and in headings."""
    refusals = (DOCS / "definitions.md").read_text().partition("## Refusals")[2]
    refreshes = (DOCS / "lists.md").read_text().partition("## Refusals")[2]
    page = (DOCS / "findings.md").read_text()
    rows = (page + refusals + refreshes).splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| `")]
    cells += re.findall(r"^(?:### )?(`[a-z-]+`)(?: says.*)?$", page, re.MULTILINE)
    return {code for cell in cells for code in re.findall(r"`([a-z-]+)`", cell)}


def found(text: str) -> set[str]:
    try:
        return {each.code for each in check(text, Schema.default()).warnings}
    except ExpressionError as error:
        return {each.code for each in error.diagnostics}


def test_every_documented_code_is_explained() -> None:
    """Codes of findings about expressions and documents, and of refusals of the service."""
    assert len(documented()) > 50
    for code in documented() | set(KINDS):
        result = run(code)
        assert result.exit_code == 0, result.output
        assert result.output.startswith(f"{code}: ")


def test_no_meaning_is_of_a_code_that_is_not() -> None:
    """The list grows stale in neither direction."""
    language = (DOCS / "language.md").read_text()
    known = documented() | set(KINDS) | set(re.findall(r"`([a-z0-9_]+)`", language))
    inputs = {"unreadable-line", "line-too-long"}
    assert set(codes()) - known - spoken() == inputs


def spoken() -> set[str]:
    """Reasons of decisions, codes of integrations, and warnings about challenges."""
    warnings = {CANNOT_ANSWER, NO_PUBLIC_URL, NO_RETURN}
    return {*get_args(Reason), *CODES, *warnings}


def test_reasons_of_decisions_and_codes_of_integrations_are_explained() -> None:
    """A record, an answer of middleware or a warning names them, so the command knows them."""
    for code in spoken():
        assert run(code).output.startswith(f"{code}: ")


@pytest.mark.parametrize(("code", "explained"), EXAMPLES, ids=[code for code, _ in EXAMPLES])
def test_examples_show_what_they_say(code: str, explained: Explained) -> None:
    """The wrong one gets the code, the right one is found faultless."""
    if explained.wrong is not None:
        assert code in found(explained.wrong)
    if explained.right is not None:
        assert not found(explained.right)


def test_an_unknown_code_is_a_wrong_call_that_names_the_nearest() -> None:
    """Exit code 2 and what was probably meant."""
    result = run("unknown-feild")
    assert result.exit_code == 2
    assert "did you mean `unknown-field`?" in result.stderr
    assert "syntax-error" in run().output.split()
