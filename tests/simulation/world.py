"""The simulated world: virtual time, a network that delays and loses, and a database."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
from tests.simulation.database import Database, Log
from tests.simulation.model.node import Output, ReadRows
from tests.simulation.model.requests import AppendRequest, AppendResult, ClaimRequest
from tests.simulation.oracle import Oracle
from tests.simulation.process import Model, Process

from tidegate.cluster.messages import Answer, Answers, ReadRequest, Refusal, Send
from tidegate.cluster.rows import Change, Drain, Join, Place, Renew, Rows

DATABASE = "db"
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
            Join: self._change,
            Renew: self._change,
            Place: self._change,
            Drain: self._change,
            ReadRows: self._read_rows,
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

    # --- the rows -----------------------------------------------------------------------------

    def _change(self, process: Process, change: Change) -> None:
        if self.is_lost(process.name, DATABASE):
            return
        self.at(self.delay(), self._apply, process, process.run, change, process.mono)

    def _apply(self, process: Process, run: int, change: Change, sent_at: float) -> None:
        is_taken = self.database.change(change)
        if isinstance(change, Place) and self.trace is not None:
            self.note(f"rows: {'taken' if is_taken else 'refused'} {change.placement}")
        if process.run != run or self.is_lost(process.name, DATABASE):
            return
        rows = self.database.rows
        step: Step = partial(self._changed, process, change, sent_at, rows, is_taken=is_taken)
        self.later(self.delay(), process, step)

    def _changed(
        self, process: Process, change: Change, sent_at: float, rows: Rows, *, is_taken: bool
    ) -> list[Output]:
        node = process.node
        if isinstance(change, Join | Renew):
            if is_taken:
                return node.renewed(change, sent_at, rows, process.mono)
            node.directory.refused()
        return node.read(rows, process.mono)

    def _read_rows(self, process: Process, _output: ReadRows) -> None:
        if self.is_lost(process.name, DATABASE):
            return

        def arrive(run: int) -> None:
            rows = self.database.rows
            if process.run == run and not self.is_lost(process.name, DATABASE):
                self.later(self.delay(), process, lambda: process.node.read(rows, process.mono))

        self.at(self.delay(), arrive, process.run)
