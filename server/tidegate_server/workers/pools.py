"""The worker pools of a service: for requests, for passwords, and for replay.

So a login doesn't wait for an explanation, and a replay job, which may take hours, holds no slot.
Services of several partitions in one process share all pools except replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tidegate.edge.addresses import TrustedProxies
from tidegate_server.workers.child import OfPartition, Setup
from tidegate_server.workers.pool import Pool
from tidegate_server.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from tidegate_server.offload.inbox import A, Inbox
    from tidegate_server.operators.keys import Keys
    from tidegate_server.settings.whole import Settings
    from tidegate_server.workers.fork_server import ForkServer

T = TypeVar("T")

MEBIBYTE = 2**20
LONGEST_REPLAY_SECONDS = 7 * 86_400.0


class WorkerPools:
    """The worker processes of a service.

    Args:
        settings: of the process.
        keys: the key material of the data directory.
        base_url: the address that callers reach the service by.
        fork_server: starts the processes.
        partition: the partition whose log the processes read.
    """

    def __init__(
        self,
        settings: Settings,
        keys: Keys,
        base_url: str,
        fork_server: ForkServer,
        partition: int = 0,
    ) -> None:
        setup = Setup(
            database_url=settings.database_url,
            partition=partition,
            keys=keys,
            log=settings.log,
            token_lifetime_seconds=settings.token.lifetime_seconds,
            base_url=base_url,
            proxies=TrustedProxies.of(settings.server.proxies),
        )
        self._setup = setup
        self._fork_server = fork_server
        self._memory = memory = settings.workers.memory_mib * MEBIBYTE
        self.pool = Pool("work", fork_server, setup, settings.workers.processes, memory)
        self.passwords = Pool("passwords", fork_server, setup, 1, memory)
        self.replay = Replayer(fork_server, setup, memory)

    def of(self, partition: int) -> Shared:
        """Return the same processes for the service of another partition."""
        setup = attrs.evolve(self._setup, partition=partition)
        return Shared(
            SharedPool(self.pool, partition),
            SharedPool(self.passwords, partition),
            Replayer(self._fork_server, setup, self._memory),
        )

    async def start(self) -> None:
        """Start the processes that requests wait for."""
        await self.pool.start()
        await self.passwords.start()

    async def stop(self) -> None:
        """End all processes."""
        self.replay.end()
        await self.pool.stop()
        await self.passwords.stop()


@attrs.frozen
class Shared:
    """The worker pools as one partition's service uses them; their creator ends them."""

    pool: SharedPool
    passwords: SharedPool
    replay: Replayer

    async def start(self) -> None:
        """Do nothing, since the processes are running."""

    async def stop(self) -> None:
        """Do nothing, since the services of other partitions use the processes."""


@attrs.frozen
class SharedPool:
    """Worker processes that read the log of one partition for these callers."""

    _pool: Pool
    _partition: int

    @property
    def pids(self) -> list[int]:
        """See :attr:`Pool.pids`."""
        return self._pool.pids

    @property
    def waiting(self) -> int:
        """See :attr:`Pool.waiting`."""
        return self._pool.waiting

    async def run(
        self,
        job: Callable[[A], T],
        inbox: Inbox[A],
        owner: Hashable,
        seconds: float,
        *,
        is_urgent: bool = False,
    ) -> T:
        """See :class:`~tidegate_server.offload.jobs.Workers`."""
        own = OfPartition(self._partition, job)
        return await self._pool.run(own, inbox, owner, seconds, is_urgent=is_urgent)


class Replayer:
    """The process of replay jobs, which exists while one runs.

    Args:
        fork_server: starts it.
        setup: its setup.
        memory_bytes: its memory limit.
    """

    def __init__(self, fork_server: ForkServer, setup: Setup, memory_bytes: int) -> None:
        self._fork_server = fork_server
        self._setup = setup
        self._memory_bytes = memory_bytes
        self._worker: Worker | None = None

    def run(self, job: Callable[[A], Any], inbox: Inbox[A]) -> Any:
        """Run a job, blocking the calling thread.

        Raises:
            WorkerError: the process ended, or was ended.
            Exception: what the job raised.
        """
        worker = self._worker = Worker(self._fork_server, self._setup, self._memory_bytes)
        try:
            return worker.run(job, inbox, LONGEST_REPLAY_SECONDS)
        finally:
            worker.kill()

    def end(self) -> None:
        """End the process, even in the middle of a job."""
        if self._worker is not None:
            self._worker.kill()
