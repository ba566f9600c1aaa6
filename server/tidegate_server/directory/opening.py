"""Open a data directory: file, database and keys must belong together, or it is refused.

Only an empty directory gets new parts. If a part is missing next to others it was lost, and isn't
replaced: new keys would invalidate every token and API key, and a new database would lose
everything else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import attrs
from sqlalchemy import exists, select

from tidegate.errors import TidegateError
from tidegate_server.directory.database import database_of
from tidegate_server.operators.keys import (
    Keys,
    add_keys,
    earlier_fingerprint,
    fingerprint,
    is_marked,
    load_keys,
    mark_keys,
)
from tidegate_server.stores import migrations
from tidegate_server.stores.base import HeldError, StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.directory import identity
from tidegate_server.stores.directory.identity import DirectoryFile, StoredIdentity
from tidegate_server.stores.rows import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tidegate_server.directory.database import Database
    from tidegate_server.stores.directory.claims import Claim
    from tidegate_server.stores.directory.lock import Holder, Lock

log = logging.getLogger("tidegate")
"""Uses the standard library's logging.

Commands without their own log write to standard error.
"""

KEYS = "keys"


class StrayPartError(TidegateError):
    """Parts of a data directory are missing, or don't belong together."""

    code = "stray-part"


class _UnsettledError(Exception):
    """Something must be written before the directory can be used."""


def own_directory(
    directory: Path, waits: Callable[[Holder], None] | None = None, url: str = ""
) -> Lock | Claim:
    """Become the owner of a directory's database, before reading any of it.

    Args:
        directory: created if it is missing.
        waits: as for :func:`~tidegate_server.stores.directory.lock.claim`.
        url: of the database; see :func:`~tidegate_server.directory.database.database_of`.

    Raises:
        HeldError: another process is.
        StoreUnavailableError: the directory can't be created or written, or the database can't be
            reached.
    """
    _make(directory)
    return database_of(directory, url).own(waits)


def open_directory(
    directory: Path, lock: Lock | Claim | None = None, url: str = "", *, is_read_only: bool = False
) -> Keys:
    """Return a directory's keys if its parts belong together; create all parts of an empty one.

    Args:
        directory: created if it is missing.
        lock: the owner's; without it the directory is claimed for writes.
        url: as for :func:`own_directory`.
        is_read_only: write nothing; refuse if a write is needed.

    Raises:
        HeldError: a write is needed, and another process owns the directory.
        KeyFileError: a key file can't be trusted.
        SchemaError: the database is of another version.
        StoreUnavailableError: something can't be read or written.
        StrayPartError: a part is missing or of another directory.
    """
    if not is_read_only:
        _make(directory)
    database = database_of(directory, url)
    try:
        return _Parts(directory, database).checked()
    except _UnsettledError:
        if is_read_only:
            raise StrayPartError(
                f"a part of `{directory}` is missing; `tidegate migrate` mends it"
            ) from None
        with _held(database, lock):
            return _Parts(directory, database, is_owner=True).checked()


def migrate_directory(directory: Path, url: str = "", *, accepts_keys: bool = False) -> None:
    """Bring a directory to this version, or create one.

    Processes that use the database continue meanwhile, if the tables they know stay unchanged.

    Args:
        directory: created if it is missing.
        url: as for :func:`own_directory`.
        accepts_keys: accept the present keys, or new ones, as the directory's.

    Raises:
        HeldError: a step requires that no other process runs.
        others: as :func:`open_directory`.
    """
    _make(directory)
    database = database_of(directory, url)
    if _is_whole(directory, database):
        return
    is_older = database.absence() is None and _is_older(database)
    if is_older and _is_additive(database):
        migrate(database.url)
        is_older = False
        if _is_whole(directory, database):
            return
    with _held_alone(database) if is_older else _held(database, None):
        parts = _Parts(directory, database, is_owner=True)
        if database.absence() is None:
            migrate(database.url)
        if accepts_keys:
            parts.accept_keys()
        parts.add_keys()
        parts.checked()


def _is_whole(directory: Path, database: Database) -> bool:
    """Tell whether there is nothing to do."""
    with suppress(_UnsettledError, TidegateError):
        _Parts(directory, database).checked()
        return True
    return False


def _is_older(database: Database) -> bool:
    """Tell whether there are migrations to run."""
    with database.connection() as connection:
        found = migrations.current(connection)
    return found is not None and found < migrations.HEAD


def _is_additive(database: Database) -> bool:
    with database.connection() as connection:
        return migrations.is_additive(connection)


def _make(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailableError(f"`{directory}` cannot be made: {error.strerror}") from None


@contextmanager
def _held(database: Database, lock: Lock | Claim | None) -> Iterator[None]:
    if lock is not None:
        yield
        return
    made = database.own()
    try:
        yield
    finally:
        made.release()


@contextmanager
def _held_alone(database: Database) -> Iterator[None]:
    """Own a database that no other process uses, to change its tables."""
    try:
        if nodes := database.nodes():
            raise HeldError(f"connected are the nodes {', '.join(nodes)}")
        made = database.own()
    except HeldError as error:
        raise HeldError(
            "what is to change in the tables is used by the version that runs: stop every node and"
            f" process, run `tidegate migrate` again, then start the new version; {error}"
        ) from None
    try:
        yield
    finally:
        made.release()


@attrs.frozen
class _Parts:
    """The parts of a directory.

    Args:
        directory: the directory, which exists.
        database: the directory's database.
        is_owner: whether writes are allowed.
    """

    directory: Path
    database: Database
    is_owner: bool = False

    @property
    def keys(self) -> Path:
        return self.directory / KEYS

    def checked(self) -> Keys:
        """Return the keys, after checking that all parts belong together."""
        file = identity.read_file(self.directory)
        left = self._left()
        absence = self.database.absence()
        if file is None and not left and absence is not None:
            self._need_owner()
            file = DirectoryFile(uuid4(), is_new=True)
            identity.write_file(self.directory, file)
        if file is not None and file.is_new:
            return self._made(file)
        if absence is not None:
            raise StrayPartError(
                f"`{self.database.name}` {absence}, and {' and '.join(left)} in its directory"
                " belong to one that was there: restore the database from a backup, or start in an"
                " empty directory"
            )
        return self._agreed(file)

    def accept_keys(self) -> None:
        """Accept the present keys, or new ones, as the directory's."""
        (self.keys / "identity").unlink(missing_ok=True)
        self.add_keys()
        load_keys(self.keys)
        with self.database.connection(writes=True) as connection, connection.begin():
            found = identity.stored(connection)
            identity.store(connection, StoredIdentity(found.identity, None))

    def add_keys(self) -> None:
        """Create the keys that the directory's last version didn't have."""
        if self.keys.exists():
            add_keys(self.keys)

    def _left(self) -> list[str]:
        """Return the parts found next to a database."""
        names = {
            identity.FILE: self.directory / identity.FILE,
            "the keys": self.keys,
            **self.database.left(),
        }
        return [name for name, path in names.items() if path.exists()]

    def _need_owner(self) -> None:
        if not self.is_owner:
            raise _UnsettledError

    def _made(self, file: DirectoryFile) -> Keys:
        """Create the missing parts of a directory that is being created."""
        self._need_owner()
        keys = load_keys(self.keys)
        migrate(self.database.url)
        self._bind(keys, StoredIdentity(file.identity, fingerprint(keys)))
        identity.write_file(self.directory, attrs.evolve(file, is_new=False))
        return keys

    def _bind(self, keys: Keys, to: StoredIdentity) -> None:
        with self.database.connection(writes=True) as connection, connection.begin():
            identity.store(connection, to)
            self.database.note_end(connection)
        mark_keys(self.keys, to.identity, keys)

    def _agreed(self, file: DirectoryFile | None) -> Keys:
        """Return the keys of a directory with a database, once they and its file agree with it."""
        with self.database.connection() as connection:
            migrations.check(connection)
            stored = identity.stored(connection)
            is_unused = _is_unused(connection)
        if not self.keys.exists() and not is_unused:
            raise StrayPartError(
                f"`{self.keys}` is missing, and `{self.database.name}` was used with the keys in"
                " it: restore them from a backup, or start in an empty directory; tokens and API"
                " keys are lost for good with `tidegate migrate --accept-keys`, which makes new"
                " ones"
            )
        if file is not None and file.identity != stored.identity:
            raise StrayPartError(
                f"`{self.database.name}` is of directory {stored.identity}, and"
                f" `{self.directory}` is {file.identity}: put its own database back, or restore"
                " database and keys into an empty directory"
            )
        if not self.keys.exists():
            self._need_owner()
        keys = load_keys(self.keys)
        if stored.keys_fingerprint is None:
            self._need_owner()
            log.warning("%s: the keys are taken for those of the database", self.directory)
            self._bind(keys, StoredIdentity(stored.identity, fingerprint(keys)))
        elif stored.keys_fingerprint == earlier_fingerprint(keys):
            self._need_owner()
            log.warning("%s: keys that this version needs were added", self.directory)
            self._bind(keys, StoredIdentity(stored.identity, fingerprint(keys)))
        elif stored.keys_fingerprint != fingerprint(keys):
            raise StrayPartError(
                f"the keys in `{self.keys}` are not those that `{self.database.name}` was used"
                " with: restore the ones of this directory, or take these with `tidegate migrate"
                " --accept-keys`; tokens and API keys made before then stop working"
            )
        elif not is_marked(self.keys):
            self._need_owner()
            log.warning("%s: the identity of the keys was missing and is written", self.directory)
            mark_keys(self.keys, stored.identity, keys)
        if file is None:
            self._need_owner()
            log.warning("%s: the identity file was missing and is written", self.directory)
            identity.write_file(self.directory, DirectoryFile(stored.identity, is_new=False))
        return keys


def _is_unused(connection: Connection) -> bool:
    """Tell whether a database contains nothing that needed keys."""
    parts = (tables.operators, tables.tenants, tables.api_keys, tables.decision_log)
    found = connection.execute(select(*(exists(select(each)) for each in parts))).one()
    return not any(found)
