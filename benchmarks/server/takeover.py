"""``python -m benchmarks.server.takeover``: how long callers wait when an owner of much state dies.

The owner of the log gets events of a million visitors, each a key with a window, saves the states,
and gets half a million events more, which are the tail of the log.  Then it is killed, with
``--alone`` together with its follower, so that the last node reads the saved states and the tail.
Callers at each node that is left ask again at once.  The pause is the longest time between two
answers at any of these nodes.  The killed nodes are started again, become level, and the next round
begins; a follower that began late has read the tail as well.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import click
import httpx2 as httpx
import orjson
import psycopg
from tools.cluster import Cluster, cluster

from benchmarks.machine import describe
from benchmarks.server.nodes import asking
from benchmarks.server.owners import unlimited
from benchmarks.server.served import LIMITS
from tidegate_server.cluster.ownership import plan
from tidegate_server.stores.directory.members import ClusterReader

EVENTS, CONNECTIONS = 1_000, 4
SETTLE_SECONDS = 1.0
PATIENCE_SECONDS = 120.0
DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    "actions": [{"name": "Visit", "expression": "true"}],
    "entities": [{"name": "Visitor", "priority": 1, "key_fields": ["request.client_ip"]}],
    "mitigations": [
        {"name": "Refuse", "mode": "Block", "ttl_seconds": 60, "block": {"status_code": 403}}
    ],
    "policies": [
        {
            "name": "Too often",
            "priority": 1,
            "clauses": [
                {
                    "name": "a day",
                    "actions": ["visit"],
                    "entity": "visitor",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 86_400, "threshold": 1_000},
                }
            ],
        }
    ],
}


@click.command()
@click.option("--keys", default=1_000_000, show_default=True, help="Visitors.")
@click.option("--tail", default=500_000, show_default=True, help="Decisions since the save.")
@click.option("--rounds", default=10, show_default=True)
@click.option("--alone", is_flag=True, help="The follower dies with the owner.")
def main(keys: int, tail: int, rounds: int, alone: bool) -> None:
    """Fill the states, kill owners under load, and print the pauses."""
    click.echo(describe())
    # The states are saved after the first visit of every visitor, and not again.
    os.environ["TIDEGATE_STORE_SNAPSHOT_EVERY"] = str(max(1_000, keys, tail + 1))
    os.environ.update(LIMITS)
    with tempfile.TemporaryDirectory() as directory, cluster(Path(directory)) as made:
        fill(made, keys, tail)
        pauses = [pause(made, alone=alone) for _ in range(rounds)]
        ordered = sorted(pauses)
        click.echo(
            f"{keys:,} keys, a tail of {tail:,} decisions,"
            f" {'no follower' if alone else 'a follower'}, {rounds} times:"
            f" paused {statistics.median(ordered):.2f} s at the median, {ordered[-1]:.2f} at most"
        )


def fill(made: Cluster, keys: int, tail: int) -> None:
    """Send the events, with the save of the states between the keys and the tail."""
    tenant = f"{made.owner().base_url}/api/v1/tenants/{made.demo.tenant_id}"
    headers = {"authorization": f"Bearer {made.demo.owner_token}"}
    document = {**DEFINITIONS, "tenant": {"tenant_id": made.demo.tenant_id, "name": "Load"}}
    answer = httpx.put(f"{tenant}/definitions", json=document, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    unlimited(made)
    time.sleep(SETTLE_SECONDS)
    started = time.monotonic()
    # One batch more, since the definitions have numbers too.
    send(made, visits(keys + EVENTS))
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_saved(made):
        assert time.monotonic() < until, "the states were not saved"
        time.sleep(0.5)
    click.echo(f"{keys:,} keys sent and saved after {time.monotonic() - started:.0f} s")
    send(made, visits(tail))
    made.wait_until_level()
    click.echo(f"the tail was there after {time.monotonic() - started:.0f} s")


def visits(count: int) -> Iterator[bytes]:
    """Batches of events, one of each visitor."""
    numbers = iter(range(count))
    while batch := list(islice(numbers, EVENTS)):
        yield orjson.dumps(
            [
                {"request": {"method": "GET", "path": "/", "client_ip": address(number)}}
                for number in batch
            ]
        )


def address(number: int) -> str:
    """The address of a visitor."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def send(made: Cluster, batches: Iterator[bytes]) -> None:
    """Send batches to the owner, a few at a time."""
    headers = {"x-service-api-key": made.demo.api_key, "content-type": "application/json"}
    url = f"{made.owner().base_url}/api/v1/beacon/events"
    with httpx.Client(timeout=60) as client, ThreadPoolExecutor(CONNECTIONS) as pool:
        while some := list(islice(batches, CONNECTIONS)):
            for answer in pool.map(
                lambda body: client.post(url, content=body, headers=headers), some
            ):
                assert answer.status_code == 200, answer.text
                taken = answer.content.count(b'"status":200')
                assert taken == EVENTS, answer.text[-300:]


def is_saved(made: Cluster) -> bool:
    """Whether the states are in the database."""
    with psycopg.connect(made.url) as connection:
        return connection.execute("SELECT 1 FROM snapshots").fetchone() is not None


def pause(made: Cluster, *, alone: bool) -> float:
    """Kill the owner while callers ask at the nodes that are left; the longest pause in seconds."""
    made.wait_until_level()
    killed = [made.owner()]
    if alone:
        killed.append(made.nodes[follower(made)])
    left = [each for each in made.nodes.values() if each not in killed]
    with asking(made, left) as callers:
        for node in killed:
            node.kill()
        made.wait_until_ready()
    for node in killed:
        node.start()
    made.wait_until_ready()
    longest = max(each.pause() for each in callers)
    click.echo(f"paused {longest:.2f} s, {sum(each.refused for each in callers)} calls refused")
    return longest


def follower(made: Cluster) -> str:
    """The node that follows the log."""
    reader = ClusterReader(made.url)
    try:
        found = plan(reader.read())[0].follower
    finally:
        reader.close()
    assert found is not None
    return found


if __name__ == "__main__":
    main()
