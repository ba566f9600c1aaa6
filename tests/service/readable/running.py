"""Runs a service, and sends and reads generated events in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import attrs
from tests.server.deciding import deciding
from tests.service.readable import exact
from tests.service.readable.events import Generator
from tests.service.readable.reading import DEFINITIONS, Findings, Reading

from tidegate_server.stores.sqlite import SqliteStore

OF_A_TENANT = 2_000
"""Events of one tenant: fewer than a look through the traffic reads, so all of them are matched."""
PUBLISHED_SECONDS = 60.0


def run(
    directory: Path,
    count: int,
    seed: int,
    singly: int = OF_A_TENANT,
    told: Callable[[str], object] = lambda _: None,
) -> tuple[Findings, Counter[str]]:
    """Send events and read them back.

    Args:
        directory: for the data of the service.
        count: how many events.
        seed: which events.
        singly: how many of a tenant's are read by the routes that answer with one decision, which
            take longer than a page for each of its events.
        told: gets a line when those of a tenant are done.

    Returns:
        The failures, and how many answers were compared by each route.
    """
    generator, found, read = Generator(seed), Findings(), Counter[str]()
    messages = Messages(directory / "messages")
    with deciding(directory / "data", publish_url=f"file://{messages.file}") as service:
        store = SqliteStore(f"sqlite:///{directory / 'data' / 'tidegate.db'}")
        try:
            for start in range(0, count, OF_A_TENANT):
                size = min(OF_A_TENANT, count - start)
                reading = Reading(service.tenant(DEFINITIONS), store, found, read)
                reading.send(list(generator.events(size)))
                reading.read_all(singly)
                reading.evaluated()
                reading.published(messages.take(reading.kept.keys()))
                reading.forward(service.tenant(DEFINITIONS))
                told(f"{start + size:,} events, {sum(found.counts.values())} errors")
        finally:
            store.close()
    return found, read


@attrs.define
class Messages:
    """The messages of a destination that is a file, each read once.

    Args:
        file: of the destination.
    """

    file: Path
    _read: int = 0
    _known: dict[str, Any] = attrs.field(factory=dict)

    def take(self, wanted: Collection[str]) -> dict[str, Any]:
        """The messages of some decisions, once all of them were published; others are passed."""
        deadline = time.monotonic() + PUBLISHED_SECONDS
        while True:
            self._read_on(wanted)
            if len(self._known) == len(wanted) or time.monotonic() > deadline:
                found, self._known = self._known, {}
                return found
            time.sleep(0.05)

    def _read_on(self, wanted: Collection[str]) -> None:
        if not self.file.exists():
            return
        with self.file.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                message = exact.read(line)
                if message["id"] in wanted:
                    self._known[message["id"]] = message
