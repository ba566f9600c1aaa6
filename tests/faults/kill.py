"""``python -m tests.faults.kill``: the server killed under load, again and again.

Each cycle sends events on 32 connections, with visitors who solve challenges; some cycles have a
writer of definitions too.  The server is killed at a random moment, or stopped with SIGTERM.  Then
it is started again, and everything that was acknowledged is compared with what is there.  Moments
and events are drawn from a seed, which is printed: the same seed draws them again.
"""

from __future__ import annotations

import asyncio
import random
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import attrs
import click
import httpx2 as httpx
from tests.faults import kill_workers, visitors
from tests.faults.check import Checker
from tests.faults.load import (
    CONNECTIONS,
    Acknowledged,
    Call,
    Notebook,
    Outcome,
    read_notebook,
    send,
)
from tests.faults.target import Target
from tests.faults.traffic import MARKERS, Traffic

EARLIEST, LATEST = 0.2, 2.0
"""Seconds into the load."""
STOP_SHARE = 0.15
WRITER_SHARE = 0.4
REPLAYED = 150
"""Acknowledged calls of a cycle that are sent again: the newest, and some of all."""
SNAPSHOT_EVERY = 1_000
"""The least there is: saving the states is then always near."""
READY_SECONDS = 2.0
REVOKED_SECONDS = 120.0


@attrs.frozen
class Kind:
    """The events of a cycle.

    Attributes:
        is_stop: the server is stopped with SIGTERM, and not killed.
        is_written: definitions are written meanwhile.
        awaits_revocation: the moment is counted from when the first pass was revoked.
    """

    is_stop: bool
    is_written: bool
    awaits_revocation: bool = False


@attrs.define
class Run:
    """Cycles on one data directory.

    Attributes:
        solved: challenges, of all cycles.
        revoked: passes of these that an operator revoked.
        ready: seconds each restart took until connections were accepted.
    """

    target: Target
    checker: Checker
    seed: int
    notebook: Path
    acknowledged: int = 0
    stops: int = 0
    defined: int = 0
    """Number of the last document that was acknowledged."""
    attempted: int = 0
    visits: list[visitors.Visit] = attrs.field(factory=list)
    """The visits of challenged visitors in this cycle."""
    solved: int = 0
    revoked: int = 0
    ready: list[float] = attrs.field(factory=list)

    @classmethod
    def make(cls, directory: Path, seed: int) -> Run:
        """Make the database and start the server."""
        settings = {"TIDEGATE_STORE_SNAPSHOT_EVERY": str(SNAPSHOT_EVERY)}
        target = Target.make(directory / "data", directory / "log", settings)
        checker = Checker(UUID(target.tenant_id), target.document)
        return cls(target, checker, seed, directory / "acknowledged.jsonl")

    def cycle(self, number: int, kind: Kind | None = None, latest: float = LATEST) -> None:
        """Load, kill, start, compare.

        Args:
            number: of the cycle, from 0.
            kind: what happens; it is drawn by default.
            latest: seconds into the load.

        Raises:
            AssertionError: a promise is broken.
        """
        draw = random.Random(self.seed * 1_000_003 + number)
        moment = draw.uniform(EARLIEST, latest)
        drawn = Kind(draw.random() < STOP_SHARE, draw.random() < WRITER_SHARE)
        kind = kind or drawn
        self.notebook.unlink(missing_ok=True)
        self.visits.clear()
        outcome = asyncio.run(self._load(draw.getrandbits(40), moment, kind))
        acknowledged = read_notebook(self.notebook)
        assert len(acknowledged) == len(outcome.acknowledged)
        assert not outcome.refused, outcome.refused
        self.acknowledged += len(acknowledged)
        self.stops += kind.is_stop
        self.ready.append(self.target.start())
        replayed = draw.sample(acknowledged, min(len(acknowledged), REPLAYED // 3))
        replayed += acknowledged[-2 * REPLAYED // 3 :]
        again = asyncio.run(self._again(outcome.unknown, replayed, kind.is_stop))
        solved, revoked = visitors.check(self.target, self.visits)
        self.solved += solved
        self.revoked += revoked
        self.checker.check(self.target.database, acknowledged + again)
        self._check_definitions()

    def close(self) -> None:
        """End the server."""
        self.target.end(signal.SIGKILL)

    async def _load(self, seed: int, moment: float, kind: Kind) -> Outcome:
        """Send events until the server is gone."""
        notebook = Notebook(self.notebook)
        calls = _calls(Traffic(seed, self.target.proof_keys))
        loading = asyncio.create_task(
            send(self.target.base_url, self.target.api_key, calls, notebook.add)
        )
        writing = asyncio.create_task(asyncio.to_thread(self._write, kind.is_written))
        visiting = [
            asyncio.create_task(asyncio.to_thread(visitors.visit, self.target, self.visits))
            for _ in range(visitors.VISITORS)
        ]
        latest = time.monotonic() + REVOKED_SECONDS
        while kind.awaits_revocation and not any(each.is_revoked for each in self.visits):
            assert time.monotonic() < latest, "no pass was revoked"
            await asyncio.sleep(0.01)
        await asyncio.sleep(moment)
        end = signal.SIGTERM if kind.is_stop else signal.SIGKILL
        code = await asyncio.to_thread(self.target.end, end)
        assert code == (0 if kind.is_stop else -signal.SIGKILL), f"the server ended with {code}"
        outcome = await loading
        await asyncio.gather(writing, *visiting)
        notebook.close()
        return outcome

    def _write(self, is_written: bool) -> None:
        """Write one document after the other until the server is gone."""
        while is_written:
            self.attempted += 1
            try:
                self.target.define(self.attempted)
            except httpx.TransportError:
                return
            self.defined = self.attempted
            time.sleep(0.02)

    async def _again(
        self, unknown: list[Call], known: list[Acknowledged], is_stop: bool
    ) -> list[Acknowledged]:
        """Send once more what was not answered, and some of what was."""
        address = self.target.base_url, self.target.api_key
        # Acknowledged calls come first: the server is as young as it can be.
        outcome = await send(*address, [made.call for made in known])
        assert not outcome.refused, outcome.refused
        assert not outcome.unknown
        answers = {made.call.key: made.answer for made in known}
        for made in outcome.acknowledged:
            assert made.is_replayed, f"{made.call.key} was decided again"
            assert made.answer == answers[made.call.key], f"{made.call.key} has another answer"
        later = await send(*address, unknown, connections=1)
        assert not later.refused, later.refused
        assert len(later.acknowledged) == len(unknown)
        if is_stop:
            late = [made.call.key for made in later.acknowledged if made.is_replayed]
            assert not late, f"decided while stopping, and not answered: {late}"
        return later.acknowledged

    def _check_definitions(self) -> None:
        """The document is one of those written, whole, and none before the last acknowledged."""
        found = self.target.control("GET", f"{self.target.tenant}/policies").json()
        numbers = {each["description"] for each in found if each["name"].startswith("Marker")}
        assert len(numbers) == 1, f"the definitions are of the documents {numbers}"
        number = int(numbers.pop())
        assert len([each for each in found if each["name"].startswith("Marker")]) == MARKERS
        assert self.defined <= number <= self.attempted, (self.defined, number, self.attempted)
        self.defined = number


def _calls(traffic: Traffic) -> Iterator[Call]:
    while True:
        yield Call(*traffic.next())


def run(
    cycles: int, seed: int, kinds: Sequence[Kind | None] = (None,), latest: float = LATEST
) -> Run:
    """Run cycles in a temporary directory, one line each.

    Args:
        cycles: how many.
        seed: draws moments, events and what is not given.
        kinds: of the cycles; they are repeated.
        latest: seconds into the load of a cycle.

    Raises:
        AssertionError: a promise is broken; the message names the seed and the cycle.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-kill-") as directory:
        made = Run.make(Path(directory), seed)
        click.echo(f"seed {seed}: {cycles} cycles, {CONNECTIONS} connections")
        try:
            for number in range(cycles):
                made.cycle(number, kinds[number % len(kinds)], latest)
                click.echo(
                    f"  {number + 1}: {made.acknowledged} acknowledged,"
                    f" {made.checker.seq} in the log, ready after {made.ready[-1]:.2f} s"
                )
        except AssertionError as error:
            text = f"seed {seed}, cycle {number + 1}: {error}"
            raise AssertionError(text) from error
        finally:
            made.close()
    return made


def _say(made: kill_workers.Run, again: int) -> None:
    total = sum(each.total for each in made.residents)
    click.echo(
        f"{total} acknowledged, {made.kills} workers killed, {made.restarts} times with their"
        " parent: none lost, none twice, none changed, and no other partition refused;"
        f" {again} calls in flight at a death were asked of the next owner, and {made.refused} of"
        " dead ones were refused after their wait"
    )
    click.echo(
        f"all answered again after {statistics.median(made.away):.2f} s, at most"
        f" {max(made.away):.2f} s"
    )


@click.command()
@click.option("--cycles", default=200, show_default=True)
@click.option("--seed", type=int, help="Draws of the run; by default of the clock.")
@click.option("--workers", default=1, show_default=True, help="Server workers, any of which dies.")
def main(cycles: int, seed: int | None, workers: int) -> None:
    """Kill the server again and again, and compare."""
    seed = time.time_ns() % 1_000_000 if seed is None else seed
    if workers > 1:
        _say(*kill_workers.run(cycles, seed, workers))
        return
    made = run(cycles, seed)
    slowest = max(made.ready)
    click.echo(
        f"{made.acknowledged} acknowledged over {cycles} cycles, {made.stops} of them stops:"
        f" none lost, none twice, none changed; {made.solved} challenges bought one pass each,"
        f" {made.revoked} of which stayed revoked"
    )
    click.echo(
        f"ready again after {statistics.median(made.ready):.2f} s, at most {slowest:.2f} s;"
        f" within {READY_SECONDS:.0f} s: {slowest <= READY_SECONDS}"
    )


if __name__ == "__main__":
    main()
