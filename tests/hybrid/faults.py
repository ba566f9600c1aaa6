"""The faults of schedules: what each does to a daemon, its service, its disk or the link."""

from __future__ import annotations

import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
from tests.hybrid.link import Link
from tests.hybrid.running import Daemon, Service, wait_for

FAULTS = (
    "cut", "kill", "stop", "truncate", "flip", "replay", "corrupt", "empty", "full", "origin",
    "wait",
)  # fmt: skip
FILES = tuple(
    f"{name}.json{ending}"
    for name in ("definitions", "state", "fail-mode")
    for ending in ("", ".previous")
)
FULL_BYTES = 4_096
"""Bytes of a file while the disk counts as full: fewer than the spool's."""


@attrs.define
class Fault:
    """One fault, among parts that go on afterwards."""

    origin: Service
    site: Daemon
    link: Link
    chosen: random.Random
    _probe_from: int | None = None

    @contextmanager
    def inflicted(self, name: str) -> Iterator[bool]:
        """Inflict a fault; whether the daemon has to keep what it decides meanwhile."""
        match name:
            case "cut":
                self.link.cut()
            case "kill" | "stop":
                self.site.stop(signal.SIGKILL if name == "kill" else signal.SIGTERM)
                self.site.start()
            case "truncate":
                self.link.truncate = self.chosen.randint(1, 2_000)
            case "flip":
                self.link.flip = self.chosen
            case "replay":
                self._replay()
            case "corrupt" | "empty":
                self.site.stop(self.chosen.choice((signal.SIGKILL, signal.SIGTERM)))
                for each in self.chosen.sample(FILES, self.chosen.randint(1, len(FILES))):
                    damage(self.site.folder / "cache" / each, name, self.chosen)
                self.site.start()
            case "full":
                with full_disk(self.site):
                    yield False
                self._probe_from = self.site.status()["decided"]
                return
            case "origin":
                self.origin.restart(signal.SIGKILL)
            case "wait":
                time.sleep(self.chosen.random())
        yield True

    def over(self, decide: Callable[[], object]) -> None:
        """Return once the daemon keeps its decisions again."""
        before = self._probe_from
        if before is not None:
            wait_for(lambda: decide() and self.site.status()["decided"] > before)

    def _replay(self) -> None:
        """Earlier answers replace new ones, and the daemon does not go back to them."""
        before = self.site.status()["revision"]
        self.link.replay = self.chosen.choice
        replayed = self.link.replayed
        self.link.drop()
        with suppress(AssertionError):
            wait_for(lambda: self.link.is_cut or self.link.replayed > replayed, 5)
        assert self.site.status()["revision"] >= before, "an old answer was taken"


@contextmanager
def full_disk(site: Daemon) -> Iterator[None]:
    """No file of the daemon can grow any more."""
    assert site.process is not None
    limit = resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, (FULL_BYTES, limit[1]))
    try:
        yield
    finally:
        resource.prlimit(site.process.pid, resource.RLIMIT_FSIZE, limit)


def damage(path: Path, fault: str, chosen: random.Random) -> None:
    """Change a byte of a file, or cut it."""
    if not path.exists():
        return
    content = bytearray(path.read_bytes())
    if fault == "empty" or not content:
        path.write_bytes(content[: chosen.randrange(len(content) + 1)])
        return
    content[chosen.randrange(len(content))] ^= chosen.randrange(1, 256)
    path.write_bytes(content)
