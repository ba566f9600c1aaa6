"""Connections to PostgreSQL: how to open them, and the settings that both sides must guarantee.

The address is a libpq one, so it may name several hosts, certificates and a password file.  It may
contain a password, so no message repeats it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
import psycopg.conninfo
from psycopg.adapt import Loader
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from tidegate_server.stores.base import Standby, StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.rows.errors import reason

if TYPE_CHECKING:
    from psycopg.abc import Buffer

NEEDED_VERSION = 150_000
READERS = 8
READER_SECONDS = 5.0
LOCKS = 0x74_69_64_65
"""The first number of all our advisory locks; the second identifies the lock."""
OWNER_LOCK, WRITE_LOCK = 0, 1
PARTITION_LOCKS = LOCKS + 2
"""The first number of the owner locks of further partitions; the second is the partition."""
LEVEL_LOCKS = LOCKS + 3
"""The first number of the shared locks of members with all states of a partition."""
_DERIVED = "derived"
_DEFAULTS = {
    "connect_timeout": "10",
    "application_name": "tidegate",
    "target_session_attrs": "read-write",
    # Each side notices within seconds that the other machine is gone: these are the client's
    # settings.
    "keepalives_idle": "3",
    "keepalives_interval": "1",
    "keepalives_count": "3",
}
_SESSION = """
SET tcp_keepalives_idle = 3;
SET tcp_keepalives_interval = 1;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 6000
"""
"""The server's side: it holds a session's locks until it notices. Probes begin on an idle
connection; the last setting limits how long sent data may be unacknowledged."""


def shown(url: str) -> str:
    """A database as messages name it: hosts, port and name, without user and password."""
    try:
        found = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return "the database of `store.url`"
    hosts = str(found.get("host") or found.get("hostaddr") or "localhost")
    ports = str(found.get("port") or "5432")
    return f"postgresql://{hosts}:{ports}/{found.get('dbname') or ''}"


def check_url(url: str) -> None:
    """Reject a URL that libpq does not understand.

    Raises:
        ValueError: the URL is invalid; the message does not repeat it.
    """
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise ValueError(
            "it is no address of a database; write `postgresql://user@host/name`"
        ) from None


def connect(url: str, **parameters: str) -> psycopg.Connection[Any]:
    """Open a connection that begins no transaction by itself.

    Args:
        url: the database's URL.
        parameters: libpq parameters that override those in the address.

    Raises:
        psycopg.OperationalError: the connection failed.
    """
    wanted = {**_DEFAULTS, **psycopg.conninfo.conninfo_to_dict(url), **parameters}
    connection = psycopg.connect(psycopg.conninfo.make_conninfo("", **wanted), autocommit=True)
    try:
        connection.execute(_SESSION)
    except BaseException:
        connection.close()
        raise
    connection.adapters.register_loader("numeric", _Number)
    return connection


class _Number(Loader):
    """Return sums of integers as integers, as SQLite does."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data)
        return float(text) if b"." in text or b"N" in text else int(text)


def owner_lock(partition: int) -> tuple[int, int]:
    """The two numbers of the lock held by a partition's owner."""
    return (PARTITION_LOCKS, partition) if partition else (LOCKS, OWNER_LOCK)


def partition_schema(partition: int) -> str:
    """The schema with the log of a further partition; see ``directory/schemas.py``."""
    return f"partition_{partition}"


def derived_schema(partition: int) -> str:
    """The schema with the data derived from a partition's log."""
    return f"{_DERIVED}_{partition}" if partition else _DERIVED


def writing_engine(url: str, partition: int = 0) -> Engine:
    """The engine of the one connection that commits.

    Its transactions wait for those of other processes, as SQLite's do.

    Args:
        url: the database's URL.
        partition: the partition whose log the connections see; everything else is shared.
    """
    lock = f"SELECT pg_advisory_xact_lock({LOCKS}, {WRITE_LOCK})"
    return _engine(url, ("BEGIN", lock), partition, poolclass=NullPool)


def deriving_engine(url: str, partition: int = 0) -> Engine:
    """The engine of the deriving connection: lost commits are simply derived again."""
    engine = _engine(url, ("BEGIN",), partition, poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.execute("SET synchronous_commit = off")

    return engine


def looking_engine(url: str) -> Engine:
    """The engine of one read-only connection."""
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    return _engine(url, (begin,), poolclass=NullPool)


def reading_engine(url: str, partition: int = 0) -> Engine:
    """The engine of the reading connections; a transaction sees one snapshot of the data."""
    return _engine(
        url,
        ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",),
        partition,
        poolclass=QueuePool,
        pool_size=READERS,
        max_overflow=0,
        pool_timeout=READER_SECONDS,
        # After a failover the pool still holds connections that have ended.
        pool_pre_ping=True,
    )


def _search_path(partition: int) -> str:
    """The statement that puts a partition's tables before the first partition's."""
    path = ["nullif(current_setting('search_path'), '')", f"'{derived_schema(partition)}'"]
    if partition:
        path.insert(0, f"'{partition_schema(partition)}'")
    return f"SELECT set_config('search_path', concat_ws(', ', {', '.join(path)}), false)"


def _engine(url: str, begin: tuple[str, ...], partition: int = 0, **pool: Any) -> Engine:
    path = _search_path(partition)

    def opened() -> psycopg.Connection[Any]:
        try:
            return connect(url)
        except psycopg.Error as error:
            raise unreachable(url, error) from error

    names = {"schema_translate_map": {_DERIVED: derived_schema(partition)}} if partition else {}
    engine = create_engine("postgresql+psycopg://", creator=opened, execution_options=names, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.execute(path)

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        driver = driver_connection(connection)
        try:
            for statement in begin:
                driver.execute(statement)
        except psycopg.Error as error:
            if driver.broken:
                connection.invalidate(error)  # There is nothing left to roll back.
            raise DBAPIError.instance(begin[0], None, error, psycopg.Error) from error

    return engine


def check_promises(driver: Any, standby: Standby) -> None:
    """Check the database's guarantees about a commit.

    Args:
        driver: a connection of the driver.
        standby: whether a commit must wait for a standby.

    Raises:
        UnsafeDatabaseError: a guarantee is missing; one sentence says which, and how to fix it.
    """
    version = driver.info.server_version
    if version < NEEDED_VERSION:
        raise UnsafeDatabaseError(
            f"PostgreSQL {version // 10_000} is too old, 15 or newer is needed"
        )
    for name, meaning in (
        ("fsync", "a failure of the power could damage the database"),
        ("full_page_writes", "a torn page could not be mended after a failure of the power"),
    ):
        if _setting(driver, name) != "on":
            raise UnsafeDatabaseError(
                f"PostgreSQL has `{name}` off, so {meaning}; set `{name} = on` in postgresql.conf"
                " and reload it"
            )
    commit = _setting(driver, "synchronous_commit")
    if commit not in ("on", "remote_apply"):
        raise UnsafeDatabaseError(
            f"PostgreSQL has `synchronous_commit = {commit}`, so a commit could be lost after it"
            " was acknowledged; set it to `on` in postgresql.conf, or for the role or database"
            " with `ALTER ... SET synchronous_commit = on`"
        )
    if standby == "required" and not _setting(driver, "synchronous_standby_names").strip():
        raise UnsafeDatabaseError(
            "PostgreSQL has an empty `synchronous_standby_names`, so what was acknowledged would"
            " be lost with the machine; name a standby, as in `synchronous_standby_names = 'ANY 1"
            " (standby)'`, or set `store.standby` to `none`"
        )


def _setting(driver: Any, name: str) -> str:
    (found,) = driver.execute("SELECT current_setting(%s)", (name,)).fetchone()
    return str(found)


def unreachable(url: str, error: BaseException) -> StoreUnavailableError:
    """The error for a database that can't be connected to."""
    return StoreUnavailableError(f"{shown(url)} cannot be reached: {reason(error)}")


Warned: TypeAlias = Callable[[str], None]


def on_warning(driver: Any, warned: Warned) -> None:
    """Call a function with each warning the server sends on a connection."""

    def noticed(diagnostic: Any) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            warned(str(diagnostic.message_primary))

    driver.add_notice_handler(noticed)
