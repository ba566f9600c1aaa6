"""This node as a member of the cluster: its session with the database, and what it sees there.

``cluster/ownership.py`` decides which work is due; this drives it.  A session that ended is
replaced, without the locks that it held.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from tidegate_server.cluster.ownership import BEAT_SECONDS, Ownership
from tidegate_server.logging import log
from tidegate_server.stores.base import HeldError, StoreUnavailableError, UnsafeDatabaseError

if TYPE_CHECKING:
    from tidegate_server.stores.directory.members import Members, MemberSession, SharedClaim

T = TypeVar("T")

_RETRY_SECONDS = 0.2
_NAME_SECONDS = 15.0
"""How long a node waits for its name.

An abandoned session ends within that time, whether its machine died or its link was cut.
"""


class Membership:
    """This process as a member; call its methods only on the event loop's thread.

    Args:
        members: of the cluster.
        name: of the node.
        address: the address that peers reach it by.
        changed: called after each view, and when the session ended.
        level: returns the partitions whose states this node has, ready to take over.
    """

    def __init__(
        self,
        members: Members,
        name: str,
        address: str,
        changed: Callable[[], None],
        level: Callable[[], Collection[int]] = tuple,
    ) -> None:
        self.ownership = Ownership(name)
        self._members = members
        self._address = address
        self._changed = changed
        self._level = level
        self._is_draining = False
        self._session: MemberSession | None = None
        self._thread = ThreadPoolExecutor(1, "tidegate-member")
        self._wake = asyncio.Event()
        self._asked: asyncio.Future[bool] | None = None
        """The result for those who asked since the last confirmation began."""
        self._confirming: asyncio.Task[None] | None = None

    def owns(self, claim: SharedClaim) -> bool:
        """Tell whether this node still holds a lock, as far as it can know."""
        return self.ownership.owns(claim.partition, claim.term, time.monotonic())

    async def run(self) -> None:
        """Beat and see, until cancelled.

        Raises:
            HeldError: a process of that name is running.
        """
        loop = asyncio.get_running_loop()
        listen_no_longer = self._members.listen(lambda: loop.call_soon_threadsafe(self._wake.set))
        waits_since, is_waiting = time.monotonic(), False
        try:
            while True:
                self._wake.clear()
                try:
                    await self._step()
                    waits_since = time.monotonic()
                    is_waiting = False
                except HeldError as error:
                    if time.monotonic() > waits_since + _NAME_SECONDS:
                        raise
                    if not is_waiting:
                        log.warning("this node waits for its name", reason=str(error))
                    is_waiting = True
                    await asyncio.sleep(_RETRY_SECONDS)
                except StoreUnavailableError as error:
                    log.warning("the session of this node ended", reason=str(error))
                    await asyncio.sleep(_RETRY_SECONDS)
                    waits_since = time.monotonic()
                with suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_SECONDS):
                        await self._wake.wait()
        finally:
            listen_no_longer()
            await self._disconnect()
            self._thread.shutdown(wait=False)

    def wake(self) -> None:
        """Beat and see soon."""
        self._wake.set()

    async def take(self, partition: int) -> SharedClaim | None:
        """Take a partition; return None if somebody else holds it.

        Raises:
            StoreUnavailableError: the session ended.
        """
        session = self.ownership.session
        claim = await self._call(lambda each: each.take(partition))
        if claim is not None and session is not None:
            self.ownership.taken(session, partition, claim.term)
            self.wake()
        return claim

    async def drain(self) -> None:
        """Tell the others that this node is about to stop.

        Raises:
            StoreUnavailableError: the session ended.
        """
        self._is_draining = True
        await self._call(lambda each: each.drain(self.ownership.name))
        self.wake()

    def confirm(self) -> asyncio.Future[bool]:
        """Whether the session that this node has now is alive after this call.

        If it is, no other node took a partition from this one before the call.  All calls of a
        turn share one statement.
        """
        loop = asyncio.get_running_loop()
        if self._asked is None:
            self._asked = loop.create_future()
            if self._confirming is None:
                self._confirming = loop.create_task(self._confirm())
        # Each caller may go without ending the question of the others.
        return asyncio.shield(self._asked)

    async def _confirm(self) -> None:
        try:
            while (asked := self._asked) is not None:
                self._asked = None
                session, is_alive = self._session, False
                try:
                    with suppress(StoreUnavailableError):
                        await self._call(lambda each: each.confirm())
                        is_alive = session is self._session
                except Exception:
                    log.exception("the session of this node was not confirmed")
                asked.set_result(is_alive)
        finally:
            self._confirming = None

    async def _step(self) -> None:
        if self._session is None:
            await self._join()
        level = frozenset(self._level())
        sent_at = time.monotonic()
        view = await self._call(lambda each: each.beat(level))
        for silent in self.ownership.seen(view, sent_at, time.monotonic()):
            log.warning("the session of a silent node is ended", node=silent.name)
            try:
                await self._call(lambda each, silent=silent: each.end(silent))  # type: ignore[misc]
            except UnsafeDatabaseError as error:
                log.error("a silent node keeps its partitions", reason=str(error))
        self._changed()

    async def _join(self) -> None:
        def joined() -> MemberSession:
            return self._members.join(
                self.ownership.name, self._address, is_draining=self._is_draining
            )

        self._session = await asyncio.get_running_loop().run_in_executor(self._thread, joined)
        self.ownership.joined(self._session.number)

    async def _call(self, work: Callable[[MemberSession], T]) -> T:
        """Use the session; after an error there is another, which holds nothing yet."""
        session = self._session
        if session is None:
            raise StoreUnavailableError("this node has no session with the database")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work, session)
        except StoreUnavailableError:
            if session is self._session:
                await self._disconnect()
            raise

    async def _disconnect(self) -> None:
        session, self._session = self._session, None
        self.ownership.lost()
        if self._asked is not None:
            self._asked.set_result(False)
            self._asked = None
        self._changed()
        if session is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, session.close)
