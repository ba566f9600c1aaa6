"""Copy a data directory, to keep it or to bring it back; a copy is a data directory itself.

SQLite's backup interface copies each database as of one moment, also while a server writes. Files
that say how far a log got are copied before the log, and the file with the definitions last, so a
copied file never knows of something that another lacks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pysqlite3 import dbapi2

from tidegate.errors import TidegateError
from tidegate_server.directory.database import DATABASE
from tidegate_server.directory.opening import KEYS
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.directory import identity
from tidegate_server.stores.directory.mark import mark_path
from tidegate_server.stores.directory.partitions import partitions_of
from tidegate_server.stores.rows.connections import (
    BUSY_SECONDS,
    check_private,
    derived_path,
    make_file,
    partition_path,
)

Copy = Callable[[Path, Path], None]


class OccupiedError(TidegateError):
    """A copy would replace something."""

    code = "directory-occupied"


def copy_directory(
    source: Path,
    target: Path,
    progress: Callable[[str], None] = lambda _: None,
    *,
    has_database: bool = True,
) -> list[str]:
    """Copy a data directory; a server may be running on it.

    The copy has everything that was acknowledged before the call. It gets its name when it is whole
    and on stable storage; an interrupted copy leaves nothing there.

    Args:
        source: the data directory.
        target: the copy; a directory that is missing or empty.
        progress: called with the name of each file.
        has_database: whether the database is in the directory; one elsewhere isn't copied.

    Returns:
        The names of the files.

    Raises:
        OccupiedError: the target isn't empty.
        StoreUnavailableError: something can't be read or written.
    """
    parts = list(_small_files(source))
    if has_database:
        parts += _database_files(source / DATABASE)
    names = [str(path.relative_to(source)) for path, _ in parts]
    with _whole(target) as made:
        for name, (path, copy) in zip(names, parts, strict=True):
            progress(name)
            (made / name).parent.mkdir(mode=0o700, exist_ok=True)
            copy(path, made / name)
    return names


def _small_files(source: Path) -> Iterator[tuple[Path, Copy]]:
    if not (source / KEYS).is_dir():
        raise StoreUnavailableError(f"`{source}` isn't a data directory: it has no `{KEYS}`")
    for path in (source / identity.FILE, *sorted((source / KEYS).iterdir())):
        if path.is_file():
            yield path, _copy_file


def _database_files(database: Path) -> Iterator[tuple[Path, Copy]]:
    check_private(database)
    for number in reversed(partitions_of(database)):
        path = partition_path(database, number)
        if mark_path(path).exists():
            yield mark_path(path), _copy_file
        if derived_path(path).exists():
            yield derived_path(path), _copy_database
        yield path, _copy_database


def _copy_file(path: Path, target: Path) -> None:
    content = path.read_bytes()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _copy_database(path: Path, target: Path) -> None:
    make_file(target)
    with (
        closing(dbapi2.connect(path, timeout=BUSY_SECONDS)) as read,
        closing(dbapi2.connect(target)) as written,
    ):
        # All pages in one step: with several, each write in between would begin the copy again.
        read.backup(written)
    _flush(target)


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A directory that gets its name if the block succeeds."""
    beside = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        if target.exists() and any(target.iterdir()):
            found = ", ".join(sorted(path.name for path in target.iterdir())[:3])
            raise OccupiedError(f"`{target}` isn't empty ({found}): name a new directory")
        beside.mkdir(mode=0o700, parents=True)
        yield beside
        for path in (*beside.iterdir(), beside):
            if path.is_dir():
                _flush(path)
        beside.rename(target)
        _flush(target.parent)
    except (OSError, dbapi2.Error) as error:
        raise StoreUnavailableError(f"`{target}` can't be written: {error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
