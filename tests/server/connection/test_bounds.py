"""Bounds of all connections: their number, the shares of addresses, open files."""

from __future__ import annotations

import random
import resource
from collections.abc import Iterator

import pytest

from tidegate_server.connection.bounds import (
    MAX_HELD_BYTES,
    MAX_SHARE_BYTES,
    SPARE_FILES,
    Bounds,
    room_for,
    share_of,
)


class Held:
    """A connection that gives way unless it is told not to."""

    def __init__(self, *, gives_way: bool = True) -> None:
        self.gives_way = gives_way
        self.is_closed = False

    def give_way(self) -> bool:
        if not self.gives_way or self.is_closed:
            return False
        self.is_closed = True
        return True


def test_an_address_has_its_share() -> None:
    """An address can hold its share; a closed connection makes room, and others have the rest."""
    bounds = Bounds(max_connections=5, max_per_address=3)
    first = [Held() for _ in range(4)]
    assert [bounds.enter("a", each) for each in first] == [True, True, True, False]
    assert [bounds.enter("b", Held()) for _ in range(2)] == [True, True]
    assert not bounds.enter("b", Held())
    bounds.leave("a", first[0])
    assert bounds.enter("b", Held())
    assert not bounds.enter("b", Held())


def test_who_has_most_connections_gives_one_up_to_a_newcomer() -> None:
    """When all are taken, the oldest that can be closed of the largest share is closed."""
    bounds = Bounds(max_connections=6, max_per_address=6)
    busy, oldest, newer = Held(gives_way=False), Held(), Held()
    for each in (busy, oldest, newer):
        assert bounds.enter("a", each)
    others = [Held(), Held()]
    for each in others:
        assert bounds.enter("b", each)
    assert bounds.enter("c", Held())
    assert bounds.enter("d", Held())
    assert (busy.is_closed, oldest.is_closed, newer.is_closed) == (False, True, False)
    # The closed one is counted until the transport says that it is gone.
    bounds.leave("a", oldest)
    assert not bounds.enter("c", Held()), "with as many as the others nobody makes room"
    assert bounds.enter(None, Held()), "a trusted proxy is a newcomer each time"
    assert others[0].is_closed


def test_a_share_that_gives_nothing_up_does_not_protect_the_others() -> None:
    """A large share of busy connections leaves the choice among the next ones."""
    bounds = Bounds(max_connections=7, max_per_address=7)
    for _ in range(4):
        assert bounds.enter("edge", Held(gives_way=False))
    attackers = [Held() for _ in range(3)]
    for each in attackers:
        assert bounds.enter("a", each)
    assert bounds.enter("new", Held())
    assert [each.is_closed for each in attackers] == [True, False, False]


def test_a_connection_can_become_another_caller_s() -> None:
    """A request that a proxy brings counts in the share of its client."""
    bounds = Bounds(max_connections=5, max_per_address=1)
    first, second = Held(), Held()
    assert bounds.enter(None, first)
    assert bounds.enter(None, second)
    assert bounds.move(None, "a", first)
    assert not bounds.move(None, "a", second)
    assert bounds.move("a", None, first)
    assert bounds.move(None, "a", second)
    bounds.leave("a", second)
    bounds.leave(None, first)
    assert bounds.count_of("a") == 0


def test_shares_stay_right_however_connections_come_and_go() -> None:
    """After any order of arrivals and ends nothing is left."""
    bounds = Bounds(max_connections=200, max_per_address=9)
    chance = random.Random(8)
    held: list[tuple[str | None, Held]] = []
    for _ in range(5_000):
        if held and chance.random() < 0.5:
            bounds.leave(*held.pop(chance.randrange(len(held))))
            continue
        share, made = chance.choice(["a", "b", "c", "d", None]), Held()
        if bounds.enter(share, made):
            held.append((share, made))
    counts = {share: sum(each == share for each, _ in held) for share in "abcd"}
    assert {share: bounds.count_of(share) for share in "abcd"} == counts
    for each in held:
        bounds.leave(*each)
    assert not any(bounds.count_of(share) for share in "abcd")
    assert not bounds.is_crowded


def test_an_address_holds_its_share_of_the_memory() -> None:
    """When all together hold too much, those who hold more than an equal part are refused."""
    held = Bounds().held
    held.hold("a", MAX_SHARE_BYTES + 1)
    assert (held.is_full("a"), held.is_full("b"), held.is_full(None)) == (True, False, False)
    held.hold(None, MAX_HELD_BYTES)
    held.hold("b", 1)
    assert (held.is_full("b"), held.is_full("c"), held.is_full(None)) == (False, False, True)
    held.hold(None, -MAX_HELD_BYTES)
    held.hold("a", -MAX_SHARE_BYTES)
    assert not held.is_full("a")
    assert held.total == 2


def test_a_socket_without_an_address_is_not_shared_out() -> None:
    """All callers over a Unix socket count as one proxy."""
    bounds = Bounds(max_connections=5, max_per_address=1)
    assert [bounds.enter(None, Held()) for _ in range(6)] == [True] * 5 + [False]


def test_it_is_crowded_near_its_end() -> None:
    """Near the bound the connections count as crowded, so idle ones are closed early."""
    bounds = Bounds(max_connections=10, max_per_address=10)
    crowded = []
    for _ in range(10):
        bounds.enter("a", Held())
        crowded.append(bounds.is_crowded)
    assert crowded == [False] * 9 + [True]


def test_a_share_is_of_a_caller() -> None:
    """An IPv6 network of 64 bits has one; a Unix socket and what isn't an address have none."""
    assert share_of(("192.0.2.1", 1)) == "192.0.2.1"
    assert share_of(("2001:db8:1:2:3:4:5:6", 1)) == "2001:db8:1:2::"
    assert (share_of(("", 1)), share_of(None)) == (None, None)


@pytest.fixture
def files() -> Iterator[int]:
    """The hard limit on open files, whose soft limit is put back afterwards."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_process_opens_as_many_files_as_it_needs(files: int) -> None:
    """The soft limit rises, at most to the hard one, which then bounds the connections."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, files))
    assert room_for(600) == 600
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 600 + SPARE_FILES
    if files != resource.RLIM_INFINITY:
        assert room_for(files * 2) == files - SPARE_FILES
