"""One run: quiet and attacked spans of the same probe alternately, and what memory did in them."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO

import attrs
from tests.attack.attack import Attack, Outcome, Scale, encoded, run_apart
from tests.attack.documents import samples
from tests.attack.processes import Usage, rest
from tests.attack.served import World
from tests.faults.traffic import RUNTIME

ROOT = Path(__file__).parents[2]
WATCHED_EVERY = 0.1
FAULT = "Traceback (most recent call last)"
RAISED = re.compile(r"\w*(?:Error|Exception)\b")


@attrs.frozen
class Times:
    """The answers of one kind of call: milliseconds from when each was due, in order."""

    took: tuple[float, ...]
    refused: dict[str, int]
    dropped: int

    @classmethod
    def read(cls, *figures: dict[str, Any]) -> Times:
        """The times that the probe printed; several kinds as one."""
        refused: dict[str, int] = {}
        for each in figures:
            for status, count in each["statuses"].items():
                if status != "200":
                    refused[status] = refused.get(status, 0) + count
        took = sorted(ms for each in figures for ms in each["took"])
        return cls(tuple(took), refused, sum(each["dropped"] for each in figures))

    def __add__(self, other: Times) -> Times:
        names = self.refused.keys() | other.refused.keys()
        refused = {each: self.refused.get(each, 0) + other.refused.get(each, 0) for each in names}
        took = tuple(sorted(self.took + other.took))
        return Times(took, refused, self.dropped + other.dropped)

    def at(self, share: float) -> float:
        """The quantile of the milliseconds."""
        return self.took[min(int(len(self.took) * share), len(self.took) - 1)] if self.took else 0.0

    @property
    def failed(self) -> int:
        """Calls without a good answer."""
        return sum(self.refused.values()) + self.dropped

    def figures(self) -> dict[str, Any]:
        """The figures for a file."""
        quantiles = {"p50_ms": self.at(0.5), "p99_ms": self.at(0.99), "max_ms": self.at(1)}
        return {
            "answers": len(self.took),
            **quantiles,
            "refused": self.refused,
            "dropped": self.dropped,
        }


@attrs.frozen
class Seen:
    """The probe's view of one span: the other tenant, and both ways to ask for health."""

    victim: Times
    health: Times

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.victim + other.victim, self.health + other.health)


@attrs.frozen
class Measured:
    """One attack, with what was before, in and after it.

    Attributes:
        growth: MiB that the server's processes hold after it, beyond what they held before.
        peak: MiB beyond what they held before, at most, while it lasted.
        server_share: processors that the server took.
        attacker_share: processors that the attackers took.
    """

    name: str
    what: str
    isolates: bool
    bounds_growth: bool
    bounds_peak: bool
    outcome: Outcome
    quiet: Seen
    attacked: Seen
    growth: float
    peak: float
    seconds: float
    server_share: float
    attacker_share: float


class Probe:
    """The process that asks as the other tenant."""

    def __init__(self, world: World) -> None:
        command = [sys.executable, "-m", "tests.attack.probe"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe)
        given = {"base_url": world.base_url, "requests": _requests(world)}
        self._tell(json.dumps(given))

    def _tell(self, line: str) -> None:
        stream: BinaryIO = self._process.stdin  # type: ignore[assignment]
        stream.write(line.encode() + b"\n")
        stream.flush()

    def begin(self) -> None:
        """A span begins."""
        self._tell("begin")

    def end(self) -> Seen:
        """The view since the beginning, when all of it is answered."""
        self._tell("end")
        assert self._process.stdout is not None
        figures = json.loads(self._process.stdout.readline())
        return Seen(Times.read(figures["victim"]), Times.read(figures["kept"], figures["fresh"]))

    def seen(self, seconds: float) -> Seen:
        """The view from now on for a time."""
        self.begin()
        time.sleep(seconds)
        return self.end()

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        finally:
            self._process.kill()


def _requests(world: World) -> list[str]:
    """The other tenant's calls: real events, each ordinary."""
    tenant = world.tenant("Victim", "victim")
    world.must(tenant.tokens["Owner"], "PUT", f"{tenant.path}/definitions", samples())
    key = world.key(tenant)
    packed = resources.files("tidegate.samples").joinpath("traffic.jsonl.gz").read_bytes()
    found = []
    for line in gzip.decompress(packed).splitlines():
        event = json.loads(line)
        del event["idempotency_key"]  # it would be answered, not decided, the second time
        found.append(encoded("POST", RUNTIME, json.dumps(event).encode(), api_key=key).decode())
    return found


class Watch:
    """The most that the server's processes hold while a block runs."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self.peak = 0.0

    def _look(self) -> None:
        while not self._ended.wait(WATCHED_EVERY):
            self.peak = max(self.peak, Usage.read(self._pid).resident)

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


@contextmanager
def attackers() -> Iterator[ProcessPoolExecutor]:
    """The process that attacks."""
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawning) as pool:
        yield pool


@attrs.frozen
class Pace:
    """The length of each part of a run, in seconds.

    Attributes:
        settle: after an attack, at least.
        rest: and at most, where the server is not at rest before.
        idle: before memory is judged, at least: workers that keep much are replaced.
    """

    attack: float
    quiet: float
    settle: float
    rest: float
    idle: float


@attrs.define
class Run:
    """Attacks one after the other on one server."""

    world: World
    probe: Probe
    pool: ProcessPoolExecutor
    pace: Pace
    quiet: Seen

    @classmethod
    def begin(cls, world: World, probe: Probe, pool: ProcessPoolExecutor, pace: Pace) -> Run:
        """Wait for the server to come to rest, and take the first quiet figures."""
        rest(world.pid, pace.settle, pace.rest)
        return cls(world, probe, pool, pace, probe.seen(pace.quiet))

    def measure(self, name: str, what: str, attacks: Sequence[Attack]) -> Measured:
        """Attack, between two quiet spans."""
        pid = self.world.pid
        # Of several at once, what is judged is what the others see of them.
        bounds_growth = all(each.bounds_growth for each in attacks)
        if bounds_growth:
            rest(pid, self.pace.idle, self.pace.rest)
        before, logged, started = Usage.read(pid), len(self.world.log()), time.monotonic()
        with Watch(pid) as watch:
            self.probe.begin()
            outcomes = self.pool.submit(run_apart, list(attacks), self.pace.attack).result()
            attacked = self.probe.end()
        seconds = time.monotonic() - started
        used = Usage.read(pid).seconds - before.seconds
        rest(pid, self.pace.idle if bounds_growth else self.pace.settle, self.pace.rest)
        after = Usage.read(pid)
        earlier, self.quiet = self.quiet, self.probe.seen(self.pace.quiet)
        outcome = outcomes[0]
        for other in outcomes[1:]:
            outcome.add(other)
        faults = self.world.log()[logged:].split(FAULT)[1:]
        kinds = Counter(kind for each in faults for kind in RAISED.findall(each)[:1])
        outcome.require(not faults, f"{len(faults)} tracebacks in the log: {dict(kinds)}")
        return Measured(
            name=name,
            what=what,
            isolates=any(each.isolates for each in attacks),
            bounds_growth=bounds_growth,
            bounds_peak=all(each.bounds_peak for each in attacks),
            outcome=outcome,
            quiet=earlier + self.quiet,
            attacked=attacked,
            growth=after.resident - before.resident,
            peak=max(watch.peak, after.resident) - before.resident,
            seconds=seconds,
            server_share=used / seconds,
            attacker_share=outcome.seconds / seconds,
        )


def set_up(world: World, kinds: Sequence[type[Attack]], scale: Scale) -> list[Attack]:
    """The attacks that the server lets anybody prepare; the others are said."""
    world.warm()
    made = []
    for kind in kinds:
        try:
            made.append(kind.set_up(world, scale))
        except RuntimeError as error:
            world.say(f"{kind.name} cannot be prepared: {error}")
    return made
