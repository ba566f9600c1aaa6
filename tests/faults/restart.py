"""``python -m tests.faults.restart``: a server that takes over from another, again and again.

In each cycle a second server is started on the directory of the first and waits for it; under load
the first is then stopped, or killed.  Calls that meet nobody are sent again, as a proxy does.  At
the end of a cycle the log is compared with an engine that decided the same events and never
stopped: windows, mitigations and idempotency keys have gone on, and no two servers answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import attrs
import click
from tests.faults.check import Checker
from tests.faults.load import Acknowledged, Call, Connection
from tests.faults.target import START_SECONDS, Target
from tests.faults.traffic import Traffic

CONNECTIONS = 16
KILL_SHARE = 0.3
REFUSED_SHARE = 0.25
"""The share of cycles in which a third server, that does not wait, is started and refused."""
RETRY_SECONDS = 0.02
SNAPSHOT_EVERY = 1_000
REPLAYED = 50


@attrs.frozen
class Kind:
    """The events of a cycle.

    Attributes:
        is_kill: the first server is killed, and not stopped with SIGTERM.
        is_refused: a third server, that does not wait, is started and refused.
    """

    is_kill: bool
    is_refused: bool


@attrs.define
class Load:
    """Calls on many connections, each sent until it is answered.

    Attributes:
        acknowledged: what was answered with 200.
        refused: other statuses, with the last body of each.
        retried: attempts that met nobody, or a server that ended.
    """

    target: Target
    traffic: Traffic
    acknowledged: list[Acknowledged] = attrs.field(factory=list)
    refused: dict[int, bytes] = attrs.field(factory=dict)
    retried: int = 0
    longest: float = 0.0
    _ends: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def run(self) -> None:
        """Send until :meth:`end`."""
        await asyncio.gather(*(self._work() for _ in range(CONNECTIONS)))

    def end(self) -> None:
        """Let the calls under way be answered, and send nothing further."""
        self._ends.set()

    async def _work(self) -> None:
        connection = Connection(self.target.base_url, self.target.api_key)
        while not self._ends.is_set():
            await self.send(connection, Call(*self.traffic.next()))
        connection.close()

    async def send(self, connection: Connection, call: Call) -> None:
        """One call, again and again until somebody answers."""
        started = time.monotonic()
        while True:
            assert time.monotonic() - started < START_SECONDS, f"nobody answered {call.key}"
            try:
                status, headers, answer = await connection.post(call.path, call.body)
            except OSError:
                connection.close()
                self.retried += 1
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if status == 503:  # it stops, or does not decide yet: a proxy asks again
                self.retried += 1
                await asyncio.sleep(RETRY_SECONDS)
                continue
            break
        self.longest = max(self.longest, time.monotonic() - started)
        if status == 200:
            self.acknowledged.append(Acknowledged(call, answer, "idempotency-replayed" in headers))
        else:
            self.refused[status] = answer


async def repeat(load: Load, acknowledged: Sequence[Acknowledged]) -> None:
    """Send the last calls again: they are answered as before.

    Args:
        load: the load that sent them.
        acknowledged: what was answered.

    Raises:
        AssertionError: one is decided again.
    """
    again = Load(load.target, load.traffic)
    connection = Connection(load.target.base_url, load.target.api_key)
    last = acknowledged[-REPLAYED:]
    for made in last:
        await again.send(connection, made.call)
    connection.close()
    for before, after in zip(last, again.acknowledged, strict=True):
        assert after.is_replayed, f"{after.call.key} was decided again"
        assert after.answer == before.answer, f"{after.call.key} has another answer"


@attrs.define
class Run:
    """Cycles on one directory and one port."""

    target: Target
    checker: Checker
    seed: int
    kills: int = 0
    acknowledged: int = 0
    gaps: list[float] = attrs.field(factory=list)
    """Seconds of each cycle that the slowest call waited for its answer."""

    @classmethod
    def make(cls, directory: Path, seed: int) -> Run:
        """Make the database and start the first server."""
        settings = {"TIDEGATE_STORE_SNAPSHOT_EVERY": str(SNAPSHOT_EVERY)}
        target = Target.make(directory / "data", directory / "log", settings)
        return cls(target, Checker(UUID(target.tenant_id), target.document), seed)

    def cycle(self, number: int, kind: Kind | None = None) -> None:
        """One takeover under load.

        Args:
            number: of the cycle, from 0.
            kind: what happens; it is drawn by default.

        Raises:
            AssertionError: a promise is broken.
        """
        draw = random.Random(self.seed * 1_000_003 + number)
        drawn = Kind(draw.random() < KILL_SHARE, draw.random() < REFUSED_SHARE)
        load = asyncio.run(self._cycle(draw, kind or drawn))
        assert not load.refused, load.refused
        self.acknowledged += len(load.acknowledged)
        self.gaps.append(load.longest)
        self.checker.check(self.target.database, load.acknowledged)

    async def _cycle(self, draw: random.Random, kind: Kind) -> Load:
        load = Load(self.target, Traffic(draw.getrandbits(40)))
        loading = asyncio.create_task(load.run())
        try:
            await self._take_over(draw, kind)
        finally:
            # A call that is answered at the moment of its cancellation is not cancelled.
            load.end()
        await loading
        await repeat(load, load.acknowledged)
        return load

    async def _take_over(self, draw: random.Random, kind: Kind) -> None:
        """Start a second server, end the first, and go on a little."""
        first = self.target.process
        assert first is not None
        second = await asyncio.to_thread(self._start, "--wait-for-lock")
        if kind.is_refused:
            await asyncio.to_thread(self._refused, first.pid)
        await asyncio.sleep(draw.uniform(0, 0.5))
        self.kills += kind.is_kill
        first.send_signal(signal.SIGKILL if kind.is_kill else signal.SIGTERM)
        code = await asyncio.to_thread(first.wait, START_SECONDS)
        assert code == (-signal.SIGKILL if kind.is_kill else 0), f"the first ended with {code}"
        assert second.stdout is not None
        line = await asyncio.to_thread(second.stdout.readline)
        assert line, f"the second did not start: {self.target.log.read_text()[-3000:]}"
        assert json.loads(line)["base_url"] == self.target.base_url
        self.target.process = second
        await asyncio.sleep(draw.uniform(0.1, 0.5))

    def close(self) -> None:
        """End the server."""
        self.target.end(signal.SIGKILL)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start another server on the same port, and return when it waits."""
        before = self.target.log.stat().st_size
        process = self._serve(*arguments)
        deadline = time.monotonic() + START_SECONDS
        while b"waiting for the data directory" not in self.target.log.read_bytes()[before:]:
            assert process.poll() is None, f"it ended with {process.returncode}"
            assert time.monotonic() < deadline, "it does not wait"
            time.sleep(0.02)
        return process

    def _refused(self, holder: int) -> None:
        """A server that does not wait ends at once, and names who serves."""
        process = self._serve(stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=START_SECONDS)
        assert process.returncode == 1, process.returncode
        lines = said.decode().splitlines()
        assert len(lines) == 1, lines
        assert f"process {holder} " in lines[0], lines
        assert self.target.base_url in lines[0], lines

    def _serve(self, *arguments: str, stderr: int | None = None) -> subprocess.Popen[bytes]:
        port = self.target.base_url.rpartition(":")[2]
        with self.target.log.open("ab") as log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "tidegate", "serve", "--json", "--server-port", port),
                    *("--store-directory", str(self.target.directory), *arguments),
                ],
                stdout=subprocess.PIPE,
                stderr=log if stderr is None else stderr,
                env={
                    **os.environ,
                    "HOME": str(self.target.log.parent),
                    **self.target.settings,
                },
            )


def run(cycles: int, seed: int, kinds: Sequence[Kind | None] = (None,)) -> Run:
    """Run cycles in a temporary directory, one line each.

    Args:
        cycles: how many.
        seed: draws moments, events and what is not given.
        kinds: of the cycles; they are repeated.

    Raises:
        AssertionError: a promise is broken; the message names the seed and the cycle.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-restart-") as directory:
        made = Run.make(Path(directory), seed)
        click.echo(f"seed {seed}: {cycles} cycles, {CONNECTIONS} connections")
        number = 0
        try:
            for number in range(cycles):
                made.cycle(number, kinds[number % len(kinds)])
                click.echo(
                    f"  {number + 1}: {made.acknowledged} acknowledged,"
                    f" the slowest answer after {made.gaps[-1]:.2f} s"
                )
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, cycle {number + 1}: {error}") from error
        finally:
            made.close()
    return made


@click.command()
@click.option("--cycles", default=50, show_default=True)
@click.option("--seed", type=int, help="Draws of the run; by default of the clock.")
def main(cycles: int, seed: int | None) -> None:
    """Let one server take over from another again and again, and compare."""
    made = run(cycles, time.time_ns() % 1_000_000 if seed is None else seed)
    click.echo(
        f"{made.acknowledged} acknowledged over {cycles} takeovers, {made.kills} of them after a"
        f" kill: none lost, none twice; the slowest answer of a takeover after"
        f" {statistics.median(made.gaps):.2f} s, at most {max(made.gaps):.2f} s"
    )


if __name__ == "__main__":
    main()
