"""The published CEL cases that need no protobuf, in both evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared_data import shared_path, size
from tidegate.testing.conformance import EXCLUDED, agrees, read_sections, run_case

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator


def test_every_published_case_passes(evaluator: Evaluator) -> None:
    """All cases but one, whose pattern isn't a constant, come out as published."""
    cases = [
        case
        for _, cases in read_sections(shared_path("conformance/cel"))
        for case in cases
        if case["id"] not in EXCLUDED
    ]
    assert len(cases) == size(1_742, 427)
    failed = [case["id"] for case in cases if not agrees(case["expect"], run_case(case, evaluator))]
    assert failed == []
