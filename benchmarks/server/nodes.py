"""``python -m benchmarks.server.nodes``: how long callers wait when the owner changes.

Three nodes, a database pair, and one caller at each node that is not the owner, which asks again at
once.  The pause of an event is the longest time between two answers at any of these nodes around
it.  The same run compares a call at a gateway with one at the owner, in pairs.  Each event begins
when a follower has the states.  A hand-over is `tidegate cluster move`: the owner goes on as a
gateway.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import attrs
import click
import httpx2 as httpx
from tools.cluster import EVENT, Cluster, Node, cluster

from tidegate_server.cluster.ownership import plan
from tidegate_server.stores.directory.members import ClusterReader

SETTLE_SECONDS = 0.5
PAIRS = 300


@attrs.define
class Caller:
    """Asks a node one call after the other, and notes when answers came."""

    made: Cluster
    node: Node
    is_over: threading.Event = attrs.field(factory=threading.Event)
    answered: list[float] = attrs.field(factory=list)
    refused: int = 0

    def run(self) -> None:
        """Ask until it is over."""
        with httpx.Client(timeout=30) as client:
            while not self.is_over.is_set():
                if call(self.made, self.node, client):
                    self.answered.append(time.monotonic())
                else:
                    self.refused += 1

    def pause(self) -> float:
        """The longest time between two answers, in seconds."""
        return max(after - before for before, after in pairwise(self.answered))


def call(made: Cluster, node: Node, client: httpx.Client) -> bool:
    """Whether a call is answered with a decision."""
    answer = client.post(
        f"{node.base_url}/api/v1/runtime/mitigation",
        json=EVENT,
        headers={"x-service-api-key": made.demo.api_key},
    )
    time.sleep(0.02)  # the limit of the key is 100 a second
    return answer.status_code == 200


@contextmanager
def asking(made: Cluster, nodes: Iterable[Node]) -> Iterator[list[Caller]]:
    """A caller at each of some nodes, during the block and for a while before and after it."""
    callers = [Caller(made, node) for node in nodes]
    threads = [threading.Thread(target=each.run) for each in callers]
    for thread in threads:
        thread.start()
    time.sleep(SETTLE_SECONDS)
    yield callers
    time.sleep(SETTLE_SECONDS)
    for each in callers:
        each.is_over.set()
    for thread in threads:
        thread.join()


def change_owner(made: Cluster, *, is_killed: bool) -> tuple[float, int]:
    """Kill the owner or move the log; the pause in seconds, and how many calls were refused."""
    made.wait_until_level()
    owner = made.owner()
    with asking(made, made.others()) as callers:
        if is_killed:
            owner.kill()
        else:
            hand_over(made)
        made.wait_until_ready()
    if is_killed:
        owner.start()
        made.wait_until_ready()
    return max(each.pause() for each in callers), sum(each.refused for each in callers)


def hand_over(made: Cluster) -> None:
    """Move the log to the node that follows it, as the command does."""
    reader = ClusterReader(made.url)
    try:
        follower = plan(reader.read())[0].follower
        assert follower is not None
        reader.move(0, follower)
        while reader.read().partitions[0].owner != follower:
            time.sleep(0.05)
    finally:
        reader.close()


def described(pauses: list[float], refused: int) -> str:
    """The pauses of all events, in words."""
    ordered = sorted(pauses)
    most = ordered[int(0.9 * (len(ordered) - 1))]
    return (
        f"{len(ordered)} times: paused {statistics.median(ordered):.2f} s at the median,"
        f" {most:.2f} at p90, {ordered[-1]:.2f} at most; {refused} calls refused"
    )


def detour(made: Cluster) -> float:
    """The median time of a call at a gateway, as a multiple of one at the owner."""
    owner, gateway = made.owner(), made.others()[0]
    times: dict[str, list[float]] = {owner.name: [], gateway.name: []}
    with httpx.Client(timeout=30) as client:
        for _ in range(PAIRS):
            for node in (owner, gateway):
                started = time.perf_counter()
                assert call(made, node, client)
                times[node.name].append(time.perf_counter() - started - 0.02)
    return statistics.median(times[gateway.name]) / statistics.median(times[owner.name])


@click.command()
@click.option("--moves", default=50, show_default=True)
@click.option("--kills", default=20, show_default=True)
def main(moves: int, kills: int) -> None:
    """Move the log and kill owners under load, and print the pauses."""
    with tempfile.TemporaryDirectory() as directory, cluster(Path(directory)) as made:
        click.echo(f"a call at a gateway takes {detour(made):.2f} times one at the owner")
        for times, is_killed, what in ((moves, False, "handed over"), (kills, True, "killed")):
            found = [change_owner(made, is_killed=is_killed) for _ in range(times)]
            if found:
                refused = sum(each for _, each in found)
                click.echo(f"{what}, {described([pause for pause, _ in found], refused)}")


if __name__ == "__main__":
    main()
