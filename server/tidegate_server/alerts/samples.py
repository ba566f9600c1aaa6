"""Values of the moment that alerts watch and nothing records: publishing, and the log itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate_server.stores.base import StoreError
from tidegate_server.stores.decision_log import log as decision_log

if TYPE_CHECKING:
    from tidegate_server.control.runtime import LiveRuntime
    from tidegate_server.publishing.publisher import Publisher
    from tidegate_server.stores.port import Store

SECOND_NS = 1_000_000_000


class Samples:
    """Reads the values of this process.

    Args:
        live: the recorder and the publisher of the service.
        store: the store that they use.
    """

    def __init__(self, live: LiveRuntime, store: Store) -> None:
        self._live = live
        self._store = store
        self._written_at_ns: int | None = None

    def __call__(self, now_ns: int) -> Mapping[str, float]:
        """Return the values now, by metric; call it every few seconds.

        Args:
            now_ns: nanoseconds since 1970.
        """
        found = {"log_unwritten": self._unwritten(now_ns)}
        publisher = self._live.publisher
        if publisher is not None:
            found["publishing_lag"] = self._lag(publisher, now_ns)
        return found

    def _unwritten(self, now_ns: int) -> float:
        """Return how long the log could not be written, or its oldest write has waited."""
        recorder = self._live.recorder
        if self._written_at_ns is None or (recorder is not None and recorder.is_available):
            self._written_at_ns = now_ns
        refused = (now_ns - self._written_at_ns) / SECOND_NS
        return max(0.0, refused, self._store.statistics().oldest_waiting_seconds)

    def _lag(self, publisher: Publisher, now_ns: int) -> float:
        """Return the age of the oldest decision that is not published."""
        position = publisher.position
        if position is None or not publisher.waiting:
            return 0.0
        until = position + publisher.waiting
        try:
            with self._store.read() as connection:
                lines = decision_log.scan(
                    connection, after=position, until=until, passed=lambda _: None
                )
                oldest = next(lines, None)
        except StoreError:
            return 0.0  # `log_unwritten` is about the store
        if oldest is None:
            return 0.0
        return max(0.0, (now_ns - oldest.decision().received_at_ns) / SECOND_NS)
