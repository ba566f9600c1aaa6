"""Runs a service, and sends and reads generated events in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.deciding import deciding
from tests.service.readable import exact
from tests.service.readable.events import Generator
from tests.service.readable.reading import DEFINITIONS, Findings, Reading

from tidegate.stores import SqliteStore

OF_A_TENANT = 300
"""Events of one tenant: an explanation looks through all earlier decisions of its tenant."""
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
        singly: how many of 300 are read by the routes that answer with one decision: such a call
            takes longer than an event of a page by all routes that answer with lists.
        told: gets a line when those of a tenant are done.

    Returns:
        What does not hold, and how many answers were compared by each route.
    """
    generator, found, read = Generator(seed), Findings(), Counter[str]()
    messages = directory / "messages"
    with deciding(directory / "data", publish_url=f"file://{messages}") as service:
        store = SqliteStore(f"sqlite:///{directory / 'data' / 'tidegate.db'}")
        try:
            for start in range(0, count, OF_A_TENANT):
                size = min(OF_A_TENANT, count - start)
                reading = Reading(service.tenant(DEFINITIONS), store, found, read)
                reading.send(list(generator.events(size)))
                reading.read_all(singly)
                reading.evaluated()
                reading.published(published(messages, reading.kept.keys()))
                reading.forward(service.tenant(DEFINITIONS))
                told(f"{start + size:,} events, {sum(found.counts.values())} errors")
        finally:
            store.close()
    return found, read


def published(file: Path, wanted: Any) -> dict[str, Any]:
    """The messages of some decisions, once all of them were published."""
    deadline = time.monotonic() + PUBLISHED_SECONDS
    while True:
        lines = file.read_bytes().splitlines() if file.exists() else []
        whole = lines if not lines or lines[-1].endswith(b"}") else lines[:-1]
        messages = {each["id"]: each for each in map(exact.read, whole) if each["id"] in wanted}
        if len(messages) == len(wanted) or time.monotonic() > deadline:
            return messages
        time.sleep(0.2)
