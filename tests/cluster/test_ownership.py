"""The owners of partitions and the silent members, over views that a test makes."""

from __future__ import annotations

import attrs
import pytest

from tidegate_server.cluster.ownership import (
    BEAT_SECONDS,
    SILENT_SECONDS,
    Member,
    Ownership,
    Partition,
    Place,
    View,
    plan,
)


def members(names: str, **changes: Member) -> dict[str, Member]:
    alive = {name: Member(name, name, session=ord(name)) for name in names}
    return {**alive, **changes}


def view(names: str, *owners: str | None) -> View:
    return View(
        members(names), {number: Partition(number, owner) for number, owner in enumerate(owners)}
    )


def changed(seen: View, number: int, **changes: object) -> View:
    partition = attrs.evolve(seen.partitions[number], **changes)
    return attrs.evolve(seen, partitions={**seen.partitions, number: partition})


def settled(seen: View) -> tuple[View, int]:
    """The view once every plan is carried out, one move at a time; and how many moves it took."""
    for moves in range(100):
        found = plan(seen)
        wrong = [n for n, place in found.items() if seen.partitions[n].owner != place.owner]
        if not wrong:
            return seen, moves
        seen = changed(seen, wrong[-1], owner=found[wrong[-1]].owner)
    raise AssertionError("it never settles")


def owned(seen: View) -> dict[str, int]:
    return {
        name: sum(each.owner == name for each in seen.partitions.values()) for name in seen.members
    }


@pytest.mark.parametrize("names", ["a", "ab", "abc", "abcde"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_partitions_are_shared_evenly(names: str, count: int) -> None:
    """No member owns two more than another; a joining member takes only what it is due."""
    seen, _ = settled(view(names, *[None] * count))
    counts = owned(seen).values()
    assert max(counts) - min(counts) <= 1
    joined = attrs.evolve(seen, members=members(names + "z"))
    after, moves = settled(joined)
    assert moves == owned(after)["z"] == count // (len(names) + 1)


def test_a_member_that_goes_moves_its_own_partitions_alone() -> None:
    """Partitions of other members stay where they are."""
    seen, _ = settled(view("abc", *[None] * 6))
    rest = attrs.evolve(seen, members=members("ab"))
    rest = attrs.evolve(
        rest,
        partitions={
            number: attrs.evolve(each, owner=None if each.owner == "c" else each.owner)
            for number, each in rest.partitions.items()
        },
    )
    after, moves = settled(rest)
    assert moves == 2
    assert owned(after) == {"a": 3, "b": 3}


def test_a_free_partition_goes_to_a_member_with_its_states() -> None:
    """Even to one that owns its share already: callers wait for nothing less."""
    seen = changed(view("abc", None, "a", "b", "c"), 0, level=frozenset("b"))
    for name in "ac":
        assert plan(changed(seen, 0, level=frozenset(name)))[0].owner == name
    assert plan(seen)[0].owner == "b"


def test_each_partition_has_a_follower_that_stays() -> None:
    """It is another member than the owner, and one that has the states goes before others."""
    seen, _ = settled(view("abcd", *[None] * 8))
    for number, place in plan(seen).items():
        assert place.follower not in (None, place.owner)
        others = set("abcd") - {place.owner, place.follower}
        for name in others:
            level = changed(seen, number, level=frozenset(name))
            assert plan(level)[number] == Place(place.owner, name)
    assert plan(view("a", "a"))[0] == Place("a", None)


def test_a_moved_partition_stays_and_another_one_moves_the_other_way() -> None:
    """The member that an operator chose follows first; both own one in the end."""
    seen, _ = settled(view("ab", None, None))
    (before,) = [n for n, each in seen.partitions.items() if each.owner == "a"]
    moved = changed(seen, before, preferred="b")
    assert plan(moved)[before] == Place("b", "b")
    after, _ = settled(moved)
    assert after.partitions[before].owner == "b"
    assert owned(after) == {"a": 1, "b": 1}
    gone = attrs.evolve(after, members=members("a"))
    assert plan(gone)[before].owner == "a"


def test_a_draining_member_should_own_and_follow_nothing() -> None:
    """Unless nobody else lives: then nobody should own anything."""
    draining = Member("a", "a", is_draining=True, session=1)
    seen, _ = settled(View(members("bc", a=draining), {n: Partition(n, "a") for n in range(3)}))
    assert owned(seen)["a"] == 0
    assert "a" not in {place.follower for place in plan(seen).values()}
    alone = View({"a": draining}, {0: Partition(0, "a")})
    assert plan(alone)[0] == Place()


class Watcher:
    """A member that sees views, each after a beat of its own."""

    def __init__(self, name: str = "a") -> None:
        self.made = Ownership(name)
        self.made.joined(ord(name))
        self.beat = 0

    def see(self, seen: View, now: float) -> list[str]:
        """Names of members that it takes for silent."""
        self.beat += 1
        name = self.made.name
        me = attrs.evolve(seen.members[name], beat=self.beat)
        seen = attrs.evolve(seen, members={**seen.members, name: me})
        return [each.name for each in self.made.seen(seen, now, now)]


def beating(seen: View, name: str, beat: int) -> View:
    return attrs.evolve(
        seen, members={**seen.members, name: attrs.evolve(seen.members[name], beat=beat)}
    )


def test_a_member_whose_beat_stands_still_is_silent() -> None:
    """Not before its time, and no longer once the beat or the session is another one."""
    watcher, seen = Watcher(), view("abc", None)
    now = 0.0
    while now < SILENT_SECONDS:
        assert watcher.see(beating(seen, "c", int(now * 10)), now) == []
        now += BEAT_SECONDS
    assert watcher.see(beating(seen, "c", 99), now) == ["b"]
    assert watcher.see(beating(seen, "c", 100), now + 0.1) == []
    assert watcher.see(beating(seen, "b", 1), now + 0.2) == []
    assert watcher.see(view("ac", None), now + 0.3) == []


def test_a_member_that_saw_nothing_judges_nobody() -> None:
    """After a stall of its own, or of the database, it watches for the whole time again."""
    watcher, seen = Watcher(), view("ab", None)
    assert watcher.see(seen, 0.0) == []
    assert watcher.see(seen, 5.0) == []
    now = 5.0
    while now < 5.0 + SILENT_SECONDS:
        assert watcher.see(seen, now) == []
        now += BEAT_SECONDS
    assert watcher.see(seen, now) == ["b"]


def test_a_member_stops_before_another_may_end_its_session() -> None:
    """Its beat was sent earlier than anybody saw it."""
    watcher = Watcher()
    watcher.see(view("ab", None), 1.0)
    assert watcher.made.is_alive(1.0 + SILENT_SECONDS - 0.3)
    assert not watcher.made.is_alive(1.0 + SILENT_SECONDS - 0.1)


def test_what_a_lost_session_held_is_gone() -> None:
    """A new one holds nothing, and what comes late of the one before counts for nothing."""
    made = Watcher().made
    made.taken(ord("a"), 0, 3)
    assert made.held == {0: 3}
    made.lost()
    assert made.held == {}
    made.joined(1)
    made.taken(ord("a"), 0, 3)
    assert made.held == {}
    assert made.seen(view("a", None), 1.0, 1.0) == []
    assert not made.is_alive(1.0)
    me = Member("a", "a", session=1)
    made.seen(View({"a": me}), 1.0, 1.0)
    assert made.is_alive(1.0)
    assert not made.owns(0, 3, 1.0)
    made.taken(1, 0, 4)
    assert made.owns(0, 4, 1.0)


def test_duties_follow_the_plan() -> None:
    """It takes what is free, hands over what another one is ready for, and follows the rest."""
    watcher = Watcher()
    watcher.see(view("a", None), 0.0)
    assert watcher.made.duties().takes == {0}
    watcher.made.taken(ord("a"), 0, 1)
    assert watcher.made.duties().takes == frozenset()
    moving = changed(view("ab", "a"), 0, preferred="b")
    watcher.see(moving, 0.1)
    assert watcher.made.duties().hands_over == frozenset()
    watcher.see(changed(moving, 0, level=frozenset("b")), 0.2)
    assert watcher.made.duties().hands_over == {0}
    other = Watcher("b")
    other.see(moving, 0.1)
    assert other.made.duties().follows == {0}
    other.made.lost()
    other.see(changed(moving, 0, owner=None), 0.2)
    assert other.made.duties().takes == frozenset()
