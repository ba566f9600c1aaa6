"""Connections to an SQLite file: allowed locations, safe library versions, how to open one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from pysqlite3 import dbapi2
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.pool import NullPool, QueuePool

from tidegate_server.stores.base import StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.rows.dialects import driver_connection

UNSAFE_VERSIONS = ((3, 7, 0), (3, 51, 2))
"""First and last release in which two connections that both reset the WAL can corrupt it."""
NEEDED_VERSION = (3, 51, 0)
"""The first with ``jsonb_each``."""
BUSY_SECONDS = 5.0
"""How long to wait for another process, such as ``tidegate operator``, to finish its write."""
CHECKPOINT_PAGES = 1_000
"""4 MiB of WAL between checkpoints, small enough to copy without a noticeable pause."""
MAX_WAL_PAGES = 16_000
"""62.5 MiB: the next commit checkpoints a WAL larger than this."""
JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024
WRITER_CACHE_KIB = 16 * 1024
"""Room for the inner pages of every table; the rows of the log are not read again."""
DERIVED_CACHE_KIB = 32 * 1024
"""Room for the idempotency keys of the current bucket (a few megabytes) and the counts."""
READER_CACHE_KIB = 2 * 1024
"""Cache for each reader; pages that are read again are in the file system's cache."""
SHARED = "shared"
"""The name of the attached database in a partition's file."""
READERS = 8
"""Reads run on worker threads; with few cores, more would only wait for each other."""
READER_SECONDS = 5.0


def database_path(url: str) -> Path:
    """The file that a URL names.

    Raises:
        ValueError: it isn't the URL of an SQLite file.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or parsed.database in (None, "", ":memory:"):
        raise ValueError(f"`{url}` names no file; write `sqlite:////path/to/tidegate.db`")
    return Path(str(parsed.database)).absolute()


def check_version(version: tuple[int, int, int] = dbapi2.sqlite_version_info) -> None:
    """Reject a library version that could damage its data.

    Raises:
        UnsafeDatabaseError: it is such a version.
    """
    first, last = UNSAFE_VERSIONS
    found = ".".join(map(str, version))
    if first <= version <= last:
        raise UnsafeDatabaseError(
            f"SQLite {found} can corrupt its write-ahead log (fixed in 3.51.3); install the"
            " `pysqlite3` that `tidegate[server]` asks for"
        )
    if version < NEEDED_VERSION:
        raise UnsafeDatabaseError(f"SQLite {found} is too old, 3.51.3 or newer is needed")


def check_private(path: Path) -> None:
    """Reject a file that others may read, or a directory where others may replace it.

    Raises:
        StoreUnavailableError: the file doesn't exist.
        UnsafeDatabaseError: its permissions are too wide.
    """
    try:
        mode = path.stat().st_mode
        place = path.parent.stat().st_mode
    except OSError as error:
        raise StoreUnavailableError(
            f"`{path}` cannot be opened ({error.strerror}); `tidegate migrate` makes it"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise UnsafeDatabaseError(f"others may read `{path}`; run `chmod 600` on it")
    if stat.S_IMODE(place) & 0o022 and not place & stat.S_ISVTX:
        raise UnsafeDatabaseError(f"others may write to `{path.parent}`; run `chmod 700` on it")


def derived_path(path: Path) -> Path:
    """The derived file of a database; see ``derived.py``."""
    return path.with_name(path.name + "-derived")


def partition_path(database: Path, number: int) -> Path:
    """The file of a log partition; the first partition's is the database itself."""
    return database.with_stem(f"{database.stem}-{number}") if number else database


def make_file(path: Path) -> None:
    """Create an empty database that only its owner may read, in such a directory.

    Raises:
        StoreUnavailableError: it cannot be created.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreUnavailableError(f"`{path}` cannot be made: {error.strerror}") from None


def writing_engine(path: Path, number: int = 0) -> Engine:
    """The engine of the only writing connection; its transactions take the lock when they begin.

    Args:
        path: the database's path.
        number: the partition whose file is the main one; see ``directory/partitions.py``.
    """
    foreign_keys = {"foreign_keys": "ON"}
    return _engine(path, "BEGIN IMMEDIATE", foreign_keys, number=number, poolclass=NullPool)


def single_engine(path: Path) -> Engine:
    """Like :func:`writing_engine`, for a single file."""
    return _engine(path, "BEGIN IMMEDIATE", {}, poolclass=NullPool)


def looking_engine(path: Path) -> Engine:
    """The engine of a connection that reads only the database, not the files next to it."""
    return _engine(path, "BEGIN", {"query_only": "ON"}, poolclass=NullPool)


def deriving_engine(path: Path) -> Engine:
    """The engine of the deriving connection: it reads the log and writes the file next to it.

    Args:
        path: the file with the log.
    """
    settings = {
        "cache_size": str(-READER_CACHE_KIB),
        "derived.synchronous": "NORMAL",
        "derived.cache_size": str(-DERIVED_CACHE_KIB),
    }
    return _engine(path, "BEGIN", settings, is_derived_attached=True, poolclass=NullPool)


def reading_engine(path: Path, number: int = 0) -> Engine:
    """The engine of the reading connections; arguments as for :func:`writing_engine`."""
    return _engine(
        path,
        "BEGIN",
        {"query_only": "ON", "cache_size": str(-READER_CACHE_KIB)},
        number=number,
        is_derived_attached=True,
        poolclass=QueuePool,
        pool_size=READERS,
        max_overflow=0,
        pool_timeout=READER_SECONDS,
    )


def _engine(
    path: Path,
    begin: str,
    settings: dict[str, str],
    *,
    number: int = 0,
    is_derived_attached: bool = False,
    **pool: Any,
) -> Engine:
    main = partition_path(path, number)
    engine = create_engine(
        f"sqlite+pysqlite:///{main}",
        module=dbapi2,
        # Without an isolation level the driver begins no transaction by itself.
        connect_args={
            "isolation_level": None,
            "check_same_thread": False,
            "timeout": BUSY_SECONDS,
            "cached_statements": 256,
        },
        **pool,
    )
    pragmas = {
        "journal_mode": "WAL",
        "synchronous": "FULL",
        # The deriving thread checkpoints in time, see `deriving.py`; this is the limit.
        "wal_autocheckpoint": str(MAX_WAL_PAGES),
        "journal_size_limit": str(JOURNAL_LIMIT_BYTES),
        "cache_size": str(-WRITER_CACHE_KIB),
        "trusted_schema": "OFF",
        **settings,
    }
    if number:
        of_file = ("journal_mode", "synchronous", "journal_size_limit", "cache_size")
        pragmas |= {f"{SHARED}.{name}": pragmas[name] for name in of_file}

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        if is_derived_attached:
            connection.execute("ATTACH DATABASE ? AS derived", (str(derived_path(main)),))
        if number:
            connection.execute(f"ATTACH DATABASE ? AS {SHARED}", (str(path),))
        for name, value in pragmas.items():
            connection.execute(f"PRAGMA {name}={value}")

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def check_durable(connection: Connection, *, is_shared: bool = False) -> None:
    """Read back the settings that durability depends on.

    Args:
        connection: the writing connection.
        is_shared: whether the database is attached to its file.

    Raises:
        UnsafeDatabaseError: the file system or another process prevented a setting.
    """
    driver = driver_connection(connection)
    wanted_of: list[tuple[str, str | int]] = [("journal_mode", "wal"), ("synchronous", 2)]
    if is_shared:
        wanted_of += [(f"{SHARED}.{name}", wanted) for name, wanted in wanted_of]
    for name, wanted in (*wanted_of, ("foreign_keys", 1)):
        found = driver.execute(f"PRAGMA {name}").fetchone()[0]
        if found != wanted:
            raise UnsafeDatabaseError(f"SQLite keeps `{name}` at `{found}`, `{wanted}` is needed")
