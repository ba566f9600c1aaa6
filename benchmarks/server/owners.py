"""The cost of a hot call to its owner with two partitions, compared with one partition.

Two clusters of two nodes run side by side, and rounds of calls alternate between them: at the
owner with one partition, at the owner with two, and at the other node with two, which hands the
calls on.  The figures are the processor time of the owner's process for a call, and that of the
node that hands it on, which other work on the machine disturbs little.

    python -m benchmarks.server.owners
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import psycopg
from tools.cluster import EVENT, Cluster, Node, cluster

from benchmarks.server.served import UNLIMITED

ROUNDS, SECONDS, CONNECTIONS = 4, 3.0, 32
SETTLE_SECONDS = 10.0
"""Until partitions are shared out, and limits are those of the measurement."""


def main() -> None:
    """Print each round and the medians of the ratios."""
    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
        cluster(Path(first), "ab") as one,
        cluster(Path(second), "ab", partitions=2) as two,
    ):
        for made in (one, two):
            unlimited(made)
        time.sleep(SETTLE_SECONDS)
        at_owner, handed_on, handing_on = [], [], []
        for _ in range(ROUNDS):
            with_one, _ = measured(one, one.owner())
            with_two, _ = measured(two, two.owner())
            (other,) = two.others()
            from_other, at_other = measured(two, other)
            at_owner.append(with_two / with_one)
            handed_on.append(from_other / with_one)
            handing_on.append(at_other / with_one)
            print(
                f"{with_one:.0f} us with one, {with_two:.0f} us with two, {from_other:.0f} us where"
                f" the other node handed them on, for {at_other:.0f} us of its own",
                flush=True,
            )
        print(
            f"{statistics.median(at_owner):.2f} times the processor time at the owner's port,"
            f" {statistics.median(handed_on):.2f} times from the other node, which takes"
            f" {statistics.median(handing_on):.2f} times itself, at the medians"
        )


def unlimited(made: Cluster) -> None:
    """Raise the limit of the key."""
    with psycopg.connect(made.url) as connection:
        query = "UPDATE api_keys SET rate_limit_per_minute = %s"
        connection.execute(query, (UNLIMITED,))
        connection.execute("UPDATE store_meta SET value = value + 1 WHERE name = 'changes'")


def measured(made: Cluster, node: Node) -> tuple[float, float]:
    """Microseconds of processor time for a call at a node: of the owner, of the node."""
    processes = [each.process.pid for each in (made.owner(), node) if each.process is not None]
    before = [processor_seconds(each) for each in processes]
    calls = asyncio.run(called(node.base_url, made.demo.api_key))
    owner, asked = (
        (processor_seconds(each) - earlier) / calls * 1e6
        for each, earlier in zip(processes, before, strict=True)
    )
    return owner, asked


def processor_seconds(process: int) -> float:
    """The processor time that a process has used so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def called(base_url: str, api_key: str) -> int:
    """Call for some seconds on many connections; how many calls were answered."""
    address = urlsplit(base_url)
    body = orjson.dumps(EVENT)
    head = (
        f"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: {address.netloc}\r\n"
        f"x-service-api-key: {api_key}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    until = time.monotonic() + SECONDS

    async def call_on() -> int:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        count = 0
        while time.monotonic() < until:
            writer.write(request)
            lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            assert b" 200 " in lines[0], lines[0]
            size = next(line for line in lines if line.startswith(b"content-length:"))
            await reader.readexactly(int(size.partition(b":")[2]))
            count += 1
        writer.close()
        return count

    return sum(await asyncio.gather(*(call_on() for _ in range(CONNECTIONS))))


if __name__ == "__main__":
    main()
