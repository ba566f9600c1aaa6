"""Bounds of all connections: their number, the shares of addresses, open files."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from tidegate.server.connection.bounds import (
    MAX_HELD_BYTES,
    MAX_SHARE_BYTES,
    SPARE_FILES,
    Bounds,
    room_for,
    share_of,
)


def test_an_address_has_its_share() -> None:
    """An address can hold its share; a closed connection makes room, and others have the rest."""
    bounds = Bounds(max_connections=5, max_per_address=3)
    assert [bounds.enter("a") for _ in range(4)] == [True, True, True, False]
    assert [bounds.enter("b") for _ in range(3)] == [True, True, False]
    bounds.leave("a")
    assert bounds.enter("b")
    assert not bounds.enter("c")


def test_an_address_holds_its_share_of_the_memory() -> None:
    """Other addresses are refused only when all together hold too much."""
    bounds = Bounds()
    bounds.hold("a", MAX_SHARE_BYTES + 1)
    assert (bounds.is_full("a"), bounds.is_full("b"), bounds.is_full(None)) == (True, False, False)
    bounds.hold(None, MAX_HELD_BYTES)
    assert bounds.is_full("b")
    bounds.hold(None, -MAX_HELD_BYTES)
    bounds.hold("a", -MAX_SHARE_BYTES)
    assert not bounds.is_full("a")
    assert bounds.held == 1


def test_a_socket_without_an_address_is_not_shared_out() -> None:
    """All callers over a Unix socket count as one proxy."""
    bounds = Bounds(max_connections=5, max_per_address=1)
    assert [bounds.enter(None) for _ in range(6)] == [True] * 5 + [False]


def test_it_is_crowded_near_its_end() -> None:
    """Near the bound the connections count as crowded, so idle ones are closed early."""
    bounds = Bounds(max_connections=10, max_per_address=10)
    crowded = []
    for _ in range(10):
        bounds.enter("a")
        crowded.append(bounds.is_crowded)
    assert crowded == [False] * 9 + [True]


@pytest.mark.parametrize(
    ("host", "share"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::9", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", None),
    ],
)
def test_a_share_is_of_an_address_or_a_network(host: str, share: str | None) -> None:
    """A share belongs to an IPv4 address or to an IPv6 network of 64 bits."""
    assert share_of((host, 1)) == share
    assert share_of(None) is None


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
