"""The catalogue of findings: each bad document of the page has its code, each good one has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.policy.document import read_document

PAGE = Path(__file__).resolve().parents[3] / "docs" / "findings.md"
SECTION = re.compile(r"^### `([a-z-]+)`\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str, str]]:
    """Each code with its bad and its good document."""
    static = PAGE.read_text().partition("## Findings from traffic")[0]
    return [
        (code, side(example, "-"), side(example, "+"))
        for code, text in SECTION.findall(static)
        for example in EXAMPLE.findall(text)
    ]


def side(example: str, sign: str) -> str:
    """One side of a diff, as a whole document."""
    lines = [line[1:] for line in example.splitlines() if line[:1] in (sign, " ")]
    return "\n".join(("apiVersion: tidegate/v1", *lines))


def codes(document: str) -> set[str]:
    return {each.code for each in read_document(document, lint="").findings}


@pytest.mark.parametrize(
    ("code", "bad", "good"),
    examples(),
    ids=[f"{number} {code}" for number, (code, _, _) in enumerate(examples())],
)
def test_a_bad_document_has_exactly_its_finding_and_a_good_one_none(
    code: str, bad: str, good: str
) -> None:
    """The documents of the page show what each code is about."""
    assert codes(bad) == {code}
    assert codes(good) == set()


def test_every_finding_about_definitions_has_documents() -> None:
    """Each section of the page that is named after a code has an example."""
    static = PAGE.read_text().partition("## Findings from traffic")[0]
    named = {code for code, _ in SECTION.findall(static)}
    assert named == {code for code, _, _ in examples()}
    assert len(named) >= 10
