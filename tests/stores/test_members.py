"""Sessions of members over PostgreSQL: what they hold, what they see, and what ends them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from psycopg import OperationalError
from psycopg.conninfo import make_conninfo
from tests.store_contract.members import (
    WAIT_SECONDS,
    End,
    IsTold,
    Join,
    MembersContract,
    Read,
)

from tidegate_server.cluster.ownership import Member
from tidegate_server.stores.base import StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.databases import need_partitions
from tidegate_server.stores.directory.claims import claim_database, connected_nodes, log_url
from tidegate_server.stores.directory.members import ClusterReader, MemberSession
from tidegate_server.stores.rows.postgresql import connect

if TYPE_CHECKING:
    from tools.database_pair import Pair


@pytest.fixture
def url(postgresql: Pair, migrated: str) -> str:
    """A database of its own, with two partitions."""
    made = postgresql.url(postgresql.new_database(template=migrated))
    need_partitions(made, 2)
    return made


@pytest.fixture
def join(url: str) -> Iterator[Join]:
    """Gives sessions of members, which end with the test."""
    with ExitStack() as stack:

        def joined(name: str) -> MemberSession:
            session = MemberSession(url, name, f"{name}:1")
            stack.callback(session.close)
            return session

        yield joined


@pytest.fixture
def reader(url: str) -> Iterator[ClusterReader]:
    """A session of no member."""
    made = ClusterReader(url)
    yield made
    made.close()


class TestPostgresqlMembers(MembersContract):
    """The contract of every database."""

    @pytest.fixture
    def end(self, url: str) -> End:
        """Ends a session from outside, and returns when it has ended."""

        def ended(session: MemberSession) -> None:
            with connect(url) as connection:
                connection.execute("SELECT pg_terminate_backend(%s, 10000)", [session.number])

        return ended

    @pytest.fixture
    def read(self, reader: ClusterReader) -> Read:
        """Returns what no member sees."""
        return reader.read

    @pytest.fixture
    def is_told(self, url: str) -> Iterator[IsTold]:
        """Waits for a notice."""
        listening = ClusterReader(url)
        listening.listen()
        yield listening.wait
        listening.close()

    def test_the_names_of_connected_nodes_are_known(self, url: str, join: Join) -> None:
        """A command asks for them, whatever tables the database has."""
        join("a")
        assert connected_nodes(url) == ["a"]


def test_a_process_that_is_not_a_node_keeps_the_log(
    url: str, join: Join, reader: ClusterReader
) -> None:
    """A node gets it when that process ends."""
    claim = claim_database(url)
    session = join("a")
    assert session.take(0) is None
    assert reader.read().partitions[0].owner is None
    claim.release()
    # The database notices the end a moment later.
    until = time.monotonic() + WAIT_SECONDS
    while session.take(0) is None:
        assert time.monotonic() < until


def test_a_session_of_another_role_is_not_ended(url: str, join: Join) -> None:
    """The error says what to change, and the session that asked lives on."""
    silent = join("a")
    with connect(url) as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO stranger")
        other = MemberSession(make_conninfo(url, user="stranger"), "b", "b:1")
        try:
            with pytest.raises(UnsafeDatabaseError, match=r"`a`.*same role in `store.url`"):
                other.end(Member("a", "a:1", session=silent.number))
            other.confirm()
            silent.confirm()
        finally:
            other.close()
            connection.execute("DROP OWNED BY stranger")
            connection.execute("DROP ROLE stranger")


def test_a_member_whose_row_is_gone_begins_a_new_session(url: str, join: Join) -> None:
    """A beat that nobody can see is refused."""
    session = join("a")
    with connect(url) as connection:
        connection.execute("DELETE FROM cluster_members")
    with pytest.raises(StoreUnavailableError, match="the row of the node `a` is gone"):
        session.beat([])


def test_an_owner_that_stalls_within_a_commit_is_ended(url: str, join: Join) -> None:
    """It keeps rows that the next owner's claim has to change, in sessions without the lock."""
    silent, other = join("a"), join("b")
    with connect(log_url(url, "a")) as stalled, connect(log_url(url, "b")) as lives:
        for each in (stalled, lives):
            each.execute("BEGIN")
            each.execute("SELECT 1 FROM partitions FOR SHARE")
        other.end(Member("a", "a:1", session=silent.number))
        lives.execute("COMMIT")
        with connect(url) as successor:
            successor.execute("SET lock_timeout = 2000")
            successor.execute("UPDATE partitions SET epoch = epoch + 1")
        with pytest.raises(OperationalError):
            stalled.execute("COMMIT")


def test_an_owner_that_stalls_in_an_append_keeps_nobody_from_its_lock(url: str, join: Join) -> None:
    """A taking doesn't wait for the row that appends share; a claim does, on its own connection."""
    session = join("a")
    with connect(url) as connection, connection.transaction():
        connection.execute("SELECT 1 FROM partitions WHERE partition_id = 0 FOR SHARE")
        assert session.take(0) is not None


def test_terms_go_on_from_those_of_the_log(url: str, join: Join) -> None:
    """A claim under a term that the log has seen would be refused."""
    with connect(url) as connection:
        connection.execute("UPDATE partitions SET term = 7")
    session = join("a")
    session.move(1, "a")
    for number in (0, 1):
        claim = session.take(number)
        assert claim is not None
        assert claim.term == 8
