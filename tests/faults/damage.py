"""``python -m tests.faults.damage``: one thing damaged in a directory that a kill left, many times.

A loaded server is killed.  In each case a copy of what it left is damaged in one place: bytes
flipped, a file cut, emptied or removed.  ``tidegate verify`` looks at it and a server is started
on it.  Acknowledged decisions must be there, or their loss must be reported: the server
refuses to start, it reports the loss, or ``tidegate verify`` finds it.  Silence and tracebacks
fail.
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
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import attrs
import click
from tests.faults.load import Acknowledged, Call, send
from tests.faults.target import Target
from tests.faults.traffic import Traffic
from tools import plain_http

from tidegate_server.directory.verification import Verification
from tidegate_server.stores.base import StoreError
from tidegate_server.stores.decision_log import gaps, log
from tidegate_server.stores.rows.connections import reading_engine

LOAD_SECONDS = 3.0
START_SECONDS = 60.0
RESENT = 20
"""Acknowledged calls of a case that are sent again."""
SNAPSHOT_EVERY = 1_000
ACTIONS = ("flip", "cut", "empty", "remove")
MAX_FLIPPED = 512
REFUSED, REPORTED, WHOLE = "refused", "reported", "whole or mended"


@attrs.frozen
class Damage:
    """The damage to one file."""

    file: Path
    action: str
    at: int = 0
    length: int = 0

    def __str__(self) -> str:
        place = f" at {self.at}" if self.action in ("flip", "cut") else ""
        return f"{self.action} {self.file}{place}" + (f" +{self.length}" if self.length else "")

    def do(self, directory: Path) -> None:
        """Do it."""
        path = directory / self.file
        if self.action == "remove":
            path.unlink()
            return
        content = bytearray(path.read_bytes())
        if self.action == "flip":
            end = self.at + self.length
            content[self.at : end] = bytes(each ^ 0xA5 for each in content[self.at : end])
        else:
            del content[self.at if self.action == "cut" else 0 :]
        path.write_bytes(content)


@attrs.define
class Left:
    """A directory that a kill left, and what was acknowledged before."""

    directory: Path
    tenant_id: UUID
    api_key: str
    token: str
    acknowledged: dict[str, Acknowledged]

    @classmethod
    def make(cls, place: Path, seed: int) -> Left:
        """Load a server and kill it."""
        settings = {"TIDEGATE_STORE_SNAPSHOT_EVERY": str(SNAPSHOT_EVERY)}
        target = Target.make(place / "data", place / "log", settings)
        made: list[Acknowledged] = []

        async def load() -> None:
            traffic = Traffic(seed)
            calls = (Call(*traffic.next()) for _ in iter(int, 1))
            sending = asyncio.create_task(send(target.base_url, target.api_key, calls, made.append))
            await asyncio.sleep(LOAD_SECONDS)
            await asyncio.to_thread(target.end, signal.SIGKILL)
            await sending

        try:
            asyncio.run(load())
        finally:
            target.end(signal.SIGKILL)
        known = {each.call.key: each for each in made}
        return cls(place / "data", UUID(target.tenant_id), target.api_key, target.token, known)

    def cases(self, count: int, seed: int) -> Iterator[Damage]:
        """Damages all over the files: every file and action before any comes again."""
        draw = random.Random(seed)
        files = sorted(
            path.relative_to(self.directory) for path in self.directory.rglob("*") if path.is_file()
        )
        waiting: list[tuple[Path, str]] = []
        for number in range(count):
            if not waiting:
                draw.shuffle(files)
                # Neighbours differ in file and action: a short run has every action as well.
                waiting = [
                    (file, ACTIONS[(at + turn) % len(ACTIONS)])
                    for turn in range(len(ACTIONS))
                    for at, file in enumerate(files)
                ]
            file, action = waiting.pop()
            size = (self.directory / file).stat().st_size
            if action in ("empty", "remove") and number >= len(files) * len(ACTIONS):
                action = "flip"  # once is enough: it has no place
            if action not in ("flip", "cut") or not size:
                yield Damage(file, "remove" if action == "remove" else "empty")
                continue
            at = draw.randrange(size)
            length = min(draw.choice([1, 8, 64, MAX_FLIPPED]), size - at)
            yield Damage(file, action, at, length if action == "flip" else 0)


@attrs.define
class Case:
    """One damage and what came of it."""

    left: Left
    damage: Damage
    place: Path
    is_key_lost: bool = False

    def judge(self) -> str:
        """The outcome of the case.

        Raises:
            AssertionError: something is lost in silence, changed, or reported by a traceback.
        """
        directory = self.place / "data"
        shutil.copytree(self.left.directory, directory)
        self.damage.do(directory)
        looked_at = self.place / "verified"
        shutil.copytree(directory, looked_at)
        found = [str(each) for each in Verification(looked_at).findings()]
        said = self._serve(directory)
        assert "Traceback" not in said, said[-3000:]
        if said.startswith("refused"):
            return REFUSED
        is_reported = bool(found) or '"level":"error"' in said
        assert is_reported or not self.is_key_lost, "the API key is gone in silence"
        lost, reported = self._lost(directory)
        if lost:
            assert reported >= len(lost) or found, (
                f"{len(lost)} acknowledged decisions are gone in silence: {sorted(lost)[:5]}"
            )
            return REPORTED
        return REPORTED if is_reported else WHOLE

    def _serve(self, directory: Path) -> str:
        """Start a server and ask it a little; what it said on standard error."""
        errors = self.place / "errors"
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tidegate", "serve", "--json", "--server-port", "0"),
                    *("--store-directory", str(directory)),
                ],
                stdout=subprocess.PIPE,
                stderr=stream,
                env={**os.environ, "HOME": str(self.place)},
            )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                code = process.wait(START_SECONDS)
                text = errors.read_text()
                assert code == 1, f"the server ended with {code}: {text[-3000:]}"
                assert "error: " in text, f"no sentence: {text[-3000:]}"
                return "refused\n" + text
            self._ask(json.loads(line)["base_url"])
            process.send_signal(signal.SIGTERM)
            code = process.wait(START_SECONDS)
            text = errors.read_text()
            assert code == 0, f"the server ended with {code}: {text[-3000:]}"
            return text
        finally:
            process.kill()
            process.wait()

    def _ask(self, base_url: str) -> None:
        """A search, and some acknowledged calls again: answered as before, or not known."""
        tenant = f"{base_url}/api/v1/tenants/{self.left.tenant_id}"
        headers = {"authorization": f"Bearer {self.left.token}"}
        for path in ("decisions?limit=200", "policies", "audit?limit=50"):
            answer = plain_http.get(f"{tenant}/{path}", headers=headers, timeout=60)
            assert answer.status_code < 500 or answer.json()["code"] in (
                "damaged-records",
                "store-unavailable",
            ), answer.text
        known = list(self.left.acknowledged.values())
        again = known[:: max(1, len(known) // RESENT)]
        outcome = asyncio.run(
            send(base_url, self.left.api_key, [made.call for made in again], connections=2)
        )
        for made in outcome.acknowledged:
            before = self.left.acknowledged[made.call.key]
            assert not made.is_replayed or made.answer == before.answer, made.call.key
        # A key can be among what is lost; that somebody says so is judged with the rest.
        self.is_key_lost = 401 in outcome.refused
        assert not set(outcome.refused) - {401, 503}, outcome.refused

    def _lost(self, directory: Path) -> tuple[set[str], int]:
        """Keys of acknowledged decisions that are no longer in the log, and how many it says are.

        One that was sent again, and decided again, is one that was lost.
        """
        engine = reading_engine(directory / "tidegate.db")
        try:
            with engine.connect() as connection:
                reported = gaps.total(connection)
                kept: dict[str, bytes] = {}
                try:
                    for line in log.scan(connection, passed=lambda _: None):
                        decision = line.decision()
                        key = json.loads(decision.event)["idempotency_key"]
                        kept.setdefault(key, decision.answer)
                except StoreError as error:
                    raise AssertionError(f"the log cannot be read: {error}") from error
        finally:
            engine.dispose()
        changed = {
            key
            for key, made in self.left.acknowledged.items()
            if key in kept and kept[key] != made.answer
        }
        return (self.left.acknowledged.keys() - kept.keys()) | changed, reported


def run(cases: int, seed: int, *, is_quiet: bool = False) -> Counter[str]:
    """Judge cases; how many ended as what.

    Raises:
        AssertionError: some failed; the message names the seed and each of them.
    """
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tidegate-damage-") as name:
        left = Left.make(Path(name), seed)
        if not is_quiet:
            click.echo(f"seed {seed}: {len(left.acknowledged)} acknowledged, {cases} cases")
        for number, damage in enumerate(left.cases(cases, seed)):
            with tempfile.TemporaryDirectory(prefix="case-", dir=name) as place:
                try:
                    outcome = Case(left, damage, Path(place)).judge()
                except AssertionError as error:
                    outcome = "FAILED"
                    failures.append(f"case {number + 1}, {damage}: {error}")
                outcomes[outcome] += 1
            if not is_quiet:
                click.echo(f"  {number + 1}: {damage}: {outcome}")
                if outcome == "FAILED":
                    click.echo(failures[-1])
    assert not failures, f"seed {seed}:\n" + "\n".join(failures)
    return outcomes


@click.command()
@click.option("--cases", default=500, show_default=True)
@click.option("--seed", type=int, help="Draws of the run; by default of the clock.")
def main(cases: int, seed: int | None) -> None:
    """Damage what a kill left, one place a case, and judge what is said of it."""
    outcomes = run(cases, time.time_ns() % 1_000_000 if seed is None else seed)
    summary = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    click.echo(f"{cases} cases: {summary}; none silent, no traceback")


if __name__ == "__main__":
    main()
