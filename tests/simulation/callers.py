"""Callers: they ask any process, come again after a 503 with the same key, and sometimes anyway."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import attrs
import orjson
from tests.simulation.world.service import POSITION, Account

from tidegate_server.hot.admission import KEY_HEADER
from tidegate_server.hot.hot_path import RUNTIME
from tidegate_server.http.answer import Answer
from tidegate_server.http.problems import problem_of
from tidegate_server.turns.call import HotCall

if TYPE_CHECKING:
    from tests.simulation.world.process import Process
    from tests.simulation.world.world import World

    from tidegate_server.http.answer import Outcome
    from tidegate_server.http.exchange import Message

TRIES = 3
_UNAVAILABLE = 503


@attrs.define(eq=False)
class Attempt:
    """A call as its caller makes it."""

    account: Account
    key: str | None
    body: bytes
    number: int
    """Of the call; a caller that comes again has the same."""
    tries: int = TRIES
    process: Process | None = None
    run: int = 0
    made_at: float = 0.0
    ended_at: float = float("inf")
    is_last: bool = False
    """It was made after all faults were healed."""
    status: int = 0
    """Of its outcome; 0 if it has none."""
    answer: bytes = b""
    is_lost: bool = False
    """Its connection ended first."""

    @property
    def counts_until(self) -> float:
        """When a limit counts it at the latest: an owner may decide on a call that is lost."""
        return float("inf") if self.is_lost else self.ended_at

    @property
    def code(self) -> str:
        """Why it was refused."""
        return "" if self.status == HTTPStatus.OK else str(orjson.loads(self.answer)["code"])


class Asking(HotCall):
    """A hot call on a connection of a process.

    Args:
        attempt: whose.
        done: takes status and body, once.
    """

    def __init__(self, attempt: Attempt, done: Any) -> None:
        self.endpoint = RUNTIME
        self.credential = attempt.account.credential
        self.request_id = self.decision_id = None
        self.body = attempt.body
        self.started = 0
        self._done = done

    def answer(self, outcome: Outcome) -> None:
        if isinstance(outcome, Answer):
            self._done(self, outcome.status, outcome.body)
        else:
            problem = problem_of(outcome)
            self._done(self, problem.status, orjson.dumps({"code": problem.code}))


class Callers:
    """All callers of a schedule.

    Args:
        world: whose processes they ask.
        accounts: how many different ones there are; so are addresses.
    """

    def __init__(self, world: World, accounts: int = 3) -> None:
        self._world = world
        self._accounts = accounts
        self._numbers = 0
        self._open: dict[tuple[str, int], dict[Attempt, None]] = {}
        self.attempts: list[Attempt] = []
        self.is_closed = False
        """Nobody comes again."""

    def call(self, *, keyed: float, is_last: bool = False, account: Account | None = None) -> None:
        """A caller makes a call.

        Args:
            keyed: the probability that it has an idempotency key.
            is_last: it is made after all faults were healed.
            account: whose call it is; anybody's when left out.
        """
        world, chosen = self._world, self._world.random
        if account is None:
            account = chosen.choice(world.accounts)
        self._numbers += 1
        number = self._numbers
        key = f"k{number}" if chosen.random() < keyed else None
        body = self._body(number, key)
        self._make(Attempt(account, key, body, number, is_last=is_last))
        if key is not None and chosen.random() < 0.2:
            # An impatient caller, or a proxy, asks twice; or a caller uses its key again.
            if chosen.random() < 0.1:
                body = self._body(number, key)
            world.at(chosen.random() * 0.5, self._make, Attempt(account, key, body, number))

    def read(self) -> None:
        """A caller reads where an owner's state ends."""
        world = self._world
        process = self._chosen()
        if process is not None:
            account = world.random.choice(world.accounts)
            world.at(world.delay(), process.soon, self._read, process, account)

    def _body(self, number: int, key: str | None) -> bytes:
        """The body of a call: an event, or now and then an invalid one."""
        chosen = self._world.random
        if chosen.random() < 0.01:
            return b'{"request":'
        made: dict[str, Any] = {
            "request": {"client_ip": f"192.0.2.{chosen.randrange(self._accounts)}"},
            "fields": {"account": f"u{chosen.randrange(self._accounts)}", "call": number},
        }
        if key is not None:
            made["idempotency_key"] = key
        return orjson.dumps(made)

    def lost(self, process: Process) -> None:
        """The connections of all who wait for an outcome of a process have ended."""
        for attempt in self._open.pop((process.name, process.run), {}):
            attempt.is_lost, attempt.ended_at = True, self._world.now
            self._again(attempt)

    def unanswered(self, age: float) -> list[Attempt]:
        """Attempts that a running process has not answered for some seconds."""
        now = self._world.now
        return [
            attempt
            for waiting in self._open.values()
            for attempt in waiting
            if attempt.process is not None
            and now - attempt.made_at - attempt.process.stalled_between(attempt.made_at, now) > age
        ]

    def _chosen(self) -> Process | None:
        world = self._world
        running = [
            each
            for each in world.processes.values()
            if each.is_alive
            and each.node is not None
            and not each.is_stopping
            and each.name not in world.islands
        ]
        return world.random.choice(running) if running else None

    def _make(self, attempt: Attempt) -> None:
        if self.is_closed and not attempt.is_last:
            return
        process = self._chosen()
        if process is None:
            self._again(attempt)
            return
        self._world.at(self._world.delay(), self._arrive, attempt, process)

    def _arrive(self, attempt: Attempt, process: Process) -> None:
        if not process.is_alive or process.node is None or process.is_stopping:
            self._again(attempt)
            return
        attempt.process, attempt.run = process, process.run
        attempt.made_at = self._world.now
        self.attempts.append(attempt)
        self._open.setdefault((process.name, process.run), {})[attempt] = None
        process.open += 1
        process.soon(self._ask, attempt, process)

    def _ask(self, attempt: Attempt, process: Process) -> None:
        """Ask as a connection of the server does: on the short path, if there is one."""
        call = Asking(attempt, partial(self._outcome, attempt, process))
        credential = attempt.account.credential
        hot = process.hot.of(credential)
        if hot is not None:
            process.local[call] = hot
            hot.queue.add(call)
            return
        way = process.hot.way_of(credential)
        if way is not None:
            way(call)
            return
        task = process.loop.create_task(
            _request(process, attempt.account, "POST", RUNTIME.path, attempt.body)
        )
        task.add_done_callback(lambda made: self._outcome(attempt, process, call, *made.result()))

    def _outcome(
        self, attempt: Attempt, process: Process, call: Asking, status: int, body: bytes
    ) -> None:
        process.local.pop(call, None)
        waiting = self._open.get((process.name, process.run), {})
        if attempt.run != process.run or attempt not in waiting:
            if not attempt.is_lost:
                self._world.violated(f"call {attempt.number} has two outcomes")
            return
        del waiting[attempt]
        process.open -= 1
        attempt.status, attempt.answer, attempt.ended_at = status, body, self._world.now
        self._world.note(f"{process.name} gives call {attempt.number} {status} {attempt.code}")
        self._world.oracle.outcome(attempt)
        chosen = self._world.random
        if status == _UNAVAILABLE:
            self._again(attempt)
        elif status == HTTPStatus.OK and attempt.key is not None and chosen.random() < 0.2:
            # The answer was lost on its way to the caller.
            self._again(attempt, chosen.random() * 6.0)

    def _again(self, attempt: Attempt, delay: float | None = None) -> None:
        """A caller that has a key comes again with it."""
        if attempt.key is None or attempt.tries == 0:
            return
        again = Attempt(
            attempt.account, attempt.key, attempt.body, attempt.number, attempt.tries - 1
        )
        self._world.at(self._world.random.random() if delay is None else delay, self._make, again)

    def _read(self, process: Process, account: Account) -> None:
        if process.node is None or process.is_stopping:
            return
        oracle = self._world.oracle
        least = oracle.end_of(account.partition)
        task = process.loop.create_task(_request(process, account, "GET", POSITION, b""))

        def done(made: asyncio.Task[tuple[int, bytes]]) -> None:
            if not made.cancelled():
                oracle.read(process, account.partition, least, *made.result())

        task.add_done_callback(done)


async def _request(
    process: Process, account: Account, method: str, path: str, body: bytes
) -> tuple[int, bytes]:
    """Ask a process's application; return status and body."""
    start: dict[str, Any] = {}
    parts: list[bytes] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        start.update(message)
        parts.append(message.get("body", b""))

    headers = [
        (KEY_HEADER, account.credential),
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.9", 1),
        "state": {},
    }
    await process.application(scope, receive, send)
    return start["status"], b"".join(parts)
