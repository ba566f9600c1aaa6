"""The partitions of a data directory, created and checked before they are served."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate_server.directory.database import DATABASE, database_of
from tidegate_server.directory.opening import StrayPartError
from tidegate_server.stores.directory import identity
from tidegate_server.stores.directory.lock import claim
from tidegate_server.stores.directory.partitions import (
    identity_of,
    is_made,
    make_partition,
    partitions_of,
)
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.rows.connections import partition_path

if TYPE_CHECKING:
    from tidegate_server.stores.directory.lock import Holder, Lock

log = logging.getLogger("tidegate")


def need_partitions(directory: Path, wanted: int) -> int:
    """Ensure that the wanted partitions exist, or more if tenants live in more.

    Args:
        directory: the data directory, owned by this process, with parts that belong together.
        wanted: the number.

    Returns:
        The number of partitions.

    Raises:
        SchemaError: a file is of another version.
        StoreUnavailableError: a file can't be read or created.
        StrayPartError: a file is missing, or of another directory.
    """
    database = directory / DATABASE
    with database_of(directory, "").connection() as connection:
        used = set(tenants.placements(connection).values())
        whose = identity.stored(connection).identity.bytes
    found = partitions_of(database)
    count = max(wanted, found[-1] + 1, max(used, default=0) + 1)
    if count > wanted:
        log.warning("%s has %d partitions: as many server workers serve it", directory, count)
    for number in range(1, count):
        path = partition_path(database, number)
        if not is_made(database, number):
            if number in used:
                raise StrayPartError(
                    f"`{path}` is missing, and tenants live in it: restore it from a backup"
                )
            make_partition(database, number, whose)
        elif identity_of(database, number) != whose:
            raise StrayPartError(
                f"`{path}` is of another directory than `{database}`: put its own file back"
            )
    return count


def claim_partition(
    directory: Path, number: int, waits: Callable[[Holder], None] | None = None
) -> Lock:
    """Become the only process that appends to a partition.

    Parent and workers share the lock of the directory; this lock keeps the workers apart.

    Args:
        directory: the data directory.
        number: the partition's number.
        waits: as for :func:`~tidegate_server.stores.directory.lock.claim`.

    Raises:
        HeldError: another process is.
        StoreUnavailableError: the lock can't be opened.
    """
    database = directory / DATABASE
    path = database.with_stem(f"{database.stem}-0") if number == 0 else None
    return claim(path or partition_path(database, number), waits)
