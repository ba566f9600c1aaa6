"""Send captured events to the service, or to the daemon while the service is away."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import attrs

from tidegate.client import Batching, Client
from tidegate.client.retries import Backoff
from tidegate_server.daemon.local_daemon import LOCAL_KEY, LocalDaemon
from tidegate_server.logging import log

if TYPE_CHECKING:
    from tidegate.client import FailedEvent
    from tidegate.event_form import Event
    from tidegate_server.daemon.home import Home
    from tidegate_server.settings.whole import Settings

AWAY_SECONDS = 30.0
"""If there is a daemon, how long the service is not tried again after a failure."""
ATTEMPT_SECONDS = 5.0
_SOON = Backoff(attempts=2, base=0.5, cap=1.0)


class Forwarding:
    """Sends events.

    If a daemon runs when the capture starts, it takes the events while the service is away: it
    decides, and forwards its decisions later.

    Args:
        settings: the process's settings.
        folder: the daemon's folder.
    """

    def __init__(self, settings: Settings, folder: Home) -> None:
        local_daemon = LocalDaemon.of(folder, settings.daemon)
        queue = settings.capture.queue
        has_daemon = bool(local_daemon.base_url) and local_daemon.status() is not None
        self._away_until = 0.0
        self._to_daemon: Client | None = None
        batching = Batching(queue_events=queue)
        if has_daemon:
            key = settings.daemon.token or LOCAL_KEY
            self._to_daemon = Client(local_daemon.base_url, key, batching=batching)
            batching = Batching(queue_events=queue, timeout=ATTEMPT_SECONDS, backoff=_SOON)
        self._to_service = Client(
            settings.remote.url,
            folder.api_key,
            allow_http=settings.daemon.allow_http,
            batching=batching,
            on_error=self._failed if has_daemon else None,
        )
        log.info("events are sent", daemon_while_the_service_is_away=has_daemon)

    def send(self, event: Event) -> bool:
        """Queue an event; False if the queue is full."""
        if self._to_daemon is not None and time.monotonic() < self._away_until:
            return self._to_daemon.send(event)
        return self._to_service.send(event)

    def close(self, timeout: float) -> None:
        """Send queued events, for at most ``timeout`` seconds per destination."""
        self._to_service.close(timeout)
        if self._to_daemon is not None:
            self._to_daemon.close(timeout)

    def counts(self) -> dict[str, Any]:
        """The event counts for the service and for the daemon."""
        said = attrs.asdict(self._to_service.counts)
        if self._to_daemon is not None:
            said["daemon"] = attrs.asdict(self._to_daemon.counts)
        return said

    def _failed(self, failed: FailedEvent) -> None:
        """Give the daemon an event that the service did not accept."""
        assert self._to_daemon is not None
        if not failed.error.is_transient:
            log.warning("an event was not delivered", reason=str(failed.error))
            return
        if time.monotonic() >= self._away_until:
            log.warning("the service is away: the daemon is sent the events")
        self._away_until = time.monotonic() + AWAY_SECONDS
        # If the service accepted it after all, the key makes it count once.
        event = cast("Event", {**failed.event, "idempotency_key": failed.idempotency_key})
        if not self._to_daemon.send(event):
            log.warning("an event was not delivered", reason="the daemon's queue is full")
