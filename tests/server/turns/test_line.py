"""Lanes that wait for a thread: each has its share of the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

from tidegate_server.turns.account import Account
from tidegate_server.turns.lane import Lane
from tidegate_server.turns.line import Line


def lane(number: int) -> Lane:
    return Lane(UUID(int=number), Account(), 10, lambda _: None)


def steps(line: Line, costs: Mapping[Lane, int], count: int) -> list[Lane]:
    """The lanes of the next steps, in order; each of them waits again as soon as it had one."""
    made = []
    for _ in range(count):
        found = line.next()
        assert found is not None
        made.append(found)
        found.had += costs[found]
        line.add(found, 0)
    return made


def test_a_tenant_of_short_steps_is_not_behind_one_of_long_steps() -> None:
    """Both have the same time, so the one of short steps has as many more of them."""
    line, short, long = Line(1), lane(1), lane(2)
    line.add(long, 0)
    line.add(short, 0)
    made = Counter(steps(line, {short: 2, long: 50}, 260))
    assert made[long] == 10
    assert made[short] == 250


def test_time_that_was_not_used_is_not_made_up_for() -> None:
    """A lane that comes back has its next step soon, and then its share like the others."""
    line, steady, back = Line(1), lane(1), lane(2)
    line.add(steady, 0)
    costs = {steady: 10, back: 10}
    steps(line, costs, 100)
    line.add(back, 0)
    assert Counter(steps(line, costs, 20)) == {steady: 10, back: 10}


def test_the_time_of_another_line_does_not_count() -> None:
    """A lane that had much in one line is not the last of another."""
    heavy, unknown, moved, other = Line(1), Line(1), lane(1), lane(2)
    heavy.add(moved, 0)
    steps(heavy, {moved: 1_000_000}, 3)
    assert heavy.next() is moved
    unknown.add(other, 0)
    unknown.add(moved, 0)
    assert set(steps(unknown, {moved: 1, other: 1}, 2)) == {moved, other}


def test_lanes_that_had_the_same_come_in_the_order_of_arrival() -> None:
    """Among tenants that had equally much, the one that waits longest is first."""
    line, lanes = Line(1), [lane(number) for number in range(5)]
    for each in lanes:
        line.add(each, 0)
    assert [line.next() for _ in lanes] == lanes


def test_a_line_says_how_long_its_oldest_has_been_waiting() -> None:
    """The wait is the first lane's, and none when nobody waits."""
    line = Line(1)
    assert line.waited(7) == 0
    line.add(lane(1), 100)
    line.add(lane(2), 300)
    assert line.waited(500) == 400
