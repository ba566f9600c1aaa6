"""Callers of a node that call on while its owner changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import httpx2 as httpx
from tools.cluster import EVENT, Cluster, Node

from tidegate_server.owners.forwarding import HOT


@attrs.define
class Calls:
    """Answers, with the seconds that each took."""

    answers: list[tuple[httpx.Response, float]] = attrs.field(factory=list)

    def require_hold(self) -> None:
        """Each call was answered, or had waited for an owner as long as the page says.

        The wait is of the product, and how long a hand-over takes is of the machine: a busy one
        may take longer than a call waits.
        """
        statuses = [answer.status_code for answer, _ in self.answers]
        assert statuses[0] == statuses[-1] == 200
        for answer, seconds in self.answers:
            if answer.status_code != 200:
                assert answer.status_code == 503, answer.text
                assert seconds >= HOT.hold
                assert int(answer.headers["retry-after"]) >= 1


@contextmanager
def calling(made: Cluster, node: Node, callers: int) -> Iterator[Calls]:
    """Call a node from threads while the block runs, once before and once after it."""
    calls = Calls()
    over = threading.Event()

    def call() -> None:
        started = time.monotonic()
        calls.answers.append((made.decide(node, EVENT), time.monotonic() - started))

    def call_on() -> None:
        while not over.is_set():
            call()

    call()
    threads = [threading.Thread(target=call_on) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield calls
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    made.wait_until_ready()
    call()
