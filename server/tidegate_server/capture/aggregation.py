"""Aggregates events beyond the send limit: similar ones become one event with a count."""

from __future__ import annotations

from typing import Any

import orjson

from tidegate_server.capture.streams import FORWARDED

MAX_KINDS = 10_000
"""Kinds of events that are aggregated; events of further kinds are dropped and counted."""
MAX_BYTES = 16 * 1024 * 1024
"""Their size, as JSON and with their names."""
MINUTE = 60.0
RESERVED = 0.2
"""The share of the limit for aggregated events."""
COUNT_FIELD = "aggregated"


class Aggregation:
    """Passes events up to a limit, and counts the others by their common properties.

    Args:
        per_minute: events that may be sent.
    """

    def __init__(self, per_minute: int) -> None:
        self._single = max(1, int(per_minute * (1 - RESERVED)))
        self._many = max(1, per_minute - self._single)
        self._minute = 0.0
        self._passed = self._flushed = 0
        self._kinds: dict[tuple[str, ...], tuple[bytes, int]] = {}
        self._bytes = 0
        self.folded = 0
        """Events merged into another since the start."""
        self.dropped = 0

    def add(self, event: dict[str, Any], now: float) -> dict[str, Any] | None:
        """The event if it may be sent alone; None if it is aggregated.

        Args:
            event: the event of one request.
            now: seconds of a monotonic clock.
        """
        if now - self._minute >= MINUTE:
            self._minute, self._passed, self._flushed = now, 0, 0
        if self._passed < self._single:
            self._passed += 1
            return event
        request = event["request"]
        names = ("method", "path", "client_ip", "user_agent")
        forwarded = request.get("headers", {}).get(FORWARDED, "")
        kind = (*(str(request.get(name, "")) for name in names), str(forwarded))
        found = self._kinds.get(kind)
        if found is None:
            first = orjson.dumps(event)
            size = len(first) + sum(map(len, kind))
            if len(self._kinds) >= MAX_KINDS or self._bytes + size > MAX_BYTES:
                self.dropped += 1
                return None
            found = first, 0
            self._bytes += size
        self.folded += 1
        self._kinds[kind] = (found[0], found[1] + 1)
        return None

    def take(self) -> list[dict[str, Any]]:
        """The aggregated events, up to the limit: one for each kind, the most frequent first."""
        room = self._many - self._flushed
        if room <= 0 or not self._kinds:
            return []
        most = sorted(self._kinds, key=lambda kind: -self._kinds[kind][1])[:room]
        self._flushed += len(most)
        taken = []
        for kind in most:
            first, count = self._kinds.pop(kind)
            self._bytes -= len(first) + sum(map(len, kind))
            event = orjson.loads(first)
            fields = {**event.get("fields", {}), COUNT_FIELD: str(count)}
            taken.append({**event, "fields": fields})
        return taken

    @property
    def waiting(self) -> int:
        """Aggregated events not sent yet."""
        return sum(count for _, count in self._kinds.values())
