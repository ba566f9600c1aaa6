"""One body of tests, both engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from building import Build

if TYPE_CHECKING:
    from tidegate.evaluation.rules import Evaluator


@pytest.fixture(params=["reference", "native"])
def evaluator(request: pytest.FixtureRequest) -> Evaluator:
    """The name of an evaluator; the test runs once for each."""
    name: Evaluator = request.param
    return name


@pytest.fixture
def build(evaluator: Evaluator) -> Build:
    """Makes engines of an evaluator from sections of a document."""
    return Build(evaluator)
