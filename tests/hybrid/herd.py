"""Many daemons on one service: how soon all of them know a change, and what each costs.

``python -m tests.hybrid.herd --daemons 1000`` keeps as many long polls open as there are daemons,
changes a policy, and prints when their answers came.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hybrid.running import Service, service


async def poll(made: Service, after: int, started: asyncio.Event, count: list[int]) -> float:
    """One long poll, as a daemon has one open; when its answer was there."""
    port = int(made.said["base_url"].rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET /api/v1/sync/changes?after={after}&wait=60 HTTP/1.1\r\nhost: a\r\n"
        f"accept-encoding: gzip\r\nx-service-api-key: {made.said['sync_api_key']}\r\n\r\n".encode()
    )
    await writer.drain()
    count[0] += 1
    started.set()
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = next(
        each for each in head.lower().split(b"\r\n") if each.startswith(b"content-length")
    )
    await reader.readexactly(int(length.rpartition(b":")[2]))
    at = time.monotonic()
    writer.close()
    return at


def resident(process_id: int) -> int:
    """KiB of a process."""
    text = Path(f"/proc/{process_id}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


async def measure(made: Service, daemons: int) -> dict[str, float]:
    """The figures."""
    after = made.sync("GET", "/snapshot").json()["sequence"]
    before = resident(made.process.pid)
    started, count = asyncio.Event(), [0]
    polls = [asyncio.create_task(poll(made, after, started, count)) for _ in range(daemons)]
    while count[0] < daemons:
        await asyncio.sleep(0.1)
    await asyncio.sleep(3)
    held = resident(made.process.pid)
    policy = (await asyncio.to_thread(made.call, "GET", "/policies"))[0]
    change = {"description": f"changed at {time.time()}"}
    begun = time.monotonic()
    await asyncio.to_thread(made.call, "PATCH", f"/policies/{policy['policy_id']}", change)
    took = sorted(at - begun for at in await asyncio.gather(*polls))
    return {
        "daemons": daemons,
        "p50_seconds": round(took[daemons // 2], 3),
        "p99_seconds": round(took[int(daemons * 0.99)], 3),
        "slowest_seconds": round(took[-1], 3),
        "kib_each": round((held - before) / daemons, 1),
    }


def main() -> None:
    """Run as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--daemons", type=int, default=1_000)
    given = parser.parse_args()
    with TemporaryDirectory() as name, service(Path(name)) as made:
        print(json.dumps(asyncio.run(measure(made, given.daemons))))


if __name__ == "__main__":
    main()
