"""The directory's logic over rows that a test keeps."""

from __future__ import annotations

import attrs

from tidegate.cluster.directory import Directory, move, partition_for_next
from tidegate.cluster.rows import Drain, Join, Member, Place, Placement, Renew, Rows, apply


@attrs.define
class World:
    """Rows, and the members that change them."""

    rows: Rows
    members: dict[str, Directory]

    def renew(self, name: str, now: float) -> None:
        """A member's tick, with everything that follows from it."""
        directory = self.members[name]
        change = directory.tick(now)
        if change is None:
            changes = directory.read(self.rows, now)
        else:
            self.take(change)
            changes = directory.renewed(change, now, self.rows, now)
        for each in changes:
            self.take(each)
        for each_member in self.members.values():
            each_member.read(self.rows, now)

    def take(self, change: object) -> None:
        rows = apply(self.rows, change)  # type: ignore[arg-type]
        if rows is not None:
            self.rows = rows

    def run(self, names: str, start: int, end: int) -> None:
        """Seconds in which the members of these names live."""
        for now in range(start, end):
            for name in names:
                self.renew(name, float(now))

    def owners(self) -> list[str | None]:
        return [each.owner for each in self.rows.placements.values()]


def world(names: str = "ab", partitions: int = 4) -> World:
    placements = {number: Placement(number) for number in range(partitions)}
    return World(Rows(placements=placements), {name: Directory(name, name) for name in names})


def test_partitions_are_spread_over_the_members() -> None:
    """Two members get half of the partitions each, and follow each other's."""
    made = world()
    made.run("ab", 0, 3)
    for number in range(4):
        made.run("ab", 3 + number, 4 + number)
        for name in "ab":
            hand_over(made, name)
    assert sorted(str(owner) for owner in made.owners()) == ["a", "a", "b", "b"]
    assert all(each.follower != each.owner for each in made.rows.placements.values())


def hand_over(made: World, name: str) -> None:
    """What a member's owners and followers say when they are due."""
    directory = made.members[name]
    duties = directory.duties()
    changes = [directory.level(each) for each in duties.follows]
    changes += [directory.released(each, duties.owns[each]) for each in duties.hands_over]
    for change in changes:
        if change is not None:
            made.take(change)


def test_a_silent_member_is_replaced_after_its_lease() -> None:
    """Nobody takes over before the holder knows that its lease has ended; then the follower."""
    made = world()
    made.run("ab", 0, 3)
    owned = [each.partition for each in made.rows.placements.values() if each.owner == "a"]
    ends = made.members["a"].duties().lease_ends
    assert ends == 5.0
    made.run("b", 3, 6)
    assert all(made.rows.placements[each].owner == "a" for each in owned)
    made.run("b", 6, 8)
    assert all(made.rows.placements[each].owner == "b" for each in owned)


def test_a_dead_process_is_replaced_at_once() -> None:
    """A session that ended is proof enough: no lease is waited for."""
    made = world()
    made.run("ab", 0, 3)
    gone = attrs.evolve(made.rows.members["a"], is_connected=False)
    made.rows = attrs.evolve(made.rows, members={**made.rows.members, "a": gone})
    made.run("b", 3, 4)
    assert set(made.owners()) == {"b"}


def test_an_owner_that_renewed_meanwhile_is_not_replaced() -> None:
    """A placing that judged by an older renewal changes nothing."""
    owner = Member("a", "a", renewals=4)
    rows = Rows({"a": owner}, {0: Placement(0, "a", version=3)})
    place = Place(Placement(0, "b", term=1, version=4), owner)
    renewed = apply(rows, Renew("a", 1))
    assert renewed is not None
    assert apply(renewed, place) is None
    assert apply(rows, place) is not None


def test_a_change_of_an_older_version_is_refused() -> None:
    """Of two changes that saw the same row, the second changes nothing."""
    rows = Rows(placements={0: Placement(0, "a", version=3)})
    first = apply(rows, Place(Placement(0, "b", version=4)))
    assert first is not None
    assert apply(first, Place(Placement(0, "c", version=4))) is None


def test_an_earlier_run_cannot_renew() -> None:
    """A process that was replaced under its name has no lease any more."""
    rows = apply(Rows(), Join("a", "here"))
    assert rows is not None
    assert apply(rows, Renew("a", 1)) is not None
    again = apply(rows, Join("a", "there"))
    assert again is not None
    assert apply(again, Renew("a", 1)) is None
    assert apply(again, Renew("a", 2)) is not None


def test_a_partition_moves_when_its_follower_is_level() -> None:
    """The owner hands over only when the next owner has caught up, and the term grows."""
    made = world(partitions=1)
    made.run("ab", 0, 3)
    (placement,) = made.rows.placements.values()
    target = "b" if placement.owner == "a" else "a"
    change = move(made.rows, 0, target)
    assert change is not None
    made.take(change)
    made.run("ab", 3, 4)
    owner = made.members[str(placement.owner)]
    assert owner.duties().hands_over == frozenset()
    level = made.members[target].level(0)
    assert level is not None
    made.take(level)
    made.run("ab", 4, 5)
    assert owner.duties().hands_over == {0}
    released = owner.released(0, placement.term)
    assert released is not None
    made.take(released)
    moved = made.rows.placements[0]
    assert (moved.owner, moved.follower, moved.term) == (target, None, placement.term + 1)


def test_a_draining_member_hands_everything_over() -> None:
    """A member that drains owns and follows nothing in the end."""
    made = world("abc")
    made.run("abc", 0, 3)
    made.take(Drain("a", True))
    for now in range(3, 9):
        made.run("abc", now, now + 1)
        for name in "abc":
            hand_over(made, name)
    assert "a" not in made.owners()
    assert "a" not in {each.follower for each in made.rows.placements.values()}


def test_a_partition_moves_to_the_member_with_less_to_do() -> None:
    """Load is balanced by moving what halves the difference, and then rests."""
    loads = {0: 900.0, 1: 400.0, 2: 300.0}
    members = {
        "a": Member("a", "a", loads=loads),
        "b": Member("b", "b", loads={3: 100.0}),
    }
    owners = {0: "a", 1: "a", 2: "a", 3: "b"}
    placements = {
        number: Placement(number, owner, "b" if owner == "a" else "a")
        for number, owner in owners.items()
    }
    made = Directory("a", "a")
    made.renewed(Join("a", "a"), 0.0, Rows(members, placements), 0.0)
    (change,) = made.read(Rows(members, placements), 0.1)
    assert isinstance(change, Place)
    moving = change.placement
    assert (moving.partition, moving.follower, moving.is_moving) == (1, "b", True)


def test_a_move_by_hand_has_another_partition_move_the_other_way() -> None:
    """The partition that was moved stays, and its new owner hands over another one."""
    made = world(partitions=2)
    made.run("ab", 0, 6)
    for now in range(6, 10):
        for name in "ab":
            hand_over(made, name)
        made.run("ab", now, now + 1)
    for start, number in ((10, 0), (20, 1), (30, 0)):
        before = made.owners()
        change = move(made.rows, number, str(before[1 - number]))
        assert change is not None
        made.take(change)
        for now in range(start, start + 10):
            made.run("ab", now, now + 1)
            for name in "ab":
                hand_over(made, name)
        assert made.owners() == before[::-1]


def test_a_new_tenant_goes_where_the_fewest_are() -> None:
    """Tenants are spread by their number."""
    placements = {number: Placement(number) for number in range(3)}
    assert partition_for_next(Rows(placements=placements, tenants={"x": 0, "y": 2})) == 1
