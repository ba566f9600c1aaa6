"""Addresses that many share, and bots that look like many."""

from __future__ import annotations

import tracemalloc

from tidegate_server.enforcement.guard import (
    ENOUGH,
    MAX_ADDRESSES,
    MOST_PER_MINUTE,
    SETTLED_SECONDS,
    WINDOW_SECONDS,
    Guard,
)

ADDRESS = "192.0.2.7"


def people(guard: Guard, count: int, start: float, end: float, every: float = 60.0) -> None:
    """So many browsers, each of which sends a request from time to time."""
    at = start
    while at <= end:
        for number in range(count):
            guard.saw(ADDRESS, f"browser {number}", at)
        at += every


def test_an_address_that_people_share_is_spared() -> None:
    """Each of their browsers has been in use there for a while."""
    guard = Guard(0.2)
    people(guard, 3, 0, SETTLED_SECONDS + 60)
    assert "other browsers" in guard.reason(ADDRESS, SETTLED_SECONDS + 60)
    guard = Guard(0.2)
    people(guard, 50, 0, SETTLED_SECONDS + 60)
    assert guard.reason(ADDRESS, SETTLED_SECONDS + 60)


def test_a_bot_that_changes_its_agent_is_not_spared() -> None:
    """Neither with a new one for each request, nor with a few in turn."""
    for agents in (2, 5, 16, 10_000):
        guard = Guard(0.2)
        for number in range(500):
            guard.saw(ADDRESS, f"agent {number % agents}", number * 0.1)
        assert guard.reason(ADDRESS, 50.0) == ""


def test_new_agents_among_settled_ones_count_as_one_sender() -> None:
    """A bot does not hide behind the one person whose address it has."""
    guard = Guard(0.2)
    people(guard, 1, 0, SETTLED_SECONDS + 60)
    for number in range(40):
        guard.saw(ADDRESS, f"agent {number}", SETTLED_SECONDS + 60)
    assert guard.reason(ADDRESS, SETTLED_SECONDS + 60) == ""


def test_a_bot_that_prepared_is_dropped_for_its_rate() -> None:
    """With settled agents it may send at most as much as that many people."""
    guard = Guard(0.2)
    people(guard, 3, 0, SETTLED_SECONDS + 60)
    now = SETTLED_SECONDS + 120
    for number in range(3 * MOST_PER_MINUTE + 1):
        assert guard.reason(ADDRESS, now)
        guard.saw(ADDRESS, f"browser {number % 3}", now)
    assert guard.reason(ADDRESS, now) == ""


def test_a_few_requests_say_nothing() -> None:
    """Below as many, an address is not judged."""
    guard = Guard(0.2)
    for number in range(ENOUGH - 1):
        guard.saw(ADDRESS, f"browser {number % 2}", number * SETTLED_SECONDS)
    assert guard.reason(ADDRESS, ENOUGH * SETTLED_SECONDS) == ""


def test_visitors_are_those_of_the_last_hour() -> None:
    """Under the text that the firewall has of an address."""
    guard = Guard(0.2)
    guard.saw("192.0.2.1", "", 0.0)
    guard.saw("2001:DB8:0::1", "", 100.0)
    guard.saw("::ffff:192.0.2.9", "", 200.0)
    assert guard.visitors(300.0) == {"192.0.2.1", "2001:db8::1", "192.0.2.9"}
    assert guard.visitors(WINDOW_SECONDS + 50.0) == {"2001:db8::1", "192.0.2.9"}


def test_memory_is_bounded() -> None:
    """However many addresses come, and with however many agents."""
    guard = Guard(0.2)
    tracemalloc.start()
    for number in range(2_000):
        for agent in range(20):
            guard.saw(f"10.0.{number >> 8}.{number & 255}", f"agent {agent}" * 500, 0.0)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 2_000 * MAX_ADDRESSES < 96 * 2**20
