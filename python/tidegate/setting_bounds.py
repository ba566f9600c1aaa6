"""Bounds of settings."""

from __future__ import annotations

import math

import attrs
import orjson


@attrs.frozen
class Between:
    """Holds a number between bounds, which may be reached."""

    least: int
    most: float = math.inf

    def __call__(self, _instance: object, _attribute: object, value: float) -> None:
        """Check a value.

        Raises:
            ValueError: it is outside.
        """
        if not self.least <= value <= self.most:
            raise ValueError(f"it must be {self}")

    def __str__(self) -> str:
        if self.most == math.inf:
            return f"{self.least:,} or more"
        return f"{self.least:,} to {self.most:,.0f}"


@attrs.frozen
class JsonObject:
    """Holds a text to be a JSON object, or empty; a settings file has the object itself."""

    def __call__(self, _instance: object, _attribute: object, value: str) -> None:
        """Check a value.

        Raises:
            ValueError: it is neither.
        """
        try:
            is_object = not value or isinstance(orjson.loads(value), dict)
        except orjson.JSONDecodeError:
            is_object = False
        if not is_object:
            raise ValueError("it must be a JSON object")
