"""Sessions of members over PostgreSQL: what they hold, what they see, and what ends them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from psycopg import OperationalError
from psycopg.conninfo import make_conninfo

from tidegate_server.cluster.ownership import Member
from tidegate_server.stores.base import HeldError, StoreUnavailableError, UnsafeDatabaseError
from tidegate_server.stores.databases import need_partitions
from tidegate_server.stores.directory.claims import claim_database, connected_nodes, log_url
from tidegate_server.stores.directory.members import ClusterReader, MemberSession
from tidegate_server.stores.rows.postgresql import connect

if TYPE_CHECKING:
    from tools.database_pair import Pair

WAIT_SECONDS = 30
Join = Callable[[str], MemberSession]


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


def end(url: str, session: MemberSession) -> None:
    """End a session from outside, and return when it has ended."""
    with connect(url) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", [session.number])


def test_a_name_has_one_session(url: str, join: Join, reader: ClusterReader) -> None:
    """A second one is refused until the first has ended; each is a run of the member."""
    first = join("a")
    assert reader.read().members["a"].session == first.number
    assert connected_nodes(url) == ["a"]
    with pytest.raises(HeldError, match="a node named `a` is connected"):
        join("a")
    end(url, first)
    assert reader.read().members["a"].session is None
    second = join("a")
    member = reader.read().members["a"]
    assert (member.session, member.run, member.address) == (second.number, 2, "a:1")


def test_one_session_holds_a_partition(url: str, join: Join, reader: ClusterReader) -> None:
    """Each taking has a term of its own, and the lock is free once it is released or the session
    has ended."""
    first, second = join("a"), join("b")
    for number in (0, 1):
        claim = first.take(number)
        assert claim is not None
        assert second.take(number) is None
        assert reader.read().partitions[number].owner == "a"
        claim.release()
        claim.release()
        again = second.take(number)
        assert again is not None
        assert again.term == claim.term + 1
        claim.release()  # of a lock that it no longer holds
        assert reader.read().partitions[number].owner == "b"
    assert again is not None
    assert again.is_held()
    end(url, second)
    assert not again.is_held()
    assert {each.owner for each in reader.read().partitions.values()} == {None}
    assert first.take(1) is not None


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


def test_others_see_beats_and_who_has_the_states(join: Join) -> None:
    """Any number of members may have a partition's states."""
    first, second = join("a"), join("b")
    before = first.beat([1])
    view = second.beat([0, 1])
    assert view.members["a"].beat == before.members["a"].beat
    assert {n: each.level for n, each in view.partitions.items()} == {0: {"b"}, 1: {"a", "b"}}
    view = first.beat([0])
    assert view.members["a"].beat == before.members["a"].beat + 1
    assert {n: each.level for n, each in view.partitions.items()} == {0: {"a", "b"}, 1: {"b"}}


def test_a_silent_session_is_ended_by_another(join: Join, reader: ClusterReader) -> None:
    """It has lost its locks and its name; a session that only has its number isn't ended."""
    silent, other = join("a"), join("b")
    assert silent.take(1) is not None
    seen = reader.read().members
    other.end(Member("c", "c:1", session=silent.number))
    silent.confirm()
    other.end(seen["a"])
    with pytest.raises(StoreUnavailableError):
        silent.confirm()
    assert reader.read().partitions[1].owner is None


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


def test_a_move_lasts_until_another_member_owns_the_partition(
    join: Join, reader: ClusterReader
) -> None:
    """So a node that comes back later gets no more than its share."""
    first, second = join("a"), join("b")
    reader.move(0, "b")
    claim = second.take(0)
    assert claim is not None
    assert reader.read().partitions[0].preferred == "b"
    claim.release()
    assert first.take(0) is not None
    assert reader.read().partitions[0].preferred is None


def test_members_are_told_of_changes(join: Join, reader: ClusterReader) -> None:
    """A taking, a release, new states and what an operator asks for wake the others."""
    session = join("a")
    reader.listen()
    assert not reader.wait(0.0)
    claim = session.take(0)
    assert claim is not None
    assert reader.wait(WAIT_SECONDS)
    changes: list[Callable[[], object]] = [
        claim.release,
        lambda: session.beat([1]),
        lambda: session.drain("a"),
        lambda: session.move(1, "a"),
    ]
    for change in changes:
        change()
        assert reader.wait(WAIT_SECONDS)
    session.beat([1])
    assert not reader.wait(0.0)
    assert reader.read().members["a"].is_draining


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
