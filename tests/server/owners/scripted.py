"""Scripted owners on one Unix socket, and the forwarding of a gateway to whichever is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tidegate_server.cluster.gateway import Bounds
from tidegate_server.hot.hot_path import RUNTIME
from tidegate_server.http.answer import Answer, Outcome
from tidegate_server.owners.forwarding import OTHERS, Forwarding
from tidegate_server.owners.inbox import Inbox
from tidegate_server.owners.links import Link
from tidegate_server.owners.messages import (
    Answered,
    Asked,
    Batch,
    Calls,
    Decided,
    HandedOn,
    Hello,
    Look,
    Message,
    Outcomes,
    Standing,
)
from tidegate_server.owners.messages import Outcome as OfCall
from tidegate_server.owners.transports import over_unix
from tidegate_server.turns.call import HotCall

SECONDS = 60.0
TERM, RUN = 7, 1
HOT = Bounds(time=10.0, hold=5.0, ask_again=10.0)


class Caller(HotCall):
    """A call that keeps its outcomes."""

    def __init__(self, body: bytes) -> None:
        self.endpoint, self.body, self.credential = RUNTIME, body, b"key"
        self.request_id = self.decision_id = None
        self.outcomes: list[Outcome] = []

    def answer(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @property
    def made(self) -> Answer | None:
        """The only answer; None while there isn't one."""
        if not self.outcomes:
            return None
        (outcome,) = self.outcomes
        assert isinstance(outcome, Answer)
        return outcome

    @property
    def is_refused(self) -> bool:
        """Whether the only outcome is a refusal with 503."""
        return self.made is not None and self.made.status == 503


def callers(count: int) -> list[Caller]:
    """Calls with bodies of their own."""
    return [Caller(b"%d" % number) for number in range(count)]


def asked(method: str, path: str, **headers: str) -> Asked:
    """A request."""
    given = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return Asked(method, path.encode(), given, b"{}", None, "http")


class ScriptedOwner(Link):
    """An owner's end of a link, which puts the calls it gets into a queue.

    Args:
        name: of the process.
        into: takes the calls.
        greets: whether it greets.
    """

    def __init__(
        self, name: str, into: asyncio.Queue[tuple[ScriptedOwner, Batch | Calls]], *, greets: bool
    ) -> None:
        super().__init__(self._take, lambda _: None)
        self.name = name
        self._into = into
        self._greets = greets

    def _take(self, _: Link, message: Message) -> None:
        if isinstance(message, Hello | Look):
            if self._greets:
                self.send(Standing(is_owner=True))
        elif isinstance(message, Batch | Calls):
            self._into.put_nowait((self, message))

    def decide(self, calls: Calls, *bodies: bytes) -> None:
        """Answer the first calls of a block."""
        self.send(Decided(calls.ids[: len(bodies)], list(bodies)))

    def answer(self, batch: Batch, body: bytes) -> None:
        """Answer the only request of a batch."""
        outcome = OfCall(only(batch).id, "", Answered(200, [], body))
        self.send(Outcomes(batch.gateway, batch.number, [outcome]))

    def refuse(self, sent: Calls, reason: str) -> None:
        """Give all calls of a block back."""
        self.send(Outcomes("hot", sent.number, [OfCall(each, reason) for each in sent.ids]))


def only(batch: Batch) -> HandedOn:
    """The only request of a batch."""
    (found,) = batch.calls
    return found


class Owners:
    """Scripted owners on one path, and the forwarding of a gateway.

    Args:
        place: a directory.
        hot: bounds for hot calls.
    """

    def __init__(self, place: Path, hot: Bounds = HOT) -> None:
        self.taken: asyncio.Queue[tuple[ScriptedOwner, Batch | Calls]] = asyncio.Queue()
        self.path = place / "owner.socket"
        self._servers: list[asyncio.Server] = []
        self.refused: list[tuple[str, int]] = []
        note = lambda reason, count: self.refused.append((reason, count))  # noqa: E731
        self.forwarding = Forwarding("gateway", 1, Inbox(), over_unix, hot, OTHERS, note)

    async def serve(self, name: str, *, greets: bool = True) -> None:
        """Have an owner of this name take the next link."""
        self.path.unlink(missing_ok=True)
        made = lambda: ScriptedOwner(name, self.taken, greets=greets)  # noqa: E731 - a factory
        self._servers.append(
            await asyncio.get_running_loop().create_unix_server(made, str(self.path))
        )

    async def next_calls(self) -> tuple[ScriptedOwner, Calls]:
        """The next block of hot calls, and the owner that has it."""
        owner, sent = await self.taken.get()
        assert isinstance(sent, Calls)
        return owner, sent

    async def next_batch(self) -> tuple[ScriptedOwner, Batch]:
        """The next batch of requests, and the owner that has it."""
        owner, sent = await self.taken.get()
        assert isinstance(sent, Batch)
        return owner, sent

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The forwarding runs as long as the block, which has its time."""
        self.forwarding.place("owner", str(self.path), TERM, RUN)
        ticking = asyncio.create_task(self._tick())
        try:
            async with asyncio.timeout(SECONDS):
                yield
        finally:
            ticking.cancel()
            self.forwarding.close()
            for each in self._servers:
                each.close()

    async def _tick(self) -> None:
        while True:
            self.forwarding.tick(asyncio.get_running_loop().time())
            await asyncio.sleep(0.005)


async def until_answered(calls: list[Caller]) -> None:
    """Return when every call has an outcome."""
    while not all(each.outcomes for each in calls):
        await asyncio.sleep(0.001)
