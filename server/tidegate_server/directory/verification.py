"""Check a data directory against all recorded facts about it: checksums, numbers, identity.

It only reads, in short transactions, so it may run next to a server; later appends are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
from sqlalchemy import select, text

from tidegate.errors import TidegateError
from tidegate_server.directory.database import DATABASE, Absence, database_of
from tidegate_server.directory.opening import open_directory
from tidegate_server.stores import migrations
from tidegate_server.stores.base import DamagedLogError, StoreError
from tidegate_server.stores.damage.checks import check_rows
from tidegate_server.stores.databases import looking_engine, reading_engine
from tidegate_server.stores.decision_log import gaps, log, snapshots
from tidegate_server.stores.decision_log.gaps import LogGap
from tidegate_server.stores.directory import identity
from tidegate_server.stores.directory.mark import mark_path, read_mark
from tidegate_server.stores.directory.partitions import identity_of, is_made, partitions_of
from tidegate_server.stores.index import derived
from tidegate_server.stores.objects import definition_sets, tenants
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.connections import derived_path, partition_path
from tidegate_server.stores.rows.counters import CHANGES, LOG_ID, counter
from tidegate_server.stores.rows.errors import translated

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from tidegate_server.directory.database import Database

CHUNK = 50_000
"""Log entries that one reading transaction covers."""


@attrs.frozen
class VerifyFinding:
    """Lost or damaged data.

    Attributes:
        part: the file, or the table.
        what: the fault.
        first_seq: number of the first affected log entry.
        tenant_id: the tenant of the entries, as text, if known.
    """

    part: str
    what: str
    first_seq: int | None = None
    last_seq: int | None = None
    tenant_id: str | None = None

    def __str__(self) -> str:
        place = "" if self.first_seq is None else f" entries {self.first_seq} to {self.last_seq}"
        whose = "" if self.tenant_id is None else f" of tenant {self.tenant_id}"
        return f"{self.part}:{place}{whose} {self.what}"


@attrs.define
class Verification:
    """One check of a directory.

    Args:
        directory: the data directory.
        progress: called now and then with the part being checked.
        url: of its PostgreSQL database; empty for the file in the directory.

    Attributes:
        decisions: the number of log entries checked.
        known: gaps that were reported before, as text; they aren't findings.
    """

    directory: Path
    progress: Callable[[str], None] = lambda _: None
    url: str = attrs.field(default="", repr=False)
    decisions: int = 0
    known: list[str] = attrs.field(factory=list)
    _path: Path = attrs.field(init=False)
    """The file with the log being checked."""
    _before: int = attrs.field(default=0, init=False)
    """Entries of partitions that were already checked."""

    @_path.default
    def _database(self) -> Path:
        return self.directory / DATABASE

    def findings(self) -> Iterator[VerifyFinding]:
        """Yield every fault as it is found."""
        database = database_of(self.directory, self.url)
        try:
            open_directory(self.directory, url=self.url, is_read_only=True)
        except TidegateError as error:
            yield VerifyFinding(str(self.directory), str(error))
        try:
            if database.absence() is Absence.MISSING:
                return
            with database.connection() as connection:
                migrations.check(connection)
                if not self.url:
                    yield from self._pages(connection, DATABASE)
        except TidegateError as error:
            yield VerifyFinding(DATABASE if not self.url else database.name, str(error))
            return
        parts = [self._log, self._snapshots, self._sets]
        if self.url:
            parts.insert(0, self._end_elsewhere)
        else:
            if not derived_path(self.directory / DATABASE).exists():
                yield VerifyFinding(
                    derived_path(self.directory / DATABASE).name,
                    "is missing; the next start makes it again from the log",
                )
                return
            parts[:0] = [self._derived, self._end]
        yield from self._of_parts(parts, database, 0)
        if self.url:
            # The libraries are PostgreSQL's.
            from tidegate_server.stores.directory import schemas

            with database.connection() as connection:
                further = schemas.partitions_of(connection)[1:]
            for number in further:
                self._before = self.decisions
                parts = [self._end_elsewhere, self._log, self._snapshots]
                yield from self._of_parts(parts, database, number)
        else:
            found = partitions_of(self.directory / DATABASE)
            with database.connection() as connection:
                used = set(tenants.placements(connection).values())
            for number in sorted(used.difference(found)):
                name = partition_path(self.directory / DATABASE, number).name
                yield VerifyFinding(name, "is missing, and tenants live in it")
            for number in found[1:]:
                yield from self._partition(number, database)

    def _partition(self, number: int, database: Database) -> Iterator[VerifyFinding]:
        """Yield faults in the file of a further partition, and in data derived from it."""
        whole = self.directory / DATABASE
        self._path = partition_path(whole, number)
        self._before = self.decisions
        try:
            if not is_made(whole, number):
                yield VerifyFinding(self._path.name, "is not whole; a start makes it again")
                return
            with database.connection() as connection:
                whose = identity.stored(connection).identity.bytes
            if identity_of(whole, number) != whose:
                yield VerifyFinding(self._path.name, "is of another directory")
            looking = looking_engine(f"sqlite:///{self._path}")
            try:
                with _reading(looking) as connection:
                    yield from self._pages(connection, self._path.name)
            finally:
                looking.dispose()
        except TidegateError as error:
            yield VerifyFinding(self._path.name, str(error))
            return
        if not derived_path(self._path).exists():
            what = "is missing; the next start makes it again from the log"
            yield VerifyFinding(derived_path(self._path).name, what)
            return
        parts = [self._derived, self._end, self._log, self._snapshots]
        yield from self._of_parts(parts, database, number)

    def _of_parts(
        self,
        parts: Sequence[Callable[[Engine], Iterator[VerifyFinding]]],
        database: Database,
        number: int,
    ) -> Iterator[VerifyFinding]:
        engine = reading_engine(database.url, number)
        try:
            for part in parts:
                try:
                    yield from part(engine)
                except StoreError as error:
                    yield VerifyFinding(database.name if self.url else self._path.name, str(error))
        finally:
            engine.dispose()

    def _pages(
        self, connection: Connection, part: str, schema: str = "main"
    ) -> Iterator[VerifyFinding]:
        """Yield faults that SQLite finds in the pages of a file."""
        self.progress(f"pages of {part}")
        for (line,) in connection.execute(text(f"PRAGMA {schema}.integrity_check(20)")):
            if line != "ok":
                yield VerifyFinding(part, str(line))

    def _derived(self, engine: Engine) -> Iterator[VerifyFinding]:
        name = derived_path(self._path).name
        found = derived.inspect(self._path)
        if found is None:
            yield VerifyFinding(name, "is damaged; the next start makes it again from the log")
            return
        with _reading(engine) as connection:
            yield from self._pages(connection, name, "derived")
            if found.log_id != counter(connection, LOG_ID):
                yield VerifyFinding(name, "is of another log; the next start makes it again")

    def _end(self, engine: Engine) -> Iterator[VerifyFinding]:
        """Check that the log ends where other files say."""
        # First the values that can only grow: a server may be running.
        noted = read_mark(self._path)
        found = derived.inspect(self._path)
        with _reading(engine) as connection:
            last = log.last_seq(connection)
            log_id, changes = counter(connection, LOG_ID), counter(connection, CHANGES)
            ends = {"snapshots": snapshots.newest_seq(connection)}
        name = mark_path(self._path).name
        if noted is None:
            yield VerifyFinding(name, "is missing or damaged; the next start makes it again")
        elif noted.log_id != log_id:
            yield VerifyFinding(name, "is of another log")
        else:
            ends[name] = noted.seq
            if noted.changes > changes:
                lost = f"at least {noted.changes - changes} acknowledged changes are lost"
                yield VerifyFinding(self._path.name, lost)
        if found is not None and found.log_id == log_id:
            ends["the derived file"] = found.indexed_seq
        knows, end = max(ends.items(), key=lambda each: each[1])
        if end > last:
            what = f"are lost: {knows} knows them"
            yield VerifyFinding("decision_log", what, last + 1, end)

    def _end_elsewhere(self, engine: Engine) -> Iterator[VerifyFinding]:
        """Check that the log ends where other tables say."""
        with _reading(engine) as connection:
            last = log.last_seq(connection)
            ends = {
                "snapshots": snapshots.newest_seq(connection),
                "derived": derived.indexed_seq(connection),
            }
        knows, end = max(ends.items(), key=lambda each: each[1])
        if end > last:
            what = f"are lost: {knows} knows them"
            yield VerifyFinding("decision_log", what, last + 1, end)

    def _log(self, engine: Engine) -> Iterator[VerifyFinding]:
        with _reading(engine) as connection:
            last = log.last_seq(connection)
            known = gaps.known(connection)
        self.known += [_text_of(each) for each in known]

        def progress(seq: int) -> None:
            self.decisions = self._before + seq
            self.progress(f"decision {seq} of {last}")

        links: dict[UUID, int] = {}
        for after in range(0, last, CHUNK):
            with _reading(engine) as connection:
                until = min(after + CHUNK, last)
                found = list(check_rows(connection, after, until, links=links, progress=progress))
            for each in found:
                whose = None if each.tenant_id is None else str(each.tenant_id)
                for first, end in gaps.unknown_parts(known, each.first_seq, each.last_seq):
                    what = f"are {each.reason}"
                    yield VerifyFinding("decision_log", what, first, end, whose)

    def _snapshots(self, engine: Engine) -> Iterator[VerifyFinding]:
        self.progress("snapshots")
        with _reading(engine) as connection:
            kept = connection.execute(select(tables.snapshots.c.tenant_id, tables.snapshots.c.seq))
            wanted = {(row.tenant_id, row.seq) for row in kept}
            for tenant_id in {tenant for tenant, _ in wanted}:
                for each in snapshots.newest(connection, tenant_id):
                    wanted.discard((tenant_id, each.seq))
        for tenant_id, seq in sorted(wanted, key=str):
            what = f"the one after decision {seq} is damaged"
            yield VerifyFinding("snapshots", what, tenant_id=str(tenant_id))

    def _sets(self, engine: Engine) -> Iterator[VerifyFinding]:
        self.progress("definitions")
        with _reading(engine) as connection:
            table = tables.definition_sets
            kept = connection.execute(select(table.c.tenant_id, table.c.revision)).all()
            for tenant_id, revision in kept:
                try:
                    definition_sets.load(connection, tenant_id, revision)
                except DamagedLogError as error:
                    yield VerifyFinding("definition_sets", str(error), tenant_id=str(tenant_id))


@contextmanager
def _reading(engine: Engine) -> Iterator[Connection]:
    with translated(), engine.connect() as connection:
        yield connection


def _text_of(gap: LogGap) -> str:
    whose = "" if gap.tenant_id is None else f" of tenant {UUID(str(gap.tenant_id))}"
    return f"entries {gap.first_seq} to {gap.last_seq}{whose} are {gap.reason}, as was reported"
