"""Databases by URL, and everything else that is opened by URL."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidegate_server.stores.base import Standby, StoreUnavailableError
from tidegate_server.stores.index.catalog import DEFAULT_BOUNDS, Bounds
from tidegate_server.stores.rows import connections
from tidegate_server.stores.rows.dialects import is_postgresql

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    from tidegate_server.stores.committing import CommittingStore
    from tidegate_server.stores.directory.claims import Claim
    from tidegate_server.stores.directory.lock import Holder, Lock
    from tidegate_server.stores.postgresql import PostgresqlStore


def migrate(url: str) -> None:
    """Create a database and its tables, or upgrade them to the newest revision.

    Args:
        url: ``sqlite:////var/lib/tidegate/tidegate.db`` or ``postgresql://user@host/name``.

    Raises:
        SchemaError: the database is too new for this code.
        StoreUnavailableError: it cannot be opened or written.
        UnsafeDatabaseError: the library version could lose data.
        ValueError: the URL names no database that this code supports.
    """
    _module(url).migrate(url)


def reading_engine(url: str, partition: int = 0) -> Engine:
    """The engine of connections that read a database, with the log of a partition."""
    return _engine(url, "reading_engine", partition)


def looking_engine(url: str) -> Engine:
    """The engine of one connection that reads a database in an unknown state."""
    return _engine(url, "looking_engine")


def writing_engine(url: str) -> Engine:
    """The engine of one connection that changes a database."""
    return _engine(url, "writing_engine")


def _engine(url: str, kind: str, *more: int) -> Engine:
    made: Engine
    if is_postgresql(url):
        made = getattr(_postgresql("tidegate_server.stores.rows.postgresql"), kind)(url, *more)
    else:
        made = getattr(connections, kind)(connections.database_path(url), *more)
    return made


def shown(url: str) -> str:
    """A PostgreSQL database as messages name it, without user and password."""
    text: str = _postgresql("tidegate_server.stores.rows.postgresql").shown(url)
    return text


def claim_database(url: str, waits: Callable[[Holder], None] | None = None) -> Claim:
    """Become the owner of a PostgreSQL database.

    Args:
        url: the database's URL.
        waits: as for :func:`~tidegate_server.stores.directory.lock.claim`.

    Raises:
        HeldError: another process is the owner.
        StoreUnavailableError: the database cannot be reached, or the driver is missing.
    """
    made: Claim = _postgresql("tidegate_server.stores.directory.claims").claim_database(url, waits)
    return made


def connected_nodes(url: str) -> list[str]:
    """The names of the nodes that are connected, as ``stores.directory.claims`` finds them."""
    found: list[str] = _postgresql("tidegate_server.stores.directory.claims").connected_nodes(url)
    return found


def need_partitions(url: str, wanted: int) -> int:
    """Create the wanted number of partitions in PostgreSQL; see ``directory/schemas.py``."""
    made: int = _postgresql("tidegate_server.stores.directory.schemas").need_partitions(url, wanted)
    return made


def open_store(
    url: str,
    *,
    lock: Lock | Claim | None = None,
    catalog: Bounds = DEFAULT_BOUNDS,
    standby: Standby = "required",
    ended: Callable[[StoreUnavailableError], None] = lambda _: None,
    partition: int = 0,
) -> CommittingStore:
    """The store of a database.

    Args:
        url: as for :func:`migrate`.
        lock: the owner's lock, as :class:`~tidegate_server.stores.sqlite.SqliteStore` and
            :class:`~tidegate_server.stores.postgresql.PostgresqlStore` take it.
        catalog: limits of the field catalog.
        standby: whether a PostgreSQL database must have a synchronous standby.
        ended: called when the ownership ends before the store closes; SQLite never calls it.
        partition: the partition whose log this is.

    Raises:
        StoreError: it cannot be opened.
        ValueError: the URL names no database that this code supports.
    """
    module = _module(url)
    if is_postgresql(url):
        store: CommittingStore = module.PostgresqlStore(
            url, lock=lock, catalog=catalog, standby=standby, ended=ended, partition=partition
        )
        return store
    kept: CommittingStore = module.SqliteStore(url, lock=lock, catalog=catalog, partition=partition)
    return kept


def open_unclaimed(
    url: str,
    *,
    node: str,
    catalog: Bounds = DEFAULT_BOUNDS,
    standby: Standby = "required",
    ended: Callable[[StoreUnavailableError], None] = lambda _: None,
    partition: int = 0,
) -> PostgresqlStore:
    """The store of a PostgreSQL database, for a node that may become its owner.

    Args:
        url: the database's URL.
        node: the node's name.
        catalog: as for :func:`open_store`.
        standby: as for :func:`open_store`.
        ended: as for :func:`open_store`.
        partition: as for :func:`open_store`.

    Raises:
        StoreError: it cannot be opened.
    """
    claims = _postgresql("tidegate_server.stores.directory.claims")
    store: PostgresqlStore = _postgresql("tidegate_server.stores.postgresql").PostgresqlStore(
        claims.log_url(url, node),
        catalog=catalog,
        standby=standby,
        ended=ended,
        partition=partition,
    )
    return store


def _module(url: str) -> Any:
    if is_postgresql(url):
        return _postgresql("tidegate_server.stores.postgresql")
    return import_module("tidegate_server.stores.sqlite")


def _postgresql(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise StoreUnavailableError(
            "PostgreSQL needs a driver that is not installed; run"
            " `pip install 'tidegate[postgresql]'`"
        ) from None
