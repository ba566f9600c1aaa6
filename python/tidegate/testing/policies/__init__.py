"""Tests of policies: steps with time, and the decisions that they expect.

The same files run with ``tidegate test``; docs/testing-policies.md describes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tidegate.definitions import load_definitions
from tidegate.testing.policies.finding import find_files
from tidegate.testing.policies.reading import Case, load_tests
from tidegate.testing.policies.running import EVALUATORS, Runner, TestsError
from tidegate.testing.policies.text import failure_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegate.evaluation.rules import Evaluator
    from tidegate.testing.policies.finding import AnyPath

__all__ = ["PolicyTest", "TestsError", "policy_tests"]


@attrs.frozen
class PolicyTest:
    """One test of a file; ``str()`` is its name."""

    case: Case
    runner: Runner

    def __str__(self) -> str:
        return self.case.name

    def check(self) -> None:
        """Run the test.

        Raises:
            AssertionError: a decision isn't as expected; the message has the explanation.
            TestsError: a file that the test needs cannot be read.
        """
        result = self.runner.run(self.case)
        if result.failure is not None:
            raise AssertionError(failure_text(result, result.failure))


def policy_tests(*paths: AnyPath, evaluators: Sequence[Evaluator] = EVALUATORS) -> list[PolicyTest]:
    """The tests in files, folders and patterns, for a parametrized test of pytest.

    Args:
        paths: files, folders and patterns.
        evaluators: the evaluators that decide; all of them must agree.

    Raises:
        DefinitionsError: a file of tests, or of definitions, is rejected.
        OSError: a file cannot be read.
        TestsError: no files match one of the paths.
    """
    found = []
    for path in find_files(paths):
        tests = load_tests(path)
        runner = Runner(load_definitions(tests.definitions), evaluators)
        found += [PolicyTest(each, runner) for each in tests.cases]
    return found
