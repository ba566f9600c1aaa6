"""Texts that are built within a bound."""

from __future__ import annotations

from tidegate.functions import failures
from tidegate.values import utf8_length


class BoundedText:
    """A text that grows to a limit, in bytes of UTF-8, and no further."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._length = 0
        self._parts: list[str] = []

    def add(self, part: str) -> None:
        """Append a part; ``cost_exceeded`` when that would pass the limit."""
        self._length += utf8_length(part)
        if self._length > self._limit:
            raise failures.too_long(self._limit)
        self._parts.append(part)

    def __str__(self) -> str:
        return "".join(self._parts)
