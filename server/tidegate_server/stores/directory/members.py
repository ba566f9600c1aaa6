"""The members of a cluster in PostgreSQL: their sessions, and the locks that these hold.

A member's session holds a lock on the member's name, a lock on each partition that it owns, and a
shared lock on each partition whose states it has.  The database releases them when the session
ends, whatever the reason.  The rows say the rest: addresses, beats, and what an operator asked for.
Members are notified of changes.  Safety does not depend on any of this, but on the log's epochs.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import attrs
import psycopg
from psycopg.errors import InsufficientPrivilege

from tidegate_server.cluster.ownership import Member, Partition, View
from tidegate_server.stores.base import HeldError, StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.directory.claims import MEMBERS, Claim, log_session_name, session_name
from tidegate_server.stores.rows.errors import reason
from tidegate_server.stores.rows.postgresql import (
    LEVEL_LOCKS,
    LOCKS,
    PARTITION_LOCKS,
    connect,
    owner_lock,
    shown,
    unreachable,
)

_CHANNEL = "tidegate_cluster"
_NOTIFY = f"NOTIFY {_CHANNEL}"
_RETRY_SECONDS = 0.2
_SESSION = {
    "tcp_user_timeout": "3000",
    # Nothing here has to outlive the database's memory, and no beat may wait for a standby.
    "options": "-c lock_timeout=2000 -c statement_timeout=5000 -c synchronous_commit=off",
}
_READ_LOCKS = """
SELECT classid::bigint, objid::bigint, pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint = ANY(%s)
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_CLASSES = [LOCKS, MEMBERS, PARTITION_LOCKS, LEVEL_LOCKS]
_READ_PARTITIONS = (
    "SELECT partition_id, coalesce(cluster.term, 0), epoch, moved_to FROM partitions"
    " LEFT JOIN cluster_partitions AS cluster USING (partition_id) ORDER BY partition_id"
)
_READ_MEMBERS = (
    "SELECT hashtext(name)::bigint & 4294967295, name, address, run, beat, is_draining"
    " FROM cluster_members"
)
_JOIN = """
INSERT INTO cluster_members (name, address, run, beat, is_draining) VALUES (%s, %s, 1, 0, %s)
ON CONFLICT (name) DO UPDATE SET address = excluded.address, run = cluster_members.run + 1,
is_draining = excluded.is_draining
"""
_BEAT = "UPDATE cluster_members SET beat = beat + 1 WHERE name = %s"
_DRAIN = "UPDATE cluster_members SET is_draining = true WHERE name = %s"
# Claims change the rows of `partitions`, which a stalled owner may have locked.
_BEGIN_TERM = """
INSERT INTO cluster_partitions AS known (partition_id, term)
SELECT partition_id, term + 1 FROM partitions WHERE partition_id = %s
ON CONFLICT (partition_id) DO UPDATE SET term = greatest(known.term + 1, excluded.term),
moved_to = CASE WHEN known.moved_to = %s THEN known.moved_to END RETURNING term
"""
_MOVE = """
INSERT INTO cluster_partitions AS known (partition_id, term, moved_to) VALUES (%s, 0, %s)
ON CONFLICT (partition_id) DO UPDATE SET moved_to = excluded.moved_to
"""
_END = """
WITH silent AS (
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND pid = %s AND classid::bigint = %s AND objid::bigint = hashtext(%s)::bigint & 4294967295
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT pg_terminate_backend(session.pid, 200) FROM silent, pg_stat_activity AS session
WHERE session.datname = current_database()
AND (session.pid = silent.pid OR session.application_name = %s)
"""
"""It waits up to 0.2 s for each session's end, so that locks are free when it returns.

A process that stalls within a commit also keeps the rows that the next owner has to change.
"""


class ClusterReader:
    """A session that reads the members and partitions; one thread at a time uses it.

    Args:
        url: the database's URL; the tables must have this version.

    Raises:
        StoreUnavailableError: the database cannot be reached.
    """

    def __init__(self, url: str, name: str | None = None) -> None:
        self._url = url
        try:
            self._connection = connect(url, application_name=session_name(name), **_SESSION)
        except psycopg.Error as error:
            raise unreachable(url, error) from error

    def read(self) -> View:
        """The members and partitions.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with self._translated():
            locks: defaultdict[int, defaultdict[int, list[int]]]
            locks = defaultdict(lambda: defaultdict(list))
            for kind, number, pid in self._connection.execute(_READ_LOCKS, [_CLASSES]):
                locks[kind][number].append(pid)
            partitions = self._connection.execute(_READ_PARTITIONS).fetchall()
            members = {
                name: Member(
                    name, address, run, beat, is_draining, next(iter(locks[MEMBERS][lock]), None)
                )
                for lock, name, address, run, beat, is_draining in (
                    self._connection.execute(_READ_MEMBERS)
                )
            }
        names = {each.session: each.name for each in members.values() if each.session is not None}

        def holders(kind: int, number: int) -> list[str]:
            return [names[pid] for pid in locks[kind][number] if pid in names]

        return View(
            members,
            {
                number: Partition(
                    number,
                    next(iter(holders(*owner_lock(number))), None),
                    frozenset(holders(LEVEL_LOCKS, number)),
                    term,
                    epoch,
                    preferred,
                )
                for number, term, epoch, preferred in partitions
            },
        )

    def drain(self, name: str) -> None:
        """Have a member hand everything over and stop.

        Raises:
            StoreUnavailableError: the session ended.
        """
        self._change(_DRAIN, name)

    def move(self, partition: int, name: str) -> None:
        """Have a partition move to a member, and stay there until another member takes it.

        Raises:
            StoreUnavailableError: the session ended.
        """
        self._change(_MOVE, partition, name)

    def listen(self) -> None:
        """Subscribe :meth:`wait` to changes.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with self._translated():
            self._connection.execute(f"LISTEN {_CHANNEL}")

    def wait(self, seconds: float) -> bool:
        """Wait for a change; return whether there was one.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with self._translated():
            return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))

    def close(self) -> None:
        """End the session."""
        with suppress(psycopg.Error):
            self._connection.close()

    def _change(self, statement: str, *values: object) -> None:
        with self._translated():
            self._connection.execute(statement, values)
            self._connection.execute(_NOTIFY)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise StoreUnavailableError(f"{shown(self._url)}: {reason(error)}") from error


class Members:
    """The members of a cluster over a database: a process joins them, and listens for changes.

    Args:
        url: the database's URL; the tables must have this version.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def join(self, name: str, address: str, *, is_draining: bool) -> MemberSession:
        """Begin a session; parameters and errors are those of :class:`MemberSession`."""
        return MemberSession(self._url, name, address, is_draining=is_draining)

    def listen(self, changed: Callable[[], object]) -> Callable[[], None]:
        """Listen for changes on a thread of its own; some may be missed.

        Args:
            changed: called on that thread after a change.

        Returns:
            A function that ends the listening.
        """
        is_stopped = threading.Event()
        listening = threading.Thread(target=self._listen, args=(changed, is_stopped), daemon=True)
        listening.start()
        return is_stopped.set

    def _listen(self, changed: Callable[[], object], is_stopped: threading.Event) -> None:
        while not is_stopped.is_set():
            try:
                reader = ClusterReader(self._url)
            except StoreUnavailableError:
                is_stopped.wait(_RETRY_SECONDS)
                continue
            # The event loop of the listener may have ended.
            with suppress(StoreUnavailableError, RuntimeError):
                reader.listen()
                while not is_stopped.is_set():
                    if reader.wait(1.0):
                        changed()
            reader.close()


@attrs.define(eq=False)
class SharedClaim(Claim):
    """The lock of a partition, held by a member's session with others; see :class:`Claim`.

    Attributes:
        term: of this ownership.
    """

    term: int = attrs.field(default=0, kw_only=True)
    _is_released: bool = attrs.field(default=False, init=False)

    def release(self) -> None:
        """Release the lock; calling it again does nothing."""
        if self._is_released:
            return
        self._is_released = True
        with suppress(psycopg.Error):
            unlock = "SELECT pg_advisory_unlock(%s, %s)"
            self._connection.execute(unlock, owner_lock(self.partition))
            self._connection.execute(_NOTIFY)


class MemberSession(ClusterReader):
    """The session of a member.

    Args:
        url: as for :class:`ClusterReader`.
        name: the member's name.
        address: its address for the others.
        is_draining: whether it is about to stop.

    Raises:
        HeldError: a session of that name is alive.
        StoreUnavailableError: the database cannot be reached.
    """

    def __init__(self, url: str, name: str, address: str, *, is_draining: bool = False) -> None:
        super().__init__(url, name)
        self._name = name
        self._level: set[int] = set()
        try:
            with self._translated():
                taken = self._connection.execute(
                    "SELECT pg_try_advisory_lock(%s, hashtext(%s))", (MEMBERS, name)
                ).fetchone()
            if taken != (True,):
                raise HeldError(
                    f"a node named `{name}` is connected to {shown(url)}; give each node a name of"
                    " its own with `node.name`"
                )
            self._change(_JOIN, name, address, is_draining)
        except BaseException:
            self.close()
            raise

    @property
    def number(self) -> int:
        """Identifies the session among those that are alive."""
        return self._connection.info.backend_pid

    def beat(self, level: Collection[int]) -> View:
        """Show that the member lives and which partitions' states it has; return what it sees.

        Raises:
            StoreUnavailableError: the session ended, or the member's row is gone.
        """
        with self._translated():
            for number in self._level.symmetric_difference(level):
                kind = "unlock" if number in self._level else "lock"
                locks = f"SELECT pg_advisory_{kind}_shared(%s, %s)"
                self._connection.execute(locks, (LEVEL_LOCKS, number))
                self._connection.execute(_NOTIFY)
            self._level = set(level)
            if not self._connection.execute(_BEAT, [self._name]).rowcount:
                raise StoreUnavailableError(f"the row of the node `{self._name}` is gone")
        return self.read()

    def confirm(self) -> None:
        """Return if the session is alive, and so holds its locks.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with self._translated():
            self._connection.execute("SELECT 1")

    def take(self, partition: int) -> SharedClaim | None:
        """Take a partition; return None if another session holds it.

        Raises:
            StoreUnavailableError: the session ended, or a lock took too long; end the session.
        """
        with self._translated():
            lock = "SELECT pg_try_advisory_lock(%s, %s)"
            if self._connection.execute(lock, owner_lock(partition)).fetchone() != (True,):
                return None
            row: Any = self._connection.execute(_BEGIN_TERM, (partition, self._name)).fetchone()
            self._connection.execute(_NOTIFY)
        return SharedClaim(self._url, self._connection, partition, term=row[0])

    def end(self, member: Member) -> None:
        """End the sessions of a silent member, which releases its locks.

        Raises:
            StoreUnavailableError: this session ended.
            UnsafeDatabaseError: this session's role may not end it.
        """
        sessions = (member.session, MEMBERS, member.name, log_session_name(member.name))
        with self._translated():
            try:
                self._connection.execute(_END, sessions)
            except InsufficientPrivilege as error:
                raise UnsafeDatabaseError(
                    f"PostgreSQL doesn't let this node end the session of `{member.name}`, which"
                    f" has stalled ({reason(error)}); use the same role in `store.url` of every"
                    " node"
                ) from error
            self._connection.execute(_NOTIFY)
