"""Rebuild a tenant's changes from marks and the decision log, after a restart."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from tidegate_server.logging import log
from tidegate_server.stores.base import DamagedLogError, NotFoundError
from tidegate_server.stores.decision_log import log as decision_log
from tidegate_server.stores.objects import change_marks, definition_sets
from tidegate_server.stores.objects.change_marks import Mark
from tidegate_server.sync import messages
from tidegate_server.sync.changes import ChangeLog

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_LINES = 200_000
"""The most log lines that are read again: a daemon further behind takes a snapshot."""


def first_mark(tenant_id: UUID, seq: int, revision: int) -> Mark:
    """Return the first mark of changes that nobody followed before.

    Its number is greater than any before it: each change takes a line of the log or a revision.

    Args:
        tenant_id: the tenant.
        seq: number of the last decision in the log.
        revision: of the active definitions.
    """
    start = secrets.token_bytes(messages.HASH_BYTES)
    return Mark(tenant_id, seq + revision, start, seq, revision)


def remade(connection: Connection, tenant_id: UUID) -> ChangeLog | None:
    """Return the tenant's previous changes; None if only a new log will do."""
    last = decision_log.last_seq(connection)
    marks = change_marks.all_of(connection, tenant_id)
    marks = [each for each in marks if each.seq > last - MOST_LINES] or marks[-1:]
    if not marks or marks[-1].seq > last:
        return None
    try:
        return _remade(connection, marks, last)
    except (DamagedLogError, NotFoundError) as error:
        log.warning("the changes of a tenant begin anew", reason=str(error))
        return None


def _remade(connection: Connection, marks: Sequence[Mark], last: int) -> ChangeLog:
    """Rebuild changes from the first mark on.

    Raises:
        DamagedLogError: the log can't be read.
        NotFoundError: definitions are missing.
    """
    tenant_id = marks[0].tenant_id
    changes = ChangeLog(tenant_id, marks[0])
    for mark in marks[1:]:
        _read_lines(connection, changes, mark.seq)
        if mark.revision > changes.revision:
            document = definition_sets.load(connection, tenant_id, mark.revision)
            changes.activated(mark.revision, document)
        if (changes.sequence, changes.hash) != (mark.sequence, mark.hash):
            log.warning("changes before a mark are not known any more", sequence=mark.sequence)
            changes = ChangeLog(tenant_id, mark)
    _read_lines(connection, changes, last)
    return changes


def _read_lines(connection: Connection, changes: ChangeLog, until: int) -> None:
    tenant_id, after = changes.tenant_id, changes.seq
    for each in decision_log.scan(connection, after=after, until=until, tenant_id=tenant_id):
        changes.committed(each.line, each.seq)
