"""Forwards decisions in batches, in order; each decision reaches the service once.

A batch without a response is sent again unchanged: the service knows how far it got.
"""

from __future__ import annotations

import asyncio
import gzip
import random
from typing import TYPE_CHECKING

import attrs
import msgspec
import orjson

from tidegate_server.daemon.origin import OriginError
from tidegate_server.logging import log
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.sync.messages import MAX_EVENTS

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.daemon.origin import Origin
    from tidegate_server.daemon.spool import Row, Spool

IDLE_SECONDS = 0.25
FIRST_RETRY_SECONDS = 0.5
MOST_BYTES = 3 * 1024 * 1024
"""Bytes of the lines of a batch."""


class _Refused(msgspec.Struct):
    number: int
    detail: str


class _Taken(msgspec.Struct):
    acknowledged: int
    recorded: int
    refused: list[_Refused]


_TAKEN = msgspec.json.Decoder(_Taken)


@attrs.define
class Forwarding:
    """Sends a spool's decisions.

    Args:
        origin: the service.
        spool: the spool.
        daemon_id: id of this daemon.
        most_retry: most seconds between two attempts.
    """

    origin: Origin
    spool: Spool
    daemon_id: UUID
    most_retry: float = 30.0
    recorded: int = 0
    """Decisions recorded by the service since the start."""
    refused: int = 0
    """Decisions that the service will never accept."""

    async def run(self) -> None:
        """Forward until cancelled."""
        retry = FIRST_RETRY_SECONDS
        while True:
            wait = IDLE_SECONDS
            try:
                if await self.step():
                    wait = 0.0
                retry = FIRST_RETRY_SECONDS
            except (OriginError, StoreUnavailableError) as error:
                log.warning("decisions cannot be forwarded now", reason=str(error))
                asked = error.retry_after if isinstance(error, OriginError) else 0.0
                wait = max(asked, retry * random.uniform(0.5, 1.5))  # noqa: S311
                retry = min(2 * retry, self.most_retry)
            except Exception:
                log.exception("decisions could not be forwarded")
                wait = self.most_retry
            await asyncio.sleep(wait)

    async def step(self) -> bool:
        """Send the next batch; return whether there was one.

        Raises:
            OriginError: it was not accepted.
            StoreUnavailableError: the spool cannot be read or written.
        """
        spool_id, after = self.spool.spool_id, self.spool.acknowledged
        row = await asyncio.to_thread(self.spool.read, after, MAX_EVENTS)
        if row is None:
            return False
        body = await asyncio.to_thread(self._batch, spool_id, row)
        taken = _TAKEN.decode(await self.origin.forward(body))
        if taken.acknowledged <= after:
            raise OriginError("the service took none of the decisions")
        self.recorded += taken.recorded
        self.refused += len(taken.refused)
        for each in taken.refused[:3]:
            log.error("a decision is refused for good", number=each.number, reason=each.detail)
        await asyncio.to_thread(self.spool.acknowledge, min(taken.acknowledged, self.spool.last))
        return True

    def _batch(self, spool_id: UUID, row: Row) -> bytes:
        events: list[dict[str, object]] = []
        size = 0
        for number, (line, entry) in enumerate(zip(row.lines, row.entries, strict=True), row.first):
            size += len(line)
            if events and size > MOST_BYTES:
                break
            fields = orjson.Fragment(line)
            events.append({"number": number, "line": fields, "index": entry})
        body = {"daemon_id": str(self.daemon_id), "spool_id": str(spool_id), "events": events}
        return gzip.compress(orjson.dumps(body), 5)
