"""The simulated world: virtual time, a network that delays and loses, and a database."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
from tests.simulation.database import Database, Log, SessionEndedError
from tests.simulation.model.node import Output
from tests.simulation.model.requests import (
    AppendRequest,
    AppendResult,
    Beat,
    ClaimRequest,
    End,
    Join,
    Release,
    SessionRequest,
    Take,
)
from tests.simulation.oracle import Oracle
from tests.simulation.process import DATABASE, Connection, Model, Process

from tidegate_server.cluster.messages import Answer, Answers, ReadRequest, Refusal, Send

Step = Callable[[], list[Output]]


@attrs.define
class Weather:
    """How bad the network is; probabilities are of one message.

    Attributes:
        delay: the mean, in seconds.
        loss: a message is lost.
        silence: of what is lost, neither end hears.
        late: a message arrives up to ``lateness`` seconds late.
        lateness: see ``late``.
        twice: an append arrives twice.
    """

    delay: float = 0.002
    loss: float = 0.0
    silence: float = 0.5
    late: float = 0.0
    lateness: float = 4.0
    twice: float = 0.0


class World:
    """One schedule's world.

    Args:
        seed: of everything that is random.
        names: of the processes, one letter each.
        partitions: how many.
        tenants: the partition of each tenant.
        model: what processes are made of.
        make_log: gives an empty log.
    """

    def __init__(
        self,
        seed: int,
        names: str,
        partitions: int,
        tenants: dict[str, int],
        model: type[Model] = Model,
        make_log: type[Log] = Log,
    ) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.weather = Weather()
        self.cuts: set[frozenset[str]] = set()
        self.islands: set[str] = set()
        """Processes that nobody reaches, and who reach nobody."""
        self.trace: list[str] | None = None
        self.database = Database(partitions, tenants, make_log)
        self.oracle = Oracle(self)
        self.answered: Callable[[Process, Answer | Refusal], None] = lambda _process, _outcome: None
        """Told of each outcome of a call."""
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        of = model(self)
        self.processes = {name: Process(self, name, of) for name in names}
        self._ways: dict[type, Callable[[Process, Any], None]] = {
            Send: self._send,
            Answers: self._answer,
            ClaimRequest: self._claim,
            AppendRequest: self._append,
            ReadRequest: self._read,
            Join: self._ask,
            Beat: self._ask,
            Take: self._ask,
            Release: self._ask,
            End: self._ask,
            Answer: self._outcome,
            Refusal: self._outcome,
        }

    # --- time ---------------------------------------------------------------------------------

    def at(self, delay: float, do: Callable[..., None], *args: Any) -> None:
        """Do something after a delay, in seconds."""
        self._count += 1
        heapq.heappush(self._events, (self.now + delay, self._count, do, args))

    def later(self, delay: float, process: Process, step: Step) -> None:
        """Have a process take a step after a delay, if it is the same run then."""
        self.at(delay, self._step, process, process.run, step)

    def run(self, until: float) -> None:
        """Let time pass."""
        events = self._events
        while events and events[0][0] <= until:
            self.now, _, do, args = heapq.heappop(events)
            do(*args)
        self.now = until

    def note(self, text: str) -> None:
        """A line of the schedule, where it is printed."""
        if self.trace is not None:
            self.trace.append(f"{self.now:9.4f}  {text}")

    def _step(self, process: Process, run: int, step: Step) -> None:
        if not process.is_alive or process.run != run:
            return
        if process.stalled_until > self.now:
            self.at(process.stalled_until - self.now, self._step, process, run, step)
            process.is_waking = True
            return
        if process.is_waking:
            process.is_waking = False
            self.oracle.read_all()
        process.act(step)

    # --- the network --------------------------------------------------------------------------

    def carry_out(self, process: Process, outputs: list[Output]) -> None:
        """Send what a process gave out."""
        for output in outputs:
            if self.trace is not None:
                self.note(f"{process.name} gives {output}"[:400])
            process.model.sent(process, output)
            self._ways[type(output)](process, output)

    def delay(self) -> float:
        """Seconds that a message takes."""
        weather, chosen = self.weather, self.random
        delay = 0.0001 + chosen.expovariate(1.0 / weather.delay)
        if weather.late and chosen.random() < weather.late:
            delay += chosen.random() * weather.lateness
        return delay

    def is_lost(self, one: str, other: str) -> bool:
        """Whether a message between two is lost."""
        if self.cuts and frozenset((one, other)) in self.cuts:
            return True
        if one in self.islands or other in self.islands:
            return True
        return self.weather.loss > 0 and self.random.random() < self.weather.loss

    def _send(self, process: Process, send: Send) -> None:
        target = self.processes[send.member]
        if target is process:
            self.later(0.0001, process, lambda: target.node.batch(send.batch))
        elif not target.is_alive:
            self._lose(process, send.member, 0.01)
        elif self.is_lost(process.name, target.name):
            if self.random.random() >= self.weather.silence:
                self._lose(process, send.member, self.random.random())
        else:
            self.later(self.delay(), target, lambda: target.node.batch(send.batch))

    def _lose(self, process: Process, member: str, delay: float) -> None:
        """The connection of a process to a member ends."""

        def lost() -> list[Output]:
            process.node.gateway.lost(member, process.mono)
            return []

        self.later(delay, process, lost)

    def _answer(self, process: Process, answers: Answers) -> None:
        name, _, run = answers.gateway.partition(".")
        target = self.processes[name]
        if not target.is_alive or target.run != int(run):
            return
        if target is not process and self.is_lost(process.name, name):
            if self.random.random() >= self.weather.silence:
                self._lose(target, process.name, self.random.random())
            return
        delay = 0.0001 if target is process else self.delay()
        self.later(delay, target, lambda: target.node.answers(answers, target.mono))

    def _outcome(self, process: Process, outcome: Answer | Refusal) -> None:
        self.answered(process, outcome)

    # --- the log ------------------------------------------------------------------------------

    def _claim(self, process: Process, request: ClaimRequest) -> None:
        if self.is_lost(process.name, DATABASE):
            return

        def arrive(run: int) -> None:
            claim = self.database.logs[request.partition].claim(request)
            self.note(f"log {request.partition}: {claim} of {process.name}")
            if process.run == run and not self.is_lost(process.name, DATABASE):
                self.later(self.delay(), process, lambda: process.node.log(claim, process.mono))

        self.at(self.delay(), arrive, process.run)

    def _read(self, process: Process, request: ReadRequest) -> None:
        if self.is_lost(process.name, DATABASE):
            return

        def arrive(run: int) -> None:
            result = self.database.logs[request.partition].read(request)
            if process.run == run and not self.is_lost(process.name, DATABASE):
                self.later(self.delay(), process, lambda: process.node.log(result, process.mono))

        self.at(self.delay(), arrive, process.run)

    def _append(self, process: Process, request: AppendRequest) -> None:
        if self.is_lost(process.name, DATABASE):
            self._unknown(process, request)
            return
        weather, chosen = self.weather, self.random
        delay = self.delay()
        self.at(delay, self._arrive, process, process.run, request)
        if weather.twice and chosen.random() < weather.twice:
            self.at(delay + chosen.random() * 0.2, self._arrive, process, process.run, request)

    def _arrive(self, process: Process, run: int, request: AppendRequest) -> None:
        """An append is at the database: it is taken, or not, at this moment."""
        taken = self.database.logs[request.partition].append(request)
        if self.trace is not None:
            self.note(f"log {request.partition}: {taken} {request.block.after} of {process.name}")
        if taken == "done":
            self.oracle.appended(request.partition, request.block)
        if not process.is_alive or process.run != run:
            return
        if self.is_lost(process.name, DATABASE):
            self._unknown(process, request)
            return
        result = AppendResult(request.partition, request.request, taken)
        self.later(self.delay(), process, lambda: process.node.log(result, process.mono))

    def _unknown(self, process: Process, request: AppendRequest) -> None:
        """The connection ended during an append, or nobody hears anything."""
        if self.random.random() < self.weather.silence:
            return
        result = AppendResult(request.partition, request.request, "unknown")
        self.later(self.random.random(), process, lambda: process.node.log(result, process.mono))

    # --- sessions -----------------------------------------------------------------------------

    def _ask(self, process: Process, request: SessionRequest) -> None:
        connection = process.connection
        if connection is None:
            if not isinstance(request, Join):
                return
            connection = process.connection = Connection()
        elif isinstance(request, Join):
            return
        if connection.is_broken:
            return
        if self.is_lost(process.name, DATABASE):
            self._break(process, connection)
            return
        connection.to_at = max(connection.to_at, self.now + self.delay())
        arrive = (self._asked, process, process.run, connection, request, process.mono)
        self.at(connection.to_at - self.now, *arrive)

    def _asked(
        self,
        process: Process,
        run: int,
        connection: Connection,
        request: SessionRequest,
        sent_at: float,
    ) -> None:
        """A request is at the database: it is done, or not, at this moment."""
        if process.run != run or connection.is_broken:
            return
        result = None
        is_over = False
        try:
            result = self.database.ask(request)
        except SessionEndedError:
            is_over = True
        if isinstance(request, Join):
            is_over = result is None
            connection.session = result if isinstance(result, int) else 0
        if isinstance(request, Take | Join | End) and self.trace is not None:
            self.note(f"session {connection.session} of {process.name}: {request} gives {result}")
        if self.is_lost(process.name, DATABASE):
            self._break(process, connection)
            return
        connection.back_at = max(connection.back_at, self.now + self.delay())
        step: Step = (
            partial(self._over, process, connection)
            if is_over
            else partial(self._result, process, connection, request, result, sent_at)
        )
        self.later(connection.back_at - self.now, process, step)

    def _result(
        self,
        process: Process,
        connection: Connection,
        request: SessionRequest,
        result: Any,
        sent_at: float,
    ) -> list[Output]:
        if process.connection is not connection or connection.is_broken:
            return []
        node = process.node
        if isinstance(request, Join):
            return node.joined(result)
        if isinstance(request, Beat):
            return node.seen(result, sent_at, process.mono)
        return node.taken(request, result, process.mono) if isinstance(request, Take) else []

    def _over(self, process: Process, connection: Connection) -> list[Output]:
        """The process hears that its session has ended."""
        if process.connection is not connection:
            return []
        process.connection = None
        return process.node.lost(process.mono)

    def _break(self, process: Process, connection: Connection) -> None:
        """A connection breaks: each end hears of it in its own time."""
        connection.is_broken = True
        step: Step = partial(self._over, process, connection)
        self.later(self.random.random() * 3.0, process, step)
        self.at(self.random.choice((0.02, self.random.uniform(0.5, 3.0))), self.end, connection)

    def end(self, connection: Connection) -> None:
        """The database ends the session of a connection."""
        self.database.end(connection.session)
