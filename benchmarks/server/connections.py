"""``python -m benchmarks.server.connections``: what hostile connections cost the server in memory.

Each attack opens many connections to a fresh server, sends what never ends, and reads nothing.
For each are shown the server's resident memory before, at most and after, what of the attack
the server took, and the slowest answer that a quiet caller got meanwhile.  A line is met when
the memory grew by at most 150 MiB and the server had closed the connections, or left them idle.
"""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import attrs
import click

from benchmarks.server.served import Served, serving

MIB = 1024 * 1024
GROWTH_BYTES = 150 * MIB
STILL = 100
"""Rounds without anything taken, two seconds, after which the attack ends."""
EVENT = b'{"fields":{"a":"b"}}'


@attrs.frozen
class Attack:
    """The bytes sent on each of a number of connections."""

    name: str
    connections: int
    begun: bytes
    more: bytes
    most: int = 15 * MIB
    """Bytes of a connection."""


@attrs.frozen
class Cost:
    """The cost of an attack, in bytes and seconds."""

    before: int
    most: int
    after: int
    sent: int
    refused: int
    """Connections that the server ended."""
    slowest: float
    """Answer to a caller during the attack."""

    @property
    def grown(self) -> int:
        return self.most - self.before


def attacks(api_key: str) -> Sequence[Attack]:
    """All of them.

    Args:
        api_key: of the tenant that attacks, where a credential is needed.
    """
    head = b"POST /api/v1/tenants HTTP/1.1\r\nhost: t\r\n"
    key = b"x-service-api-key: " + api_key.encode() + b"\r\ncontent-type: application/json\r\n"
    hot = b"POST /api/v1/runtime/mitigation HTTP/1.1\r\nhost: t\r\n" + key
    batch = b"POST /api/v1/beacon/events HTTP/1.1\r\nhost: t\r\n" + key
    login = b"POST /api/v1/auth/local/token HTTP/1.1\r\nhost: t\r\n"
    event = hot + b"content-length: %d\r\n\r\n%b" % (len(EVENT), EVENT)
    health = b"GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n"
    chunked = b"transfer-encoding: chunked\r\n\r\n"
    blanks = b" " * 65_536
    return (
        Attack("header without end", 200, head + b"x: ", b"y" * 65_536),
        Attack("address without end", 200, b"GET /", b"a" * 65_536),
        Attack("headers without end", 200, head, b"x: y\r\n" * 10_000),
        Attack("chunk extension without end", 200, head + chunked + b"2;", b"x" * 65_536),
        Attack("trailers without end", 200, head + chunked + b"0\r\n", b"x: y\r\n" * 10_000),
        Attack("pipelined events, unread", 40, b"", event * 1_000),
        Attack("pipelined health, unread", 40, b"", health * 2_000),
        Attack("half an event", 1_000, hot + b"content-length: 65536\r\n\r\n", blanks, 65_000),
        Attack("half a login", 1_000, login + b"content-length: 65536\r\n\r\n", blanks, 65_000),
        Attack("large logins", 1_000, login + b"content-length: 9999999\r\n\r\n", blanks),
        Attack("half a batch", 200, batch + b"content-length: 4194304\r\n\r\n", blanks, 4_000_000),
        Attack("connections", 6_000, b"", b"G", 1),
    )


def pour(
    address: tuple[str, int], resident: Callable[[], int], attack: Attack, healthy: bool = True
) -> Cost:
    """Do an attack until the server takes nothing further.

    Args:
        address: of the server.
        resident: its memory now, in bytes.
        healthy: whether a quiet caller is timed meanwhile.
    """
    before = most = resident()
    sent = refused = still = 0
    slowest = 0.0
    with ExitStack() as stack:
        left: dict[socket.socket, int] = {}
        for _ in range(attack.connections):
            with suppress(OSError):
                opened = stack.enter_context(socket.create_connection(address, timeout=10))
                opened.setblocking(False)
                opened.send(attack.begun)
                left[opened] = attack.most
        # The server has not yet handled all it took: memory is watched for a while afterwards.
        while still < STILL:
            taken = 0
            for opened, remaining in list(left.items()):
                try:
                    count = opened.send(attack.more[:remaining])
                except BlockingIOError:
                    continue
                except OSError:
                    refused += 1
                    del left[opened]
                    continue
                taken += count
                left[opened] -= count
                if not left[opened]:
                    del left[opened]
            sent += taken
            still = 0 if taken else still + 1
            most = max(most, resident())
            if healthy:
                slowest = max(slowest, time_health(address))
            time.sleep(0.02)
    time.sleep(0.5)
    after = resident()
    return Cost(before, max(most, after), after, sent, refused, slowest)


def time_health(address: tuple[str, int]) -> float:
    """The time of ``/healthz`` for a new connection, in seconds; 0 if it is refused."""
    started = time.perf_counter()
    connection = http.client.HTTPConnection(*address, timeout=30)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except OSError:
        return 0.0
    finally:
        connection.close()
    return time.perf_counter() - started


def resident_bytes(pid: int) -> int:
    """The memory that a process has now."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [each for each in status.splitlines() if each.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


def address_of(served: Served) -> tuple[str, int]:
    """Host and port of a server."""
    host, _, port = served.address.rpartition(":")
    return host, int(port)


@click.command()
@click.option("--only", default="", help="Attacks whose name holds this.")
def main(only: str) -> None:
    """Attack a server of its own, and exit with 1 where a line does not hold."""
    click.echo(
        f"{'':28}{'before':>8}{'most':>8}{'after':>8}{'sent':>8} MiB{'ended':>7}  healthz ms"
    )
    is_met = True
    for number in range(len(attacks(""))):
        with serving({"apiVersion": "tidegate/v1"}, core=None) as served:
            attack = attacks(served.api_key)[number]
            if only not in attack.name:
                continue
            cost = pour(address_of(served), lambda: resident_bytes(served.pid), attack)
            sizes = (cost.before, cost.most, cost.after, cost.sent)
            figures = "".join(f"{size / MIB:8.0f}" for size in sizes)
            click.echo(f"{attack.name:28}{figures}{cost.refused:8}{cost.slowest * 1e3:12.0f}")
            is_met = is_met and cost.grown <= GROWTH_BYTES
    if not is_met:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
