"""Past definitions: the whole document of every revision that decided anything.

A set is stored whole, or as a diff against an earlier whole one: when a list of 100,000 addresses
gains one, the new set takes a few bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import delete, select

from tidegate_server.stores.base import DamagedLogError, NotFoundError
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.compression import ZstdError, compressed, compressor, decompressed
from tidegate_server.stores.rows.tables import definition_sets as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_BYTES = 512 * 1024 * 1024
"""The most that a document may unpack to, so that a damaged length can't ask for more."""
_WORTHWHILE = 4
"""A diff is kept if it takes at most a quarter of its base's size."""
_LEVEL = 9
"""From this size on, a large base is searched in full: an entry takes 200 bytes, not 225,000."""
_LARGEST_WINDOW = 27
_SMALLEST_WINDOW = 10


@attrs.frozen(kw_only=True)
class DefinitionSet:
    """A document to be stored."""

    tenant_id: UUID
    revision: int
    base_revision: int | None
    """The whole set that this one is a diff against; None if it is whole itself."""
    body: bytes = attrs.field(repr=False)
    created_at_ns: int


def prepare(
    connection: Connection, tenant_id: UUID, revision: int, document: bytes, now_ns: int
) -> DefinitionSet | None:
    """The document in its stored form; None if its revision is stored already.

    Packing a large document takes a while, so it happens before the write.
    """
    if _find(connection, tenant_id, revision) is not None:
        return None
    newest = (
        select(table)
        .where(table.c.tenant_id == tenant_id, table.c.base_revision.is_(None))
        .order_by(table.c.revision.desc())
        .limit(1)
    )
    base = next(iter(records.many(connection, newest, DefinitionSet)), None)
    base_revision, body = None, b""
    if base is not None:
        try:
            base_revision, body = base.revision, _pack(document, _unpack(base, b""))
        except DamagedLogError:
            base = None  # the new one is kept whole
    if base is None or len(body) * _WORTHWHILE > len(base.body):
        base_revision, body = None, _pack(document, b"")
    return DefinitionSet(
        tenant_id=tenant_id,
        revision=revision,
        base_revision=base_revision,
        body=body,
        created_at_ns=now_ns,
    )


def add(connection: Connection, definition_set: DefinitionSet) -> None:
    """Store a set, unless another process has stored its revision meanwhile.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    tenants.require(connection, definition_set.tenant_id)
    if _find(connection, definition_set.tenant_id, definition_set.revision) is None:
        records.add(connection, table, definition_set)


def load(connection: Connection, tenant_id: UUID, revision: int) -> bytes:
    """The document of a revision, as JSON.

    Raises:
        DamagedLogError: it fails its checksum.
        NotFoundError: it isn't stored, or no longer.
    """
    found = _find(connection, tenant_id, revision)
    if found is None:
        raise NotFoundError("definition set")
    if found.base_revision is None:
        return _unpack(found, b"")
    base = _find(connection, tenant_id, found.base_revision)
    if base is None:
        raise NotFoundError("definition set")
    return _unpack(found, _unpack(base, b""))


def prune(connection: Connection, tenant_id: UUID, oldest: int) -> int:
    """Delete the sets before a revision that no later set needs; return how many.

    The newest whole set stays, since the next may be a diff against it.
    """
    of_tenant = table.c.tenant_id == tenant_id
    bases = select(table.c.base_revision).where(
        of_tenant, table.c.revision >= oldest, table.c.base_revision.is_not(None)
    )
    newest = (
        select(table.c.revision)
        .where(of_tenant, table.c.base_revision.is_(None))
        .order_by(table.c.revision.desc())
        .limit(1)
    )
    return connection.execute(
        delete(table).where(
            of_tenant,
            table.c.revision < oldest,
            table.c.revision.not_in(bases),
            table.c.revision.not_in(newest),
        )
    ).rowcount


def _find(connection: Connection, tenant_id: UUID, revision: int) -> DefinitionSet | None:
    query = select(table).where(table.c.tenant_id == tenant_id, table.c.revision == revision)
    return next(iter(records.many(connection, query, DefinitionSet)), None)


def _pack(document: bytes, base: bytes) -> bytes:
    window = (len(base) + len(document)).bit_length()
    window_log = min(max(window, _SMALLEST_WINDOW), _LARGEST_WINDOW)
    return compressed(document, compressor(_LEVEL, base=base, window_log=window_log))


def _unpack(kept: DefinitionSet, base: bytes) -> bytes:
    try:
        return decompressed(kept.body, MAX_BYTES, base)
    except ZstdError as error:
        raise DamagedLogError(
            kept.revision, f"of the definition sets is damaged: {error}"
        ) from None
