"""Ids of decisions that belong to another tenant.

Some ids lead to a decision without naming a tenant: in a challenge's address, and in decisions
delivered to other systems.  So a tenant that chooses ids must not take another's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import select

from tidegate_server.stores.decision_log.decisions import DIFFERENCE_MS, MAX_ID
from tidegate_server.stores.decision_log.lines import read_index
from tidegate_server.stores.decision_log.log import unpack
from tidegate_server.stores.rows.tables import decision_log as table
from tidegate_server.stores.rows.tables import tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ids_of_others(connection: Connection, tenant_id: UUID, ids: Collection[bytes]) -> set[bytes]:
    """The ids that decisions of other tenants have already.

    Args:
        connection: a connection of the store.
        tenant_id: the tenant that wants these ids.
        ids: 16 bytes each, from one minute, since all rows of their time are searched.

    Raises:
        DamagedLogError: a row that may contain one of them is damaged.
    """
    wanted = sorted(ids)
    if not wanted:
        return set()
    latest_ms = min(int.from_bytes(wanted[-1][:6]) + DIFFERENCE_MS, 2**48 - 1)
    near = (
        select(table.c.first_seq, table.c.first_id, table.c.last_id)
        .join(tenants, tenants.c.tenant_id == table.c.tenant_id)
        .where(tenants.c.tenant_id != tenant_id)
        .where(table.c.last_id.between(wanted[0], latest_ms.to_bytes(6) + MAX_ID[6:]))
        .where(table.c.first_id <= wanted[-1])
    )
    found: set[bytes] = set()
    for row in connection.execute(near).all():
        within = wanted[bisect_left(wanted, row.first_id) : bisect_right(wanted, row.last_id)]
        if within:
            found |= _ids(connection, row.first_seq).intersection(within)
    return found


def _ids(connection: Connection, first_seq: int) -> set[bytes]:
    body = select(table.c.index_body).where(table.c.first_seq == first_seq)
    index = unpack(first_seq, connection.execute(body).scalar_one())
    return {UUID(each.decision_id).bytes for each in read_index(index)}
