"""Failures of policy tests in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from tidegate.policy.explain.shown import escaped

if TYPE_CHECKING:
    from tidegate.testing.policies.running import Failure, Result


def failure_text(result: Result, failure: Failure) -> str:
    """The place, the differences and the explanation of a failure.

    Args:
        result: the result of the test.
        failure: its failure.
    """
    at = f" at {failure.time}" if failure.time else ""
    lines = [f"{result.case.file}:{failure.line}: {failure.place}{at} ({failure.evaluator})"]
    lines += [
        f"  {each.member}: expected {_shown(each.expected)}, got {_shown(each.got)}"
        for each in failure.differences
    ]
    if failure.explanation is not None:
        lines += ["", *(f"  {line}" for line in str(failure.explanation).split("\n"))]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    """A value on one line."""
    if value is None:
        return "none"
    return escaped(value if isinstance(value, str) else orjson.dumps(value, default=str).decode())
