"""This node as follower of a log: all that an owner needs, open and in step with the log.

``cluster/follower.py`` decides which parts of the log to read, and when; this drives it. A node
that is to become the owner and follows nothing starts to follow then, so there is only one way to
build an owner's state.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from tidegate_server.cluster.follower import Follower
from tidegate_server.engines.following import Level, States, UnfollowableError
from tidegate_server.logging import log
from tidegate_server.stores.base import DamagedLogError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate_server.cluster.messages import ReadRequest
    from tidegate_server.hot.hot_path import HotPath
    from tidegate_server.http.application import HttpApplication
    from tidegate_server.nodes.preparing import Ended, Prepare, Prepared
    from tidegate_server.service import Service
    from tidegate_server.stores.directory.members import SharedClaim

RETRY_SECONDS = 1.0


@attrs.frozen
class Opened:
    """The parts of an owner that answer.

    Attributes:
        hot: the hot path.
        application: answers everything else.
        service: the service of both.
    """

    hot: HotPath
    application: HttpApplication
    service: Service


class Following:
    """A service that is ready except for the claim.

    Args:
        prepare: opens the log, and prepares its service.
        partition: the partition of the followed log.
        level: called on the event loop when the states have caught up with the log.
    """

    def __init__(
        self,
        prepare: Prepare,
        partition: int,
        level: Callable[[], None] = lambda: None,
    ) -> None:
        self.partition = partition
        self._prepare = prepare
        self._tell_level = level
        self._prepared: Prepared | None = None
        self._follower: Follower[States] | None = None
        self._running: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._ended: Ended = lambda _: None
        self.has_been_level = False
        """Whether the states ever caught up: then a claim only has to read the end of the log."""

    @property
    def is_level(self) -> bool:
        """Whether the states have caught up with the log, as it was last read."""
        follower = self._follower
        return follower is not None and follower.is_level and follower.decider.is_whole

    def begin(self) -> None:
        """Follow until :meth:`take` or :meth:`close`."""
        self._running = asyncio.create_task(self._run())

    async def take(self, claim: SharedClaim, ended: Ended) -> Opened:
        """Claim the log, read its end and start the service; possible once, and ends the following.

        Args:
            claim: the partition's lock; the caller releases it.
            ended: called, on a thread of the store, when this process is no longer the owner.

        Raises:
            FencedError: another process has claimed under a later term.
            StoreError: the log can't be claimed or read.
        """
        await self._stop_following()
        if self._follower is None:
            await self._drop()
            await self._open()
        prepared = self._prepared
        assert prepared is not None
        self._ended = ended
        end = await asyncio.to_thread(prepared.claim, claim)
        level = await self._read_to(end)
        hot = await prepared.service.start(level)
        return Opened(hot, prepared.application(hot), prepared.service)

    async def close(self) -> None:
        """Stop following, and close the store."""
        await self._stop_following()
        await self._drop()

    async def _stop_following(self) -> None:
        self._over.set()
        if self._running is not None:
            await self._running
            self._running = None

    async def _run(self) -> None:
        """Follow the log until the end, despite failures on the way."""
        while not self._over.is_set():
            try:
                follower = self._follower or await self._open()
                wait = await self._step(follower) - time.monotonic()
            except StoreError as error:
                log.warning("the log cannot be followed now", reason=str(error))
                await self._drop()
                wait = RETRY_SECONDS
            except Exception:
                log.exception("the log is not followed; it is tried again")
                await self._drop()
                wait = RETRY_SECONDS
            with suppress(TimeoutError):
                async with asyncio.timeout(max(wait, 0.0)):
                    await self._over.wait()

    async def _open(self) -> Follower[States]:
        """Open the store and read all states."""
        # The store may end the ownership of whoever has claimed it by then.
        prepared = await self._prepare(self.partition, lambda error: self._ended(error))
        self._prepared = prepared
        position = await prepared.read_states()
        self._follower = follower = Follower(self.partition, prepared.states, position)
        return follower

    async def _step(self, follower: Follower[States]) -> float:
        """Read what is due and restore states if needed; return when the next step is due."""
        was_level = self.is_level
        request = follower.tick(time.monotonic())
        while request is not None and not self._over.is_set():
            request = await asyncio.to_thread(_applied, follower, request)
        await follower.decider.restore()
        if self.is_level:
            self.has_been_level = True
            if not was_level:
                self._tell_level()
        return follower.next_at()

    async def _read_to(self, end: int) -> Level:
        """Return the states after the last decision of the log, which nobody else appends to."""
        follower = self._follower
        assert follower is not None
        try:
            while follower.position < end:
                request = follower.read(time.monotonic())
                await asyncio.to_thread(_applied, follower, request)
        except (DamagedLogError, UnfollowableError, ValueError) as error:
            log.error("the states are made anew", reason=str(error))
            return Level({}, 0, is_sound=False)
        return follower.decider.level()

    async def _drop(self) -> None:
        self._follower = None
        prepared, self._prepared = self._prepared, None
        if prepared is not None:
            await prepared.close()


def _applied(follower: Follower[States], request: ReadRequest) -> ReadRequest | None:
    """Read and apply; return the next read if there is more."""
    return follower.receive(follower.decider.read(request), time.monotonic())
