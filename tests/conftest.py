"""One body, every implementation: fixtures that run a test once for each evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator

# The same examples in every run: a failure found by chance belongs in the corpus.
settings.register_profile("tidegate", derandomize=True, deadline=None, max_examples=100)
settings.load_profile("tidegate")


@pytest.fixture(params=["reference", "native"])
def evaluator(request: pytest.FixtureRequest) -> Evaluator:
    """The name of an evaluator; the test runs once for each."""
    chosen: Evaluator = request.param
    return chosen
