"""Decisions waiting on disk to be forwarded: the daemon's log.

To the hot path it is a store: blocks go in, and are durable when the future is done.  A decision
keeps its number permanently, and is deleted once the service has it and the saved state includes
its effects.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid4

import attrs
import msgspec
import orjson
from pysqlite3 import dbapi2

from tidegate_server.daemon import private
from tidegate_server.logging import log
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.decision_log.lines import MAX_ROW_ENTRIES, LogBlock, effects_in
from tidegate_server.stores.group_commit import Append, GroupCommit, Work

if TYPE_CHECKING:
    from tidegate_server.stores.port import StoreStatistics

T = TypeVar("T")

NAME = "spool.db"
KEPT_NS = 24 * 3600 * 1_000_000_000
"""How long an idempotency key gets its first answer again."""
CHECKED_BYTES = 64 * 1024 * 1024
"""Up to this size the whole file is checked when it is opened."""
_ID, _LAST, _DROPPED, _ACKNOWLEDGED, _SAVED = "id", "last", "dropped", "acknowledged", "saved"
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS rows (first INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    lines BLOB NOT NULL, entries BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS keys (key BLOB PRIMARY KEY, fingerprint BLOB NOT NULL,
    answer BLOB NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (sequence INTEGER PRIMARY KEY, chain TEXT NOT NULL,
    after INTEGER NOT NULL, revision INTEGER NOT NULL, effects BLOB NOT NULL);
"""


def _form(connection: dbapi2.Connection) -> list[tuple[str, str]]:
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
    found: list[tuple[str, str]] = connection.execute(query).fetchall()
    return found


def _made_form() -> list[tuple[str, str]]:
    with closing(dbapi2.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        return _form(connection)


_FORM = _made_form()


@attrs.frozen
class Row:
    """Consecutive decisions."""

    first: int
    lines: Sequence[bytes]
    entries: Sequence[Any]
    """The index entry of each decision."""


@attrs.frozen
class Change:
    """Mitigations received from the service."""

    sequence: int
    chain: str
    """The hash after them."""
    after: int
    """The last decision made before they arrived."""
    revision: int
    """The definitions' revision at that time."""
    effects: bytes


@attrs.frozen
class _Statistics:
    committed_seq: int


class Spool:
    """The spool in a file; its methods may be called from any thread.

    Args:
        directory: the file's directory.
        most_bytes: most bytes the file may take; beyond that, decisions are rejected.

    Raises:
        StoreUnavailableError: the file cannot be opened or written.
    """

    def __init__(self, directory: Path, most_bytes: int) -> None:
        self.path = directory / NAME
        self._most_bytes = most_bytes
        self.damaged: Path | None = None
        """The new path of a spool that could not be read."""
        self.spool_id = UUID(int=0)
        self.dropped = self.acknowledged = self._last = 0
        self._connection = self._opened()
        self._take_up()
        self._queue = GroupCommit(self._commit, self._finish, time.monotonic)

    # Called by the recorder, as on a store

    def append(self, blocks: Sequence[LogBlock]) -> Future[None]:
        """Append decisions; durable when the future is done.

        Raises:
            StoreUnavailableError: nothing can be written.
        """
        return self._queue.append(blocks)

    def recover(self) -> None:
        """Try writing again.

        Raises:
            StoreUnavailableError: writing still fails.
        """
        self._queue.command(self._reopen).result()

    @property
    def is_accepting(self) -> bool:
        """Whether the spool accepts blocks."""
        return self._queue.is_accepting

    def statistics(self) -> StoreStatistics:
        """The number of the last decision."""
        return _Statistics(self._last)  # type: ignore[return-value]

    # Called by the daemon

    @property
    def last(self) -> int:
        """The number of the last decision."""
        return self._last

    @property
    def waiting(self) -> int:
        """Decisions that the service does not have yet."""
        return max(0, self._last - self.acknowledged)

    def read(self, after: int, most: int) -> Row | None:
        """The next decisions after a number, up to a limit; None if there aren't any."""

        def work() -> Row | None:
            found = self._read(after, most)
            while found is not None and len(found.lines) < most:
                end = found.first + len(found.lines)
                more = self._read(end - 1, most - len(found.lines))
                if more is None or more.first != end:
                    break
                lines = [*found.lines, *more.lines]
                found = Row(found.first, lines, [*found.entries, *more.entries])
            return found

        return self._ask(work)

    def effects(self, after: int) -> list[tuple[int, bytes]]:
        """The number and the effects of each decision after a number."""
        return self._ask(lambda: list(self._effects(after)))

    def changes(self) -> list[Change]:
        """Changes received from the service since the state was saved."""

        def work() -> list[Change]:
            rows = self._connection.execute("SELECT * FROM changes ORDER BY sequence")
            return [Change(*row) for row in rows]

        return self._ask(work)

    def add_change(self, change: Change) -> None:
        """Store a change from the service.

        Raises:
            StoreUnavailableError: it cannot be written.
        """
        values = attrs.astuple(change)
        write = "INSERT OR REPLACE INTO changes VALUES (?,?,?,?,?)"
        self._ask(lambda: self._connection.execute(write, values))

    def answer(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Fingerprint and answer for an idempotency key."""

        def work() -> tuple[bytes, bytes] | None:
            query = "SELECT fingerprint, answer FROM keys WHERE key = ?"
            found: tuple[bytes, bytes] | None = self._connection.execute(query, (key,)).fetchone()
            return found

        return self._ask(work)

    def keys(self) -> list[tuple[bytes, int]]:
        """Every known idempotency key, and the time of its use."""

        def work() -> list[tuple[bytes, int]]:
            found: list[tuple[bytes, int]] = self._connection.execute(
                "SELECT key, at FROM keys"
            ).fetchall()
            return found

        return self._ask(work)

    def acknowledge(self, number: int) -> None:
        """Record that the service has everything up to a number."""
        self._ask(lambda: self._forget(number, None))
        self.acknowledged = max(self.acknowledged, number)

    def saved(self, number: int, sequence: int) -> None:
        """Record that the saved state has decisions up to a number, and changes up to another."""
        self._ask(lambda: self._forget(None, number, sequence))

    def drop(self, count: int) -> Future[None]:
        """Record how many decisions could not be kept."""

        def work() -> None:
            self._set(_DROPPED, self.dropped + count)
            self.dropped += count

        return self._queue.command(work)

    def close(self) -> None:
        """Write accepted blocks and close."""
        self._queue.close()

    # The functions below run on the writing thread, or before it starts.

    def _ask(self, work: Callable[[], T]) -> T:
        asked: list[T] = []

        def run() -> None:
            try:
                asked.append(work())
            except dbapi2.Error as error:
                with suppress(dbapi2.Error):
                    self._connection.rollback()
                raise StoreUnavailableError(f"the spool: {error}") from error

        self._queue.command(run).result()
        return asked[0]

    def _opened(self) -> dbapi2.Connection:
        try:
            return self._open()
        except dbapi2.OperationalError as error:
            raise StoreUnavailableError(f"the spool cannot be opened: {error}") from error
        except (dbapi2.DatabaseError, ValueError) as error:
            log.error("the spool is damaged; a new one is begun", reason=str(error))
            self.damaged = self._put_aside()
            try:
                return self._open()
            except dbapi2.Error as again:
                raise StoreUnavailableError(f"the spool cannot be made: {again}") from again

    def _open(self) -> dbapi2.Connection:
        with open(self.path, "ab", opener=private.opener):
            pass  # SQLite gives the files next to it the same mode.
        connection = dbapi2.connect(str(self.path), check_same_thread=False, isolation_level=None)
        # A damaged row is found by its checksum, so reading it must not fail before.
        connection.text_factory = _text
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            pages = max(16, self._most_bytes // 4096)
            connection.execute(f"PRAGMA max_page_count={pages}")
            connection.execute("PRAGMA journal_size_limit=4194304")
            connection.executescript(_TABLES)
            if _form(connection) != _FORM:
                raise ValueError("its tables are not those of a spool")
            if self.path.stat().st_size < CHECKED_BYTES:
                problems = connection.execute("PRAGMA quick_check(1)").fetchone()
                if problems[0] != "ok":
                    raise dbapi2.DatabaseError(str(problems[0]))
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: dbapi2.Connection) -> None:
        """Initialise a new spool, and reject a damaged one."""
        values = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        if not values:
            starts = {_ID: str(uuid4()), _LAST: 0, _DROPPED: 0, _ACKNOWLEDGED: 0, _SAVED: 0}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", starts.items())
            return
        UUID(str(values[_ID]))
        for name in (_LAST, _DROPPED, _ACKNOWLEDGED, _SAVED):
            if not isinstance(values.get(name), int):
                raise ValueError(f"`{name}` is no number")

    def _put_aside(self) -> Path:
        aside = self.path.with_name(f"{NAME}.damaged-{time.time_ns()}")
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self.path}{ending}").replace(f"{aside}{ending}")
        return aside

    def _take_up(self) -> None:
        """Continue with the open spool, which may be a new one."""
        self.spool_id = UUID(str(self._meta(_ID)))
        self._last = int(self._meta(_LAST))
        self.dropped = int(self._meta(_DROPPED))
        self.acknowledged = int(self._meta(_ACKNOWLEDGED))

    def _meta(self, name: str) -> Any:
        query = "SELECT value FROM meta WHERE name = ?"
        return self._connection.execute(query, (name,)).fetchone()[0]

    def _set(self, name: str, value: int) -> None:
        self._connection.execute("UPDATE meta SET value = ? WHERE name = ?", (value, name))

    def _commit(self, group: list[Work]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            last = self._last
            for work in group:
                if isinstance(work, Append):
                    for block in work.blocks:
                        last = self._add(block, last)
            self._set(_LAST, last)
            self._connection.execute("COMMIT")
            self._last = last
        except dbapi2.Error as error:
            with suppress(dbapi2.Error):
                self._connection.execute("ROLLBACK")
            raise StoreUnavailableError(f"the spool cannot be written: {error}") from error

    def _add(self, block: LogBlock, last: int) -> int:
        lines, entries = zlib.compress(block.lines, 1), zlib.compress(block.index, 1)
        row = (last + 1, block.count, lines, entries, _checksum(last + 1, lines, entries))
        self._connection.execute("INSERT INTO rows VALUES (?,?,?,?,?)", row)
        for line in block.lines.split(b"\n"):
            if b'"idempotency":null' not in line:
                # The event is not parsed: it may have numbers that Python's can't represent.
                read = _USED.decode(line)
                key, fingerprint = map(bytes.fromhex, read.idempotency)
                used = (key, fingerprint, bytes(read.answer), read.received_at)
                self._connection.execute("INSERT OR REPLACE INTO keys VALUES (?,?,?,?)", used)
        return last + block.count

    def _read(self, after: int, most: int) -> Row | None:
        query = (
            "SELECT first, count, lines, entries, checksum FROM rows WHERE first + count > ?"
            " ORDER BY first LIMIT 1"
        )
        found = self._connection.execute(query, (after + 1,)).fetchone()
        if found is None:
            return None
        try:
            row = _unpacked(*found)
        except ValueError as error:
            log.error("decisions in the spool are damaged", first=found[0], reason=str(error))
            self._connection.execute("DELETE FROM rows WHERE first = ?", (found[0],))
            self.dropped += _entries(found[1])
            self._set(_DROPPED, self.dropped)
            return self._read(after, most)
        begin = max(0, after + 1 - row.first)
        part = slice(begin, begin + most)
        return Row(row.first + begin, row.lines[part], row.entries[part])

    def _effects(self, after: int) -> Iterator[tuple[int, bytes]]:
        while (row := self._read(after, 1 << 30)) is not None:
            for number, line in enumerate(row.lines, row.first):
                yield number, effects_in(line)
            after = row.first + len(row.lines) - 1

    def _forget(self, acknowledged: int | None, saved: int | None, sequence: int = -1) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for name, value in ((_ACKNOWLEDGED, acknowledged), (_SAVED, saved)):
            if value is not None:
                self._set(name, max(value, int(self._meta(name))))
        gone = min(int(self._meta(_ACKNOWLEDGED)), int(self._meta(_SAVED)))
        self._connection.execute("DELETE FROM rows WHERE first + count - 1 <= ?", (gone,))
        self._connection.execute("DELETE FROM changes WHERE sequence <= ?", (sequence,))
        self._connection.execute("DELETE FROM keys WHERE at < ?", (time.time_ns() - KEPT_NS,))
        self._connection.execute("COMMIT")

    def _reopen(self) -> None:
        with suppress(dbapi2.Error):
            self._connection.close()
        self._connection = self._opened()
        try:
            self._take_up()
            self._connection.execute("BEGIN IMMEDIATE")
            self._set(_LAST, self._last)
            self._connection.execute("COMMIT")
        except dbapi2.Error as error:
            raise StoreUnavailableError(f"the spool cannot be written: {error}") from error
        self._queue.accept()

    def _finish(self) -> None:
        with suppress(dbapi2.Error):
            self._connection.close()


class _Used(msgspec.Struct):
    """The members of a line that answer a repeated call."""

    idempotency: tuple[str, str]
    answer: msgspec.Raw
    received_at: int


_USED = msgspec.json.Decoder(_Used)


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _entries(count: object) -> int:
    """How many decisions a damaged row had, as far as that is known."""
    is_sound = isinstance(count, int) and 0 < count <= MAX_ROW_ENTRIES
    return count if is_sound else 1  # type: ignore[return-value]


def _checksum(first: int, lines: bytes, entries: bytes) -> int:
    return zlib.crc32(entries, zlib.crc32(lines, first & 0xFFFFFFFF))


def _unpacked(first: int, count: int, lines: bytes, entries: bytes, checksum: int) -> Row:
    """The decisions in a row.

    Raises:
        ValueError: it fails its checksum.
    """
    try:
        if _checksum(first, lines, entries) != checksum:
            raise ValueError("it fails its checksum")
        read = zlib.decompress(lines).split(b"\n")
        index = orjson.loads(b"[%b]" % zlib.decompress(entries))
    except (TypeError, zlib.error, orjson.JSONDecodeError) as error:
        raise ValueError(f"row {first} of the spool cannot be read: {error}") from None
    if len(read) != count or len(index) != count:
        raise ValueError(f"row {first} of the spool has other decisions than it says")
    return Row(first, read, index)
