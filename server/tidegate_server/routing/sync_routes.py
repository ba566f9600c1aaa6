"""The routes for daemons; a part of the table in ``routes``."""

from __future__ import annotations

from typing import Any

from tidegate_server.http.cursor import Paging
from tidegate_server.http.limits import MAX_BATCH_BYTES
from tidegate_server.operators.permissions import Permission
from tidegate_server.routing.route import Credential, Route
from tidegate_server.sync import daemons
from tidegate_server.wire import sync as wire_sync

_SYNC: dict[str, Any] = {"tag": "sync", "credential": Credential.SYNC_KEY, "handler": None}
_REFUSALS = ("sync-not-permitted", "definitions-unavailable")

SYNC_ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/sync/snapshot",
        name="read-snapshot",
        summary="Read a snapshot of the definitions for a daemon",
        answer=wire_sync.SyncSnapshot,
        refusals=_REFUSALS,
        **_SYNC,
    ),
    Route(
        method="GET",
        path="/sync/changes",
        name="read-changes",
        summary="Read the changes after a number, waiting for the first one",
        description=(
            "The answer is 410 if these changes are no longer stored; then read a snapshot."
        ),
        query=wire_sync.SyncQuery,
        answer=wire_sync.SyncChanges,
        refusals=(*_REFUSALS, "unknown-cursor", "invalid-request"),
        **_SYNC,
    ),
    Route(
        method="POST",
        path="/sync/ack",
        name="acknowledge-changes",
        summary="Report the state of a daemon",
        body=wire_sync.SyncAck,
        answer=wire_sync.SyncAcknowledged,
        refusals=(*_REFUSALS, "invalid-request"),
        **_SYNC,
    ),
    Route(
        method="POST",
        path="/sync/events",
        name="forward-events",
        summary="Record decisions that a daemon made",
        description=(
            "At most 200 decisions, as the daemon recorded them. Decisions that are recorded"
            " already are skipped, however late they are sent again."
        ),
        body=wire_sync.ForwardedEvents,
        answer=wire_sync.ForwardedAnswer,
        refusals=(
            *_REFUSALS,
            "invalid-request",
            "rate-limited",
            "decision-log-unavailable",
            "overloaded",
        ),
        max_bytes=MAX_BATCH_BYTES,
        **_SYNC,
    ),
    Route(
        method="GET",
        path="/tenants/{tenant_id}/daemons",
        name="list-daemons",
        summary="List daemons, with their state and when they were last seen",
        tag="sync",
        permission=Permission.READ_DEFINITIONS,
        handler=daemons.list_,
        query=Paging,
        answer=list[wire_sync.Daemon],
    ),
)
