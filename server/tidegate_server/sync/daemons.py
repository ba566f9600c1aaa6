"""A tenant's daemons, as they described themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate_server.control.pages import page_by_id
from tidegate_server.stores.objects import daemons
from tidegate_server.wire import sync as wire_sync
from tidegate_server.wire.common import time_text

if TYPE_CHECKING:
    from tidegate_server.control.call import Answer, Call
    from tidegate_server.stores.objects.daemons import Daemon


def list_(call: Call) -> Answer:
    """List all daemons that ever described themselves."""
    return page_by_id(
        call,
        lambda connection, limit, after: daemons.page(connection, call.tenant_id, limit, after),
        _answer,
        lambda daemon: daemon.daemon_id,
    )


def _answer(daemon: Daemon) -> wire_sync.Daemon:
    return wire_sync.Daemon(
        daemon_id=daemon.daemon_id,
        tenant_id=daemon.tenant_id,
        name=daemon.name,
        version=daemon.version,
        mode=daemon.mode,
        revision=daemon.definitions_revision,
        sequence=daemon.sequence,
        is_equal=daemon.is_equal,
        behind=daemon.behind,
        spooled=daemon.spooled,
        dropped=daemon.dropped,
        first_seen_at=time_text(daemon.first_seen_at_ns),
        last_seen_at=time_text(daemon.last_seen_at_ns),
    )
