"""``python -m tests.faults.backup``: back up a server under load, and go on from the backup.

In each cycle ``tidegate backup`` copies the directory of a busy server, the server ends, and the
next one serves a directory that ``tidegate restore`` made from the copy.  The backup must be
intact, and have everything that was acknowledged before it began, as an engine that never stopped
decides it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import click
from tests.faults.check import Checker
from tests.faults.restart import Load, repeat
from tests.faults.target import START_SECONDS, Target
from tests.faults.traffic import Traffic

SNAPSHOT_EVERY = 1_000


@attrs.define
class Run:
    """Cycles, each on a directory restored from the backup of the one before."""

    target: Target
    checker: Checker
    seed: int
    acknowledged: int = 0

    @classmethod
    def make(cls, directory: Path, seed: int) -> Run:
        """Make the database and start the first server."""
        settings = {"TIDEGATE_STORE_SNAPSHOT_EVERY": str(SNAPSHOT_EVERY)}
        target = Target.make(directory / "data", directory / "log", settings)
        return cls(target, Checker(UUID(target.tenant_id), target.document), seed)

    def cycle(self, number: int) -> None:
        """One backup under load, and a start from it.

        Args:
            number: of the cycle, from 0.

        Raises:
            AssertionError: a promise is broken.
        """
        draw = random.Random(self.seed * 1_000_003 + number)
        target = self.target
        place = target.directory.parent
        backup, restored = place / f"backup-{number}", place / f"data-{number}"
        load = Load(target, Traffic(draw.getrandbits(40)))
        before = asyncio.run(self._backed_up(load, draw, backup))
        assert not load.refused, load.refused
        target.end(draw.choice((signal.SIGTERM, signal.SIGKILL)))
        assert command("verify", "--store-directory", str(backup))["findings"] == []
        acknowledged = load.acknowledged[:before]
        self.checker.check(backup / "tidegate.db", acknowledged)
        self.acknowledged += before
        command("restore", str(backup), "--store-directory", str(restored))
        for path in (target.directory, backup):
            shutil.rmtree(path)
        target.directory = restored
        target.start()
        asyncio.run(repeat(load, acknowledged))

    async def _backed_up(self, load: Load, draw: random.Random, backup: Path) -> int:
        """Back up under load; how many calls were acknowledged before."""
        loading = asyncio.create_task(load.run())
        try:
            await asyncio.sleep(draw.uniform(0.2, 0.8))
            before = len(load.acknowledged)
            directory = str(self.target.directory)
            await asyncio.to_thread(command, "backup", str(backup), "--store-directory", directory)
            await asyncio.sleep(draw.uniform(0, 0.2))
        finally:
            load.end()
        await loading
        return before


def command(*arguments: str) -> Any:
    """Run a command of ``tidegate``; its answer as JSON."""
    made = subprocess.run(
        [sys.executable, "-m", "tidegate", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
        env=os.environ,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return json.loads(made.stdout)


def run(cycles: int, seed: int) -> Run:
    """Run cycles in a temporary directory, one line each.

    Args:
        cycles: how many.
        seed: draws moments, events and signals.

    Raises:
        AssertionError: a promise is broken; the message names the seed and the cycle.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-backup-") as directory:
        made = Run.make(Path(directory), seed)
        number = 0
        try:
            for number in range(cycles):
                made.cycle(number)
                click.echo(f"  {number + 1}: {made.acknowledged} acknowledged before a backup")
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, cycle {number + 1}: {error}") from error
        finally:
            made.target.end(signal.SIGKILL)
    return made


@click.command()
@click.option("--cycles", default=50, show_default=True)
@click.option("--seed", type=int, help="Drawn when left out.")
def main(cycles: int, seed: int | None) -> None:
    """Back up, end, restore and go on; nothing acknowledged before a backup may be lost."""
    made = run(cycles, time.time_ns() % 1_000_000 if seed is None else seed)
    click.echo(f"{cycles} backups, {made.acknowledged} acknowledged before them, none lost")


if __name__ == "__main__":
    main()
