"""Compiled definitions of tenants: the newest of each, for starts and for new owners.

They can be compiled again at any time, so a row that doesn't fit is as good as none.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import select

from tidegate_server.stores.rows import records
from tidegate_server.stores.rows.compression import ZstdError, compressed, compressor, decompressed
from tidegate_server.stores.rows.dialects import upsert
from tidegate_server.stores.rows.tables import compiled_sets as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

MAX_BYTES = 512 * 1024 * 1024
"""The most that a body may unpack to, so that a damaged length can't ask for more."""
_LEVEL = 1


@attrs.frozen(kw_only=True)
class Place:
    """The definitions that a compiled set belongs to.

    Attributes:
        tenant_id: the tenant.
        revision: the revision of its definitions.
        own_revision: the tenant's own revision, which counts settings.
        program: a hash of the program that compiled them.
    """

    tenant_id: UUID
    revision: int
    own_revision: int
    program: bytes


@attrs.frozen(kw_only=True)
class _Row(Place):
    checksum: bytes
    body: bytes = attrs.field(repr=False)


def put(connection: Connection, place: Place, packed: bytes) -> None:
    """Store a compiled set instead of the tenant's earlier one.

    Args:
        connection: of the writing thread.
        place: the definitions that it belongs to.
        packed: the result of :func:`pack`.

    Raises:
        NotFoundError: the tenant doesn't exist.
    """
    values = attrs.asdict(place) | {"checksum": _checksum(place, packed), "body": packed}
    changed = {name: values[name] for name in values if name != "tenant_id"}
    statement = upsert.of(connection)(table).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=["tenant_id"], set_=changed))


def find(connection: Connection, place: Place) -> bytes | None:
    """Return the compiled set of these very definitions; None if there isn't a sound one."""
    query = select(table).where(table.c.tenant_id == place.tenant_id)
    for row in records.many(connection, query, _Row):
        if Place(**{name: getattr(row, name) for name in _PLACE}) != place:
            return None
        if row.checksum == _checksum(place, row.body):
            return _unpack(row.body)
    return None


def is_kept(connection: Connection, place: Place) -> bool:
    """Return whether the compiled set of these very definitions is stored, sound or not."""
    query = records.of(Place, table).where(table.c.tenant_id == place.tenant_id)
    return place in records.many(connection, query, Place)


_PLACE = tuple(each.name for each in attrs.fields(Place))


def pack(body: bytes) -> bytes:
    """Return the stored form of a body, which takes a while to make for a large one."""
    return compressed(body, compressor(_LEVEL, checksum=False))


def _unpack(packed: bytes) -> bytes | None:
    try:
        return decompressed(packed, MAX_BYTES)
    except ZstdError:
        return None


def _checksum(place: Place, packed: bytes) -> bytes:
    digest = hashlib.blake2b(digest_size=32)
    numbers = f"{place.tenant_id} {place.revision} {place.own_revision} {place.program.hex()} "
    digest.update(numbers.encode())
    digest.update(packed)
    return digest.digest()
