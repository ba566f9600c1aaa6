"""The contract of members' sessions: what they hold, what they see, and what ends them.

Inherit, and give ``join``, which begins a session of a member by its name; ``end``, which ends one
from outside; ``read``, which returns what a session of no member sees; and ``is_told``, which says
whether listeners were told of a change since it was last asked, and waits some seconds for that.
There are two partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from tidegate_server.cluster.ownership import Member, View
from tidegate_server.stores.base import HeldError, StoreUnavailableError

WAIT_SECONDS = 30
Session: TypeAlias = Any
Join: TypeAlias = Callable[[str], Session]
End: TypeAlias = Callable[[Session], None]
Read: TypeAlias = Callable[[], View]
IsTold: TypeAlias = Callable[[float], bool]


class MembersContract:
    """The contract of members' sessions, the same on each database."""

    def test_a_name_has_one_session(self, join: Join, end: End, read: Read) -> None:
        """A second one is refused until the first has ended; each is a run of the member."""
        first = join("a")
        assert read().members["a"].session == first.number
        with pytest.raises(HeldError, match="a node named `a` is connected"):
            join("a")
        end(first)
        assert read().members["a"].session is None
        second = join("a")
        member = read().members["a"]
        assert (member.session, member.run, member.address) == (second.number, 2, "a:1")

    def test_one_session_holds_a_partition(self, join: Join, end: End, read: Read) -> None:
        """Each taking has a term of its own, and the lock is free once it is released or the
        session has ended."""
        first, second = join("a"), join("b")
        for number in (0, 1):
            claim = first.take(number)
            assert claim is not None
            assert second.take(number) is None
            assert read().partitions[number].owner == "a"
            claim.release()
            claim.release()
            again = second.take(number)
            assert again is not None
            assert again.term == claim.term + 1
            claim.release()  # of a lock that it no longer holds
            assert read().partitions[number].owner == "b"
        assert again is not None
        assert again.is_held()
        end(second)
        assert not again.is_held()
        assert {each.owner for each in read().partitions.values()} == {None}
        assert first.take(1) is not None

    def test_others_see_beats_and_who_has_the_states(self, join: Join) -> None:
        """Any number of members may have a partition's states."""
        first, second = join("a"), join("b")
        before = first.beat([1])
        view = second.beat([0, 1])
        assert view.members["a"].beat == before.members["a"].beat
        assert {n: each.level for n, each in view.partitions.items()} == {0: {"b"}, 1: {"a", "b"}}
        view = first.beat([0])
        assert view.members["a"].beat == before.members["a"].beat + 1
        assert {n: each.level for n, each in view.partitions.items()} == {0: {"a", "b"}, 1: {"b"}}

    def test_a_silent_session_is_ended_by_another(self, join: Join, read: Read) -> None:
        """It has lost its locks and its name; a session that only has its number isn't ended."""
        silent, other = join("a"), join("b")
        assert silent.take(1) is not None
        seen = read().members
        other.end(Member("c", "c:1", session=silent.number))
        silent.confirm()
        other.end(seen["a"])
        with pytest.raises(StoreUnavailableError):
            silent.confirm()
        assert read().partitions[1].owner is None

    def test_a_move_lasts_until_another_member_owns_the_partition(
        self, join: Join, read: Read
    ) -> None:
        """So a node that comes back later gets only its share."""
        first, second = join("a"), join("b")
        first.move(0, "b")
        claim = second.take(0)
        assert claim is not None
        assert read().partitions[0].preferred == "b"
        claim.release()
        assert first.take(0) is not None
        assert read().partitions[0].preferred is None

    def test_members_are_told_of_changes(self, join: Join, read: Read, is_told: IsTold) -> None:
        """A taking, a release, new states and what an operator asks for wake the others."""
        session = join("a")
        while is_told(0.0):
            pass
        claim = session.take(0)
        assert claim is not None
        assert is_told(WAIT_SECONDS)
        changes: list[Callable[[], object]] = [
            claim.release,
            lambda: session.beat([1]),
            lambda: session.drain("a"),
            lambda: session.move(1, "a"),
        ]
        for change in changes:
            change()
            assert is_told(WAIT_SECONDS)
        session.beat([1])
        assert not is_told(0.0)
        assert read().members["a"].is_draining
