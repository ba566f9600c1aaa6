"""This node as a member of the cluster: its lease, and the rows as last read.

``cluster/directory.py`` decides which work is due; this drives it with the rows in PostgreSQL. A
session that ended is replaced. Ages are by this process's monotonic clock.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from tidegate.cluster.directory import Directory
from tidegate.cluster.rows import Change, Join, Renew
from tidegate.errors import TidegateError
from tidegate.server.logging import log
from tidegate.stores.base import HeldError, StoreUnavailableError
from tidegate.stores.directory.cluster_rows import ClusterRows

T = TypeVar("T")

READ_SECONDS = 0.25
"""How often the rows are read without a notification, which a node that died doesn't send."""
_RETRY_SECONDS = 0.2
_NAME_SECONDS = 15.0
"""How long a node waits for its name.

An abandoned session ends within that time, whether its machine died or its link was cut.
"""


class ReplacedError(TidegateError):
    """Another process has taken this node's name."""

    code = "node-replaced"


class Membership:
    """This process as a member; call its methods only on the event loop's thread.

    Args:
        url: of the database.
        name: of the node.
        address: the address that peers reach it by.
        changed: called when the rows were read.
        loads: decisions a second of each partition that this node owns.
    """

    def __init__(
        self,
        url: str,
        name: str,
        address: str,
        changed: Callable[[], None],
        loads: Callable[[], Mapping[int, float]] = dict,
    ) -> None:
        self.directory = Directory(name, address)
        self._url = url
        self._name = name
        self._changed = changed
        self._loads = loads
        self._rows: ClusterRows | None = None
        self._thread = ThreadPoolExecutor(1, "tidegate-member")
        self._wake = asyncio.Event()
        self._is_stopped = threading.Event()
        self.lease_ends = 0.0

    @property
    def is_leased(self) -> bool:
        """Whether the lease holds, so that no other node was given its partitions."""
        return time.monotonic() < self.lease_ends

    async def run(self) -> None:
        """Renew the lease and read the rows, until cancelled.

        Raises:
            HeldError: a process of that name is running.
            ReplacedError: another process has taken the name since.
        """
        loop = asyncio.get_running_loop()
        listener = threading.Thread(target=self._listen, args=(loop,), daemon=True)
        listener.start()
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
                    log.warning("the rows of the cluster cannot be read", reason=str(error))
                    await self._disconnect()
                    await asyncio.sleep(_RETRY_SECONDS)
                    waits_since = time.monotonic()
                with suppress(TimeoutError):
                    async with asyncio.timeout(READ_SECONDS):
                        await self._wake.wait()
        finally:
            self._is_stopped.set()
            await self._disconnect()
            self._thread.shutdown(wait=False)

    async def change(self, change: Change) -> bool:
        """Make a change; return whether it was accepted.

        Raises:
            StoreUnavailableError: the rows can't be changed now.
        """
        rows = await self._call(lambda each: each.change(change))
        self._wake.set()
        return rows is not None

    def wake(self) -> None:
        """Have the rows read soon."""
        self._wake.set()

    async def _step(self) -> None:
        directory = self.directory
        now = time.monotonic()
        is_due = now >= directory.next_at()
        due = directory.tick(now, self._loads() if is_due else None)
        if due is None:
            rows = await self._call(ClusterRows.read)
            more = directory.read(rows, time.monotonic())
        else:
            more = await self._renew(due, now)
        for each in more:
            await self._call(lambda rows, each=each: rows.change(each))  # type: ignore[misc]
        if more:
            rows = await self._call(ClusterRows.read)
            directory.read(rows, time.monotonic())
        self.lease_ends = directory.duties().lease_ends
        self._changed()

    async def _renew(self, due: Join | Renew, now: float) -> list[Change]:
        rows = await self._call(lambda each: each.change(due))
        if rows is None:
            raise ReplacedError(f"another process runs as the node `{self._name}`")
        return self.directory.renewed(due, now, rows, time.monotonic())

    async def _call(self, work: Callable[[ClusterRows], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._with_rows, work)

    def _with_rows(self, work: Callable[[ClusterRows], T]) -> T:
        if self._rows is None:
            self._rows = ClusterRows(self._url, self._name)
        return work(self._rows)

    async def _disconnect(self) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, rows.close)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen for changes on a separate thread; missed ones are found by the next read."""
        while not self._is_stopped.is_set():
            try:
                rows = ClusterRows(self._url)
            except StoreUnavailableError:
                self._is_stopped.wait(_RETRY_SECONDS)
                continue
            with suppress(StoreUnavailableError, RuntimeError):
                rows.listen()
                while not self._is_stopped.is_set():
                    if rows.wait(1.0):
                        loop.call_soon_threadsafe(self._wake.set)
            rows.close()
