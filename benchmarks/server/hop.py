"""The cost of handing a hot call to another server worker, on each side.

A gateway and an owner are two processes with the service's own links, inbox and loop.  The owner
answers at once, so neither HTTP nor a decision is in the figures: they are the hop alone.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uvloop

from tidegate_server.hot.hot_path import RUNTIME
from tidegate_server.http.answer import Answer, Outcome
from tidegate_server.owners.forwarding import TICK_SECONDS, Forwarding
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.inboxes import Inboxes
from tidegate_server.owners.transports import over_unix
from tidegate_server.turns.call import HotCall

BOUND_US = 1.5
"""On each side, at 16 calls a batch."""
AT_ONCE = 16
BODY, ANSWER = b"e" * 1_300, b"a" * 600
"""As large as the events and answers of the demo."""
CREDENTIAL = b"tg_" + b"k" * 69


class _Call(HotCall):
    """A call that counts its batch down."""

    __slots__ = ("done",)

    def __init__(self, done: Callable[[], None]) -> None:
        self.endpoint, self.body, self.credential = RUNTIME, BODY, CREDENTIAL
        self.request_id = self.decision_id = None
        self.done = done

    def answer(self, outcome: Outcome) -> None:
        assert isinstance(outcome, Answer), outcome
        self.done()

    def decided(self, body: bytes) -> None:
        assert body == ANSWER
        self.done()


def _own(listening: socket.socket, pipe: Pipe) -> None:
    """The owner's process: says its processor time whenever it is asked."""

    async def run() -> None:
        queue = SimpleNamespace(add=lambda call: call.decided(ANSWER))
        metrics = SimpleNamespace(handed_on=0)
        hot: Any = SimpleNamespace(queue=queue, metrics=metrics, tells_limits=False)

        inbox = Inbox()
        inbox.open(hot, hot, 1, lambda: False, lambda: asyncio.Future())
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        inboxes = Inboxes(lambda _: inbox)
        server = await loop.create_unix_server(inboxes.link, sock=listening)

        def read() -> None:
            try:
                pipe.recv()
            except EOFError:
                loop.remove_reader(pipe.fileno())
                ended.set()
                return
            pipe.send(time.process_time())

        loop.add_reader(pipe.fileno(), read)
        await ended.wait()
        server.close()

    uvloop.run(run())


def measured(calls: int, rounds: int, at_once: int = AT_ONCE) -> tuple[float, float]:
    """Microseconds of processor time of a call: the gateway's and the owner's; medians of rounds.

    Args:
        calls: of a round.
        rounds: how many.
        at_once: calls of a batch; the next one begins when all are answered.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "owner.socket")
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(path)
        listening.listen()
        listening.setblocking(False)
        context = multiprocessing.get_context("fork")
        pipe, other = context.Pipe()
        process = context.Process(target=_forked, args=(pipe, listening, other))
        process.start()
        listening.close()
        other.close()
        try:
            return uvloop.run(_measured(path, pipe, calls, rounds, at_once))
        finally:
            pipe.close()
            process.join()


def _forked(parents: Pipe, listening: socket.socket, pipe: Pipe) -> None:
    # An end that this process keeps open would never be seen as closed.
    parents.close()
    _own(listening, pipe)


async def _measured(
    path: str, pipe: Pipe, calls: int, rounds: int, at_once: int
) -> tuple[float, float]:
    forwarding = Forwarding("gateway", 1, Inbox(), over_unix)
    forwarding.place("owner", path, 1, 1)

    async def tick() -> None:
        while True:
            forwarding.tick(time.monotonic())
            await asyncio.sleep(TICK_SECONDS)

    running = asyncio.create_task(tick())
    while not forwarding.can_reach_owner:
        await asyncio.sleep(0.01)

    def owners() -> float:
        pipe.send(None)
        seconds: float = pipe.recv()
        return seconds

    async def batches(count: int) -> None:
        for _ in range(count // at_once):
            whole = asyncio.get_running_loop().create_future()
            missing = at_once

            def done(whole: asyncio.Future[None] = whole) -> None:
                nonlocal missing
                missing -= 1
                if not missing:
                    whole.set_result(None)

            for _ in range(at_once):
                forwarding.hand_on(_Call(done))
            await whole

    await batches(calls // 4)
    found = []
    for _ in range(rounds):
        before = time.process_time(), owners()
        await batches(calls)
        after = time.process_time(), owners()
        found.append([1e6 * (b - a) / calls for a, b in zip(before, after, strict=True)])
    running.cancel()
    gateway, owner = (statistics.median(side) for side in zip(*found, strict=True))
    return gateway, owner
