"""The firewall's table, in a namespace of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest
from tools.network import Machine, machines

from tidegate_server.enforcement.blocks import Change
from tidegate_server.enforcement.nftables import LEASE_SECONDS, PRIORITY, Firewall

NOW = time.time_ns()


@pytest.fixture
def site(namespace: None) -> Iterator[Machine]:
    """A machine without a table."""
    del namespace
    with machines("table") as made:
        yield made["table"]


def firewall(site: Machine, *ports: int) -> Firewall:
    return Firewall(ports, site.inside(["nft"]))


def blocked(address: str, seconds: int | None) -> Change:
    until = None if seconds is None else NOW + seconds * 1_000_000_000
    return Change(ip_address(address), until)


def listed(site: Machine) -> list[dict[str, Any]]:
    done = site.run("nft", "-j", "list", "ruleset", check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["nftables"]
    return found


def timeouts(site: Machine) -> list[int]:
    sets = [each["set"] for each in listed(site) if "set" in each]
    return [element["elem"]["timeout"] for each in sets for element in each.get("elem", [])]


def test_only_the_watched_ports_are_dropped(site: Machine) -> None:
    """Each rule that drops names the ports; the chains come late, and accept everything else."""
    firewall(site, 80, 8080).replace([blocked("192.0.2.7", 60), blocked("2001:db8::7", 60)], NOW)
    chains = [each["chain"] for each in listed(site) if "chain" in each]
    assert {each["prio"] for each in chains} == {PRIORITY}
    assert {each["policy"] for each in chains} == {"accept"}
    rules = [each["rule"]["expr"] for each in listed(site) if "rule" in each]
    drops = [each for each in rules if {"drop": None} in each]
    assert len(drops) == 4
    for each in drops:
        assert each[0]["match"]["right"] == "@ports"
        assert each[1]["match"]["right"] in ("@blocked4", "@blocked6")
    assert len(rules) == 6


def test_every_element_ends_by_itself(site: Machine) -> None:
    """The ports after the lease, which a renewal begins again; the addresses after their time."""
    made = firewall(site, 80)
    made.replace([blocked("192.0.2.7", 60)], NOW)
    made.apply([blocked("192.0.2.8", 70), blocked("2001:db8::8", 80)], NOW)
    assert sorted(timeouts(site)) == [LEASE_SECONDS, 60, 70, 80]
    made.renew()
    made.renew()
    assert sorted(timeouts(site)) == [LEASE_SECONDS, 60, 70, 80]
    assert made.listed() == {"192.0.2.7", "192.0.2.8", "2001:db8::8"}


def test_an_address_is_let_in_by_its_last_change(site: Machine) -> None:
    """Whether it was there or not."""
    made = firewall(site, 80)
    made.replace([blocked("192.0.2.7", 60)], NOW)
    made.apply(
        [
            blocked("192.0.2.7", None),
            blocked("192.0.2.8", None),
            blocked("192.0.2.9", 60),
            blocked("192.0.2.9", None),
        ],
        NOW,
    )
    assert made.listed() == set()


def test_other_tables_are_left_alone(site: Machine) -> None:
    """Also when ours is removed, twice."""
    site.run("nft", "add table inet own; add chain inet own input", check=True)
    made = firewall(site, 80)
    made.replace([blocked("192.0.2.7", 60)], NOW)
    made.remove()
    made.remove()
    assert [each["table"]["name"] for each in listed(site) if "table" in each] == ["own"]
