"""The result of an evaluation: a value or a failure, and its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import EvaluationError

if TYPE_CHECKING:
    from tidegate.language.tree.ast import Span


@attrs.frozen
class Failure:
    """Why an evaluation has no value: a stable code, a message, the place in the text."""

    code: str
    message: str
    span: Span | None = None


@attrs.frozen
class Outcome:
    """The end of one evaluation.

    ``failure`` is None if there is a value; null is a value too.  ``cost`` is in the units of
    docs/canonical-tree.md.
    """

    value: Any
    failure: Failure | None
    cost: int

    def unwrap(self) -> Any:
        """The value.

        Raises:
            EvaluationError: the evaluation failed.
        """
        if self.failure is not None:
            raise EvaluationError(self.failure.code, self.failure.message, self.failure.span)
        return self.value
