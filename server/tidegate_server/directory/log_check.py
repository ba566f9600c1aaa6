"""Find losses in the decision log at the start, and report them in log, audit and metrics.

The start checks only the parts it needs: the end of the log, against other files, and the rows
after the oldest valid snapshot or not yet derived. ``tidegate verify`` checks all of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.hot.unrecorded import ACTION, ACTOR, KIND
from tidegate_server.http.ids import new_id
from tidegate_server.logging import log
from tidegate_server.stores.damage.checks import check_rows
from tidegate_server.stores.decision_log import gaps, snapshots
from tidegate_server.stores.decision_log.gaps import LogGap
from tidegate_server.stores.decision_log.log import last_seq
from tidegate_server.stores.index import derived
from tidegate_server.stores.objects import audit, tenants

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.stores.port import Store

_PAGE = 200
"""Audit entries per write."""


def check_log(store: Store) -> int:
    """Find losses, report new ones, and remember them, so that they are skipped.

    Args:
        store: the owner's, before anything is appended.

    Returns:
        How many entries of the log are lost in total.

    Raises:
        StoreUnavailableError: the database can't be read or written.
    """
    if store.lost is not None:
        _report(store, store.lost)
    if store.lost_changes:
        log.error(
            "changes of the control plane that were acknowledged are lost; restore the database"
            " from a backup, or make them again",
            at_least=store.lost_changes,
        )
    with store.read() as connection:
        found = list(_unknown(connection, store.partition))
    for gap in found:
        store.write(partial(gaps.add, gap=gap)).result()
        _report(store, gap)
    return lost_in(store)


def lost_in(store: Store) -> int:
    """Return how many entries of the log are known to be lost in total.

    Raises:
        StoreUnavailableError: the database can't be read.
    """
    with store.read() as connection:
        return gaps.total(connection)


def _unknown(connection: Connection, partition: int) -> Iterator[LogGap]:
    """Yield new losses among the entries that the start needs."""
    known = gaps.known(connection)
    oldest = snapshots.oldest_newest_seq(connection, partition)
    after = min(oldest, derived.indexed_seq(connection))
    now = time.time_ns()
    for each in check_rows(connection, after, last_seq(connection)):
        for first, last in gaps.unknown_parts(known, each.first_seq, each.last_seq):
            yield LogGap(
                first_seq=first,
                last_seq=last,
                tenant_id=each.tenant_id,
                reason=each.reason,
                found_at_ns=now,
            )


def _report(store: Store, gap: LogGap) -> None:
    """Write an error line, and audit entries for tenants that lost decisions, or may have."""
    log.error(
        "recorded decisions are lost; restore the database from a backup to have them back",
        first=gap.first_seq,
        last=gap.last_seq,
        reason=gap.reason,
        tenant=None if gap.tenant_id is None else str(gap.tenant_id),
    )
    with store.read() as connection:
        known = list(tenants.definition_revisions(connection, store.partition))
    concerned = known if gap.tenant_id is None else [gap.tenant_id]
    for start in range(0, len(concerned), _PAGE):
        page = concerned[start : start + _PAGE]
        store.write(partial(_audit, tenant_ids=page, gap=gap)).result()


def _audit(connection: Connection, tenant_ids: Iterable[UUID], gap: LogGap) -> None:
    for tenant_id in tenant_ids:
        entry = audit.AuditEntry(
            audit_id=new_id(),
            tenant_id=tenant_id,
            at_ns=gap.found_at_ns,
            actor=ACTOR,
            action=ACTION,
            kind=KIND,
            object_id=str(tenant_id),
            after={
                "first_seq": gap.first_seq,
                "last_seq": gap.last_seq,
                "reason": gap.reason,
                "of_tenant": gap.tenant_id is not None,
            },
        )
        audit.add(connection, entry)
