"""The cluster directory's rows in PostgreSQL: its members, and where they place partitions.

A member's session holds a lock on its name, so a dead process is noticed at once.  Each change is
one transaction that computes the change from ``cluster/rows.py``, one after the other.  The
database notifies all members of every change but lease renewals; each such change is on the standby
before it counts.  Safety does not depend on these rows, but on the log's epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import attrs
import orjson
import psycopg

from tidegate.cluster.rows import Change, Join, Member, Placement, Renew, Rows, apply
from tidegate.stores.base import HeldError, StoreUnavailableError
from tidegate.stores.directory.claims import MEMBERS, session_name
from tidegate.stores.rows.errors import reason
from tidegate.stores.rows.postgresql import CLUSTER_LOCK, LOCKS, connect, shown, unreachable

_CHANNEL = "tidegate_cluster"
_SESSION = {
    "tcp_user_timeout": "3000",
    "options": "-c lock_timeout=2000 -c statement_timeout=5000",
}
_READ_MEMBERS = """
SELECT name, address, run, renewals, is_draining, loads, EXISTS (
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = %s
    AND objid::bigint = hashtext(name)::bigint & 4294967295
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
) FROM cluster_members
"""
_READ_PLACEMENTS = (
    "SELECT partition_id, owner, follower, is_moving, is_level, term, version"
    " FROM cluster_placements ORDER BY partition_id"
)
_NOT_PLACED = (
    "SELECT partition_id FROM partitions EXCEPT SELECT partition_id FROM cluster_placements"
)
_WRITE_MEMBER = """
INSERT INTO cluster_members (name, address, run, renewals, is_draining, loads)
VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (name) DO UPDATE SET address = excluded.address,
run = excluded.run, renewals = excluded.renewals, is_draining = excluded.is_draining,
loads = excluded.loads
"""
_WRITE_PLACEMENT = """
INSERT INTO cluster_placements
    (partition_id, owner, follower, is_moving, is_level, term, version)
VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (partition_id) DO UPDATE SET
owner = excluded.owner, follower = excluded.follower, is_moving = excluded.is_moving,
is_level = excluded.is_level, term = excluded.term, version = excluded.version
"""


class ClusterRows:
    """A session on the rows; one thread at a time uses it.

    Args:
        url: the database's URL; the tables must have this version.
        name: the member that this process is; None to read, and to change other members' rows.

    Raises:
        HeldError: a process with that name is connected.
        StoreUnavailableError: the database cannot be reached.
    """

    def __init__(self, url: str, name: str | None = None) -> None:
        self._url = url
        try:
            self._connection = connect(url, application_name=session_name(name), **_SESSION)
        except psycopg.Error as error:
            raise unreachable(url, error) from error
        try:
            if name is not None:
                self._hold(name)
        except BaseException:
            self.close()
            raise

    def _hold(self, name: str) -> None:
        with _translated(self._url):
            taken = self._connection.execute(
                "SELECT pg_try_advisory_lock(%s, hashtext(%s))", (MEMBERS, name)
            ).fetchone()
        if taken != (True,):
            raise HeldError(
                f"a node named `{name}` is connected to {shown(self._url)}; give each node a name"
                " of its own with `node.name`"
            )

    def read(self) -> Rows:
        """All rows, read in one transaction.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with _translated(self._url), self._transaction("REPEATABLE READ READ ONLY"):
            return self._rows()

    def change(self, change: Change) -> Rows | None:
        """Make a change; return the rows after it, or None if it is rejected.

        Raises:
            StoreUnavailableError: the session ended, or another one locks the rows for long.
        """
        with _translated(self._url), self._transaction("READ COMMITTED"):
            if isinstance(change, Renew):
                # A lease must not wait for an absent standby; everything else does.
                self._connection.execute("SET LOCAL synchronous_commit = local")
            self._connection.execute(f"SELECT pg_advisory_xact_lock({LOCKS}, {CLUSTER_LOCK})")
            for (partition,) in self._connection.execute(_NOT_PLACED).fetchall():
                self._write(Placement(partition))
            before = self._rows()
            after = apply(before, change)
            if after is None:
                return None
            for member in after.members.values():
                if member != before.members.get(member.name):
                    self._write(member)
            for placement in after.placements.values():
                if placement != before.placements.get(placement.partition):
                    self._write(placement)
            if not isinstance(change, Renew):
                self._connection.execute(f"NOTIFY {_CHANNEL}")
        if isinstance(change, Join | Renew):
            # The renewing member's session is alive.
            member = attrs.evolve(after.members[change.member], is_connected=True)
            return attrs.evolve(after, members={**after.members, change.member: member})
        return after

    def listen(self) -> None:
        """Subscribe :meth:`wait` to changes.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with _translated(self._url):
            self._connection.execute(f"LISTEN {_CHANNEL}")

    def wait(self, seconds: float) -> bool:
        """Wait for a change by others; return whether there was one.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with _translated(self._url):
            return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))

    def epochs(self) -> dict[int, int]:
        """The epoch of each partition's log.

        Raises:
            StoreUnavailableError: the session ended.
        """
        with _translated(self._url):
            return dict(self._connection.execute("SELECT partition_id, epoch FROM partitions"))

    def close(self) -> None:
        """End the session."""
        with suppress(psycopg.Error):
            self._connection.close()

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        self._connection.execute(f"BEGIN ISOLATION LEVEL {kind}")
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _rows(self) -> Rows:
        members = {
            name: Member(name, address, run, renewals, is_draining, is_connected, _loads(loads))
            for name, address, run, renewals, is_draining, loads, is_connected in (
                self._connection.execute(_READ_MEMBERS, (MEMBERS,))
            )
        }
        placements = {row[0]: Placement(*row) for row in self._connection.execute(_READ_PLACEMENTS)}
        # The tenants' rows say where a tenant lives; here each partition has the name it is
        # requested by.
        return Rows(members, placements, {str(each): each for each in placements})

    def _write(self, row: Member | Placement) -> None:
        if isinstance(row, Placement):
            self._connection.execute(_WRITE_PLACEMENT, attrs.astuple(row))
            return
        loads = orjson.dumps({str(each): load for each, load in row.loads.items()}).decode()
        values = (row.name, row.address, row.run, row.renewals, row.is_draining, loads)
        self._connection.execute(_WRITE_MEMBER, values)


def _loads(text: str) -> dict[int, float]:
    return {int(each): float(load) for each, load in orjson.loads(text).items()}


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise StoreUnavailableError(f"{shown(url)}: {reason(error)}") from error
