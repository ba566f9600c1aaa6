"""The owner of a log in PostgreSQL: a session lock shows who lives, an epoch who may append.

The lock ends at once with its process, and within seconds with its machine.  It serves to find the
next owner quickly.  Only the epoch guarantees that earlier owners no longer append: the append
statement names its epoch, and is rejected once another has begun.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import attrs
import orjson
import psycopg

from tidegate_server.stores.base import HeldError
from tidegate_server.stores.directory.lock import Holder
from tidegate_server.stores.rows.postgresql import (
    LOCKS,
    connect,
    owner_lock,
    shown,
    unreachable,
)

MEMBERS = LOCKS + 1
"""The first number of the locks on node names; the second is a hash of the name."""
_NODES = """
SELECT session.application_name FROM pg_locks AS held
JOIN pg_stat_activity AS session ON session.pid = held.pid AND session.datid = held.database
WHERE held.locktype = 'advisory' AND held.granted AND held.classid::bigint = %s
AND session.datname = current_database()
"""


@attrs.define(eq=False)
class Claim:
    """The held lock of a database; see :func:`claim_database`."""

    url: str
    _connection: psycopg.Connection[Any]
    partition: int = 0
    _since: str = attrs.field(factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def describe(self, address: str | None = None) -> None:
        """Write down the holder, for rejected processes."""
        # The table may not exist yet; the lock works without a description.
        with suppress(psycopg.Error):
            self._connection.execute(
                "UPDATE partitions SET owner = %s WHERE partition_id = %s",
                (self.description(address), self.partition),
            )

    def description(self, address: str | None = None) -> str:
        """The holder, as recorded in the database."""
        holder = Holder(os.getpid(), socket.gethostname(), self._since, address)
        return orjson.dumps(attrs.asdict(holder)).decode()

    def is_held(self) -> bool:
        """Whether the session that holds the lock is alive; one thread at a time may ask."""
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def release(self) -> None:
        """Release the lock; calling it again does nothing."""
        with suppress(psycopg.Error):
            self._connection.close()


def claim_database(
    url: str, waits: Callable[[Holder], None] | None = None, partition: int = 0
) -> Claim:
    """Become the one process that appends to a log of a database.

    Args:
        url: the database's URL.
        waits: called with any current holder before waiting for its end; without ``waits`` the call
            does not wait.
        partition: the partition whose log it claims.

    Raises:
        HeldError: another process holds the lock.
        StoreUnavailableError: the database cannot be reached.
    """
    try:
        connection = connect(url)
    except psycopg.Error as error:
        raise unreachable(url, error) from error
    lock = owner_lock(partition)
    try:
        taken = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", lock)
        if taken.fetchone() != (True,):
            holder = _holder(connection, partition)
            if waits is None:
                raise HeldError(
                    f"{shown(url)} belongs to {holder}; stop it, or use another database, or wait"
                    " for its end with `tidegate serve --wait-for-lock`"
                )
            waits(holder)
            connection.execute("SELECT pg_advisory_lock(%s, %s)", lock)
    except psycopg.Error as error:
        connection.close()
        raise unreachable(url, error) from error
    except BaseException:
        connection.close()
        raise
    claim = Claim(url, connection, partition)
    claim.describe()
    return claim


def connected_nodes(url: str) -> list[str]:
    """The names of the nodes connected to a database, whatever tables it has.

    Args:
        url: the database's URL.

    Raises:
        StoreUnavailableError: the database cannot be reached.
    """
    try:
        with connect(url) as connection:
            found = connection.execute(_NODES, (MEMBERS,)).fetchall()
    except psycopg.Error as error:
        raise unreachable(url, error) from error
    return sorted(name.removeprefix(session_name("")) for (name,) in found)


def session_name(node: str | None) -> str:
    """The name of a session in `pg_stat_activity`.

    Args:
        node: the node of this process; None for a command.
    """
    return "tidegate cluster" if node is None else f"tidegate node {node}"


def log_url(url: str, node: str) -> str:
    """The URL by which a node opens a log: its sessions say whose they are.

    Args:
        url: the database's URL.
        node: the node of this process.
    """
    separator = "&" if "?" in url else "?"
    return f"{url}{separator}application_name={quote(log_session_name(node))}"


def log_session_name(node: str) -> str:
    """The name of a node's sessions with a log, as :func:`session_name`."""
    return f"{session_name(node)} log"


def _holder(connection: psycopg.Connection[Any], partition: int) -> Holder:
    try:
        row = connection.execute(
            "SELECT owner FROM partitions WHERE partition_id = %s", (partition,)
        ).fetchone()
        found = orjson.loads(row[0] if row else "{}")
        return Holder(found["pid"], found["host"], found["since"], found["address"])
    except (psycopg.Error, ValueError, KeyError, TypeError):
        return Holder()
