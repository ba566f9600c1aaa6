"""The only error of this package."""

from __future__ import annotations


class RegexError(ValueError):
    """A pattern outside the accepted subset.

    ``start`` and ``end`` are offsets in characters into the pattern, a half-open range; ``hint``
    says how to fix the pattern, if there is a way.
    """

    def __init__(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint
