"""The identity of a directory: an id shared by its file, the database and the keys.

A part that was copied from elsewhere, or created in place of a missing one, has another id or none.
The derived file is tied to the database by the log's number; see ``derived.py``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import select, update

from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.rows.tables import store_identity as table

if TYPE_CHECKING:
    from sqlalchemy import Connection

FILE = "identity"
_MAX_BYTES = 1_024
_FORM = re.compile(r"tidegate-directory-v1:([0-9a-f-]{36}):(new|whole)\n")


@attrs.frozen
class DirectoryFile:
    """The content of a directory's identity file.

    Attributes:
        identity: the directory's id.
        is_new: whether its parts are still being created; the next start continues.
    """

    identity: UUID
    is_new: bool


def read_file(directory: Path) -> DirectoryFile | None:
    """The identity file of a directory; None if it is missing or contains no identity.

    Raises:
        StoreUnavailableError: it cannot be read.
    """
    try:
        with (directory / FILE).open("rb") as file:
            match = _FORM.fullmatch(file.read(_MAX_BYTES).decode("ascii", "replace"))
        return None if match is None else DirectoryFile(UUID(match[1]), match[2] == "new")
    except FileNotFoundError:
        return None
    except ValueError:
        return None
    except OSError as error:
        raise StoreUnavailableError(
            f"`{directory / FILE}` cannot be read: {error.strerror}"
        ) from None


def write_file(directory: Path, content: DirectoryFile) -> None:
    """Put the complete identity file in place, on stable storage.

    Raises:
        StoreUnavailableError: it cannot be written.
    """
    state = "new" if content.is_new else "whole"
    write_whole(directory / FILE, f"tidegate-directory-v1:{content.identity}:{state}\n")


def write_whole(path: Path, text: str) -> None:
    """Replace a small private file; a crash leaves the old one or the new one.

    Raises:
        StoreUnavailableError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        place = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(place)
        finally:
            os.close(place)
    except OSError as error:
        raise StoreUnavailableError(f"`{path}` cannot be written: {error.strerror}") from None


@attrs.frozen
class StoredIdentity:
    """The identity stored in the database.

    Attributes:
        identity: id of the directory it was created for.
        keys_fingerprint: fingerprint of the keys that belong to it; None before their first use.
    """

    identity: UUID
    keys_fingerprint: bytes | None


def stored(connection: Connection) -> StoredIdentity:
    """The identity of a database of this version."""
    row = connection.execute(select(table)).one()
    return StoredIdentity(UUID(bytes=row.identity), row.keys_fingerprint)


def store(connection: Connection, identity: StoredIdentity) -> None:
    """Store a database's identity, and the keys that belong to it."""
    connection.execute(
        update(table).values(
            identity=identity.identity.bytes, keys_fingerprint=identity.keys_fingerprint
        )
    )
