"""The blocked addresses that are dropped."""

from __future__ import annotations

from ipaddress import IPv6Network, ip_address, ip_network

from tidegate_server.enforcement.blocks import Change
from tidegate_server.enforcement.drops import Drops, Limits
from tidegate_server.enforcement.guard import Guard

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND
GATEWAY = "192.0.2.1"


def blocked(*addresses: str, until: int = HOUR) -> list[Change]:
    return [Change(ip_address(each), until) for each in addresses]


def made(
    seconds: int = 600, drops: int = 100, per_minute: int = 100, share: float = 0.5
) -> tuple[Drops, Guard]:
    guard = Guard(0.2)
    never = {GATEWAY: "gateway"}
    limits = Limits(seconds, drops, per_minute, share)
    return Drops(limits, guard, lambda address: never.get(str(address), "")), guard


def visit(guard: Guard, *addresses: str, at: float = 0.0) -> None:
    for each in addresses:
        guard.saw(each, "browser", at)


def said(changes: list[Change]) -> dict[str, int | None]:
    return {str(each.address): each.until for each in changes}


def numbered(count: int, first: int = 1) -> list[str]:
    return [f"198.51.100.{number}" for number in range(first, first + count)]


def test_an_address_that_never_visited_is_not_dropped() -> None:
    """It is from its first request on."""
    drops, guard = made()
    drops.block(blocked("192.0.2.7"))
    assert drops.due(0, 0.0) == []
    visit(guard, "192.0.2.7")
    assert said(drops.due(0, 0.0)) == {"192.0.2.7": 600 * SECOND}
    assert drops.due(0, 1.0) == []


def test_each_address_of_a_blocked_network_is_dropped_once_it_visits() -> None:
    """A client with another address of its /64 is dropped again; a lift lets all of them in."""
    drops, guard = made()
    network = ip_network("2001:db8:1:2::/64")
    assert isinstance(network, IPv6Network)
    drops.block([Change(network, HOUR)])
    visit(guard, "2001:db8:1:2::7", "2001:db8:1:3::7", "192.0.2.7")
    assert said(drops.due(0, 0.0)) == {"2001:db8:1:2::7": 600 * SECOND}
    visit(guard, "2001:db8:1:2::8")
    assert said(drops.due(0, 1.0)) == {"2001:db8:1:2::8": 600 * SECOND}
    assert len(drops.dropped()) == 2
    drops.block([Change(network, None)])
    assert said(drops.due(0, 2.0)) == {"2001:db8:1:2::7": None, "2001:db8:1:2::8": None}


def test_an_address_that_is_never_dropped_is_spared() -> None:
    """Also when it becomes one later."""
    drops, guard = made()
    visit(guard, GATEWAY)
    drops.block(blocked(GATEWAY))
    assert drops.due(0, 0.0) == []
    assert drops.spared == {GATEWAY: "gateway"}
    never: dict[str, str] = {}
    drops = Drops(Limits(600, 9, 9, 1.0), guard, lambda address: never.get(str(address), ""))
    drops.block(blocked(GATEWAY))
    assert said(drops.due(0, 0.0)) == {GATEWAY: 600 * SECOND}
    never[GATEWAY] = "session"
    assert said(drops.spare()) == {GATEWAY: None}
    assert drops.due(0, 1.0) == []


def test_an_address_is_dropped_for_a_bounded_time_for_one_block() -> None:
    """The next Block of it counts again, and one that is lifted lets it in at once."""
    drops, guard = made(seconds=10)
    visit(guard, "192.0.2.7")
    drops.block(blocked("192.0.2.7"))
    assert said(drops.due(0, 0.0)) == {"192.0.2.7": 10 * SECOND}
    assert drops.due(11 * SECOND, 11.0) == []
    assert len(drops) == 0
    drops.block(blocked("192.0.2.7", until=2 * HOUR))
    assert said(drops.due(12 * SECOND, 12.0)) == {"192.0.2.7": 22 * SECOND}
    drops.block([Change(ip_address("192.0.2.7"), None)])
    assert said(drops.due(13 * SECOND, 13.0)) == {"192.0.2.7": None}


def test_a_block_with_a_new_end_is_dropped_no_longer_than_at_first() -> None:
    """A shorter end counts at once."""
    drops, guard = made(seconds=10)
    visit(guard, "192.0.2.7")
    drops.block(blocked("192.0.2.7"))
    drops.due(0, 0.0)
    drops.block(blocked("192.0.2.7", until=2 * HOUR))
    assert said(drops.due(4 * SECOND, 4.0)) == {"192.0.2.7": 10 * SECOND}
    drops.block(blocked("192.0.2.7", until=6 * SECOND))
    assert said(drops.due(5 * SECOND, 5.0)) == {"192.0.2.7": 6 * SECOND}


def test_a_snapshot_lets_in_whom_it_does_not_name() -> None:
    """Others stay as they are."""
    drops, guard = made()
    visit(guard, "192.0.2.7", "192.0.2.8")
    drops.block(blocked("192.0.2.7", "192.0.2.8"))
    drops.due(0, 0.0)
    drops.replace(blocked("192.0.2.8"))
    assert said(drops.due(SECOND, 1.0)) == {"192.0.2.7": None}
    assert said(drops.dropped()) == {"192.0.2.8": 600 * SECOND}


def test_so_many_are_dropped_at_a_time_and_in_a_minute() -> None:
    """The others wait, and are counted by the bound for which they do."""
    drops, guard = made(drops=3, per_minute=2, share=1.0)
    visit(guard, *numbered(5))
    drops.block(blocked(*numbered(5)))
    assert len(drops.due(0, 0.0)) == 2
    assert len(drops.due(0, 30.0)) == 0
    assert len(drops.due(0, 61.0)) == 1
    assert len(drops.due(0, 130.0)) == 0
    assert drops.waiting == {"max_drops": 2, "drops_per_minute": 0}
    assert drops.reached == {"max_drops": 1, "drops_per_minute": 1}
    drops.block([Change(ip_address(each), None) for each in numbered(5)])
    drops.due(0, 131.0)
    assert drops.waiting == {"max_drops": 0, "drops_per_minute": 0}


def test_more_than_a_share_of_the_visitors_stops_everything() -> None:
    """All are let in again, and nobody is dropped until the next start."""
    drops, guard = made()
    visit(guard, *numbered(30))
    drops.block(blocked(*numbered(15)))
    assert len(drops.due(0, 0.0)) == 15
    assert not drops.stopped
    drops.block(blocked(*numbered(1, 16)))
    assert said(drops.due(0, 1.0)) == dict.fromkeys(numbered(15))
    assert drops.stopped.startswith("16 of 30 recent visitors would be dropped")
    drops.block([Change(ip_address(each), None) for each in numbered(14)])
    assert drops.due(0, 2.0) == []
    assert drops.dropped() == []


def test_a_share_of_few_visitors_says_nothing() -> None:
    """A site that only a scanner visits drops it."""
    drops, guard = made()
    visit(guard, "192.0.2.7")
    drops.block(blocked("192.0.2.7"))
    assert len(drops.due(0, 0.0)) == 1


def test_nobody_waits_once_enforcement_has_stopped() -> None:
    """The stop is the state that counts."""
    drops, guard = made(per_minute=2)
    visit(guard, *numbered(30))
    drops.block(blocked(*numbered(3)))
    drops.due(0, 0.0)
    assert drops.waiting == {"max_drops": 0, "drops_per_minute": 1}
    drops.block(blocked(*numbered(20)))
    drops.due(0, 1.0)
    assert drops.stopped
    assert drops.waiting == {"max_drops": 0, "drops_per_minute": 0}
    assert drops.visitors(1.0) == 30
