"""``python -m benchmarks.server.nodes``: how long callers wait when the owner changes.

Three nodes, a database pair, and one caller at each node that is not the owner, which asks again at
once.  The pause of an event is the longest time between two answers at any of these nodes around
it.  The same run compares a call at a gateway with one at the owner, in pairs.
"""

from __future__ import annotations

import signal
import statistics
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

import attrs
import click
import httpx2 as httpx
from tools.cluster import EVENT, Cluster, Node, cluster

SETTLE_SECONDS = 1.0
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


def change_owner(made: Cluster, *, is_killed: bool) -> tuple[float, int]:
    """End the owner; the pause in seconds, and how many calls were refused."""
    owner, others = made.owner(), made.others()
    callers = [Caller(made, node) for node in others]
    threads = [threading.Thread(target=each.run) for each in callers]
    for thread in threads:
        thread.start()
    time.sleep(SETTLE_SECONDS)
    assert owner.process is not None
    if is_killed:
        owner.kill()
    else:
        owner.process.send_signal(signal.SIGTERM)
        owner.process.wait(60)
    made.wait_until_ready()
    time.sleep(SETTLE_SECONDS)
    for each in callers:
        each.is_over.set()
    for thread in threads:
        thread.join()
    owner.start()
    made.wait_until_ready()
    return max(each.pause() for each in callers), sum(each.refused for each in callers)


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
@click.option("--times", default=10, show_default=True)
def main(times: int) -> None:
    """Kill and drain owners under load, and print the pauses."""
    with tempfile.TemporaryDirectory() as directory, cluster(Path(directory)) as made:
        click.echo(f"a call at a gateway takes {detour(made):.2f} times one at the owner")
        for is_killed, what in ((True, "killed"), (False, "handed over")):
            found = [change_owner(made, is_killed=is_killed) for _ in range(times)]
            pauses = [pause for pause, _ in found]
            click.echo(
                f"{what}, {times} times: paused {statistics.median(pauses):.2f} s at the median,"
                f" {max(pauses):.2f} at most; {sum(refused for _, refused in found)} calls refused"
            )


if __name__ == "__main__":
    main()
