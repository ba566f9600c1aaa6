"""One run of spellings through one proxy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import orjson
from tests.integrations.differential.exchange import NO_NUMBER, Site, Visitors
from tests.integrations.differential.fronts import in_front_of
from tests.integrations.differential.judging import difference, judged_by_spelling
from tests.integrations.differential.spellings import Spelling
from tests.integrations.edges import Edge, running
from tests.server.deciding import Deciding, deciding

_NO_RULES = {"apiVersion": "tidegate/v1"}
_PUBLISHED = "decisions.jsonl"


@attrs.frozen
class Report:
    """The outcome of a run.

    Attributes:
        spellings: how many were sent.
        served: how many reached the site.
        refused: statuses of the others' answers, with how many had each.
        differences: how a served address differs from the judged one, by spelling.
        seconds: how long asking took.
    """

    spellings: int
    served: int
    refused: Sequence[tuple[str, int]]
    differences: Sequence[tuple[Spelling, str]]
    seconds: float


@attrs.frozen
class Judge:
    """A service that says what it judged."""

    shop: Deciding
    published: Path

    def messages(self) -> list[dict[str, object]]:
        """The decisions so far, after all of them were published."""
        while "tidegate_publish_waiting 0.0" not in self.shop.service.http.get("/metrics").text:
            time.sleep(0.05)
        if not self.published.exists():
            return []
        return [orjson.loads(line) for line in self.published.read_bytes().splitlines()]


@contextmanager
def judging(directory: Path) -> Iterator[Judge]:
    """A service with a tenant without rules, until the block ends."""
    published = directory / _PUBLISHED
    with deciding(directory / "data", publish_url=f"file://{published}") as service:
        yield Judge(service.tenant(_NO_RULES), published)


def run(name: str, spellings: Sequence[Spelling], judge: Judge, directory: Path) -> Report:
    """Send spellings through a proxy and compare what was served with what was judged.

    Args:
        name: of the proxy's example.
        spellings: to send.
        judge: asked by the proxy; by no other at the same time.
        directory: of the proxy.
    """
    known = len(judge.messages())
    site, visitors, seconds = asyncio.run(_asked(name, spellings, judge, directory))
    judged = judged_by_spelling(judge.messages()[known:])
    strays = site.served.pop(NO_NUMBER, [])
    differences = [(Spelling(stray.line), "served without a number") for stray in strays]
    for number, spelling in enumerate(spellings):
        found = difference(name, site.served.get(number, ()), judged.get(number, ()))
        if found is not None:
            differences.append((spelling, found))
    refused = [(status.decode(), count) for status, count in visitors.statuses.most_common()]
    return Report(len(spellings), len(site.served), refused, differences, seconds)


async def _asked(
    name: str, spellings: Sequence[Spelling], judge: Judge, directory: Path
) -> tuple[Site, Visitors, float]:
    site = Site()
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0)
    folder = in_front_of(server.sockets[0].getsockname()[1], name, directory)
    with ExitStack() as stack:
        front = running(name, judge.shop.service.base_url, judge.shop.key, directory, folder)
        edge: Edge = await asyncio.to_thread(stack.enter_context, front)
        begun = time.monotonic()
        visitors = Visitors(int(edge.base_url.rpartition(":")[2]), spellings)
        await visitors.ask()
        seconds = time.monotonic() - begun
    server.close()
    return site, visitors, seconds
