"""The corpus, in every evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.generators.corpus import CorpusCase, read_corpus

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("case", [*read_corpus(CORPUS)], ids=lambda case: case.id)
def test_case(case: CorpusCase, evaluator: Evaluator) -> None:
    """Value or error, place and cost are what the case says."""
    assert case.differences(case.run(evaluator)) == []


@pytest.mark.parametrize(
    "text",
    [
        '[[case]]\nname = "a"\ntext = "true"',
        '[[case]]\nname = "a"\ntext = "true"\nvalue = true\nerror = "overflow"',
        '[[case]]\nname = "a"\ntext = "true"\nvalue = true\nvaule = 1',
        '[[case]]\nname = "a"\ntext = "true"\nvalue = true\n' * 2,
    ],
)
def test_malformed_cases_are_refused(text: str, tmp_path: Path) -> None:
    """A case that would test nothing, or not what it says, is an error."""
    (tmp_path / "topic.toml").write_text(text)
    with pytest.raises(ValueError, match="topic"):
        list(read_corpus(tmp_path))
