"""``lists/{list_id}/refresh``: how a list's refreshes went, and one more now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidegate_server.control.call import Answer, Call
from tidegate_server.definitions.refreshing import key_of, source_of
from tidegate_server.http.problems import Problem
from tidegate_server.stores.objects import definitions, list_refreshes
from tidegate_server.wire import common as wire_common
from tidegate_server.wire import definitions as wire_definitions
from tidegate_server.wire.kinds import LIST

if TYPE_CHECKING:
    from tidegate_server.stores.objects.list_refreshes import ListRefresh


def read(call: Call) -> Answer:
    """Return when a list was refreshed, and why a refresh was refused."""
    list_id = call.ids[LIST.id_member]
    with call.app.store.read() as connection:
        source = source_of(definitions.find(connection, call.tenant_id, LIST.name, list_id).body)
        found = source and list_refreshes.find(connection, call.tenant_id, list_id, key_of(source))
    return Answer(
        body=wire_definitions.ListRefreshStatus(
            tenant_id=call.tenant_id,
            list_id=list_id,
            enabled=call.app.refresher is not None,
            refreshed_at=wire_common.optional_time(found.refreshed_at_ns) if found else None,
            refused=_refused(found) if found else None,
        )
    )


async def refresh(call: Call) -> Answer:
    """Refresh a list now; a refusal is part of the answer."""
    await asyncio.to_thread(read, call)  # refuses a list that isn't the tenant's
    if call.app.refresher is None:
        raise Problem("refresh-off", "the setting `lists.refresh` is off")
    list_id = call.ids[LIST.id_member]
    await call.app.refresher.refresh(call.tenant_id, list_id, str(call.operator.operator_id))
    return await asyncio.to_thread(read, call)


def _refused(found: ListRefresh) -> wire_definitions.RefusedRefresh | None:
    if found.refused_at_ns is None:
        return None
    return wire_definitions.RefusedRefresh(
        at=wire_common.time_text(found.refused_at_ns), code=found.code, detail=found.detail
    )
