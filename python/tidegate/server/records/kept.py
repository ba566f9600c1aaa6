"""Recorded decisions as they would be recorded now.

What the log holds was redacted when it was written: by an earlier version of Tidegate, or by
names that the tenant has added to since.  It is redacted once more before it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import orjson

from tidegate.errors import EventError
from tidegate.policy.decision import Decision

if TYPE_CHECKING:
    from tidegate.engine import Engine


@attrs.frozen
class Kept:
    """Shows what the log has, by the definitions that decide now."""

    _engine: Engine | None

    def record(self, record: bytes) -> dict[str, Any]:
        """A record, with keys and return URL as they are kept now."""
        if self._engine is None:
            read: dict[str, Any] = orjson.loads(record)
            return read
        return self._engine.kept(Decision.from_record(record)).to_record()

    def event(self, event: bytes) -> Any:
        """An event without what are secrets now."""
        redactor = None if self._engine is None else self._engine.redactor
        if redactor is None:
            return orjson.loads(event)
        try:
            return orjson.loads(redactor.redact(bytes(event)))
        except EventError:
            # Its hashes made it longer than an event may be.
            return {}
