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
        summary="Read everything that a daemon decides by",
        answer=wire_sync.SyncSnapshot,
        refusals=_REFUSALS,
        **_SYNC,
    ),
    Route(
        method="GET",
        path="/sync/changes",
        name="read-changes",
        summary="Read what changed after a number; wait until something has",
        description="410 when the changes after it are not known any more: take a snapshot.",
        query=wire_sync.SyncQuery,
        answer=wire_sync.SyncChanges,
        refusals=(*_REFUSALS, "unknown-cursor", "invalid-request"),
        **_SYNC,
    ),
    Route(
        method="POST",
        path="/sync/ack",
        name="acknowledge-changes",
        summary="Say what a daemon holds, and how it is",
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
            "At most 200, as the daemon recorded them. What of a batch is recorded already is"
            " passed over, however late it comes again."
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
        summary="List daemons: what each holds, and when it was last seen",
        tag="sync",
        permission=Permission.READ_DEFINITIONS,
        handler=daemons.list_,
        query=Paging,
        answer=list[wire_sync.Daemon],
    ),
)
