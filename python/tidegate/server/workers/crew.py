"""All worker processes of a service: for requests, for passwords, and for replay.

So a login does not wait for an explanation, and a replay job, which may take hours, holds no place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.server.workers.child import Setup
from tidegate.server.workers.pool import Pool
from tidegate.server.workers.worker import Worker

if TYPE_CHECKING:
    from tidegate.config import Settings
    from tidegate.operators.keys import Keys
    from tidegate.server.offload.desk import Desk
    from tidegate.server.offload.jobs import Job

MEBIBYTE = 2**20
LONGEST_REPLAY_SECONDS = 7 * 86_400.0


class Crew:
    """The worker processes of a service.

    Args:
        settings: of the process.
        keys: the key material of the data directory.
        base_url: the address that callers reach the service by.
        partition: whose log the processes read.
    """

    def __init__(self, settings: Settings, keys: Keys, base_url: str, partition: int = 0) -> None:
        setup = Setup(
            database_url=settings.database_url,
            partition=partition,
            keys=keys,
            log=settings.log,
            token_lifetime_seconds=settings.token.lifetime_seconds,
            base_url=base_url,
        )
        memory = settings.workers.memory_mib * MEBIBYTE
        self.pool = Pool("work", setup, settings.workers.processes, memory)
        self.passwords = Pool("passwords", setup, 1, memory)
        self.replay = Replayer(setup, memory)

    async def start(self) -> None:
        """Start the processes that requests wait for."""
        await self.pool.start()
        await self.passwords.start()

    async def stop(self) -> None:
        """End all of them."""
        self.replay.end()
        await self.pool.stop()
        await self.passwords.stop()


class Replayer:
    """The process of replay jobs: there while one runs.

    Args:
        setup: what it stands on.
        memory_bytes: what it may hold.
    """

    def __init__(self, setup: Setup, memory_bytes: int) -> None:
        self._setup = setup
        self._memory_bytes = memory_bytes
        self._worker: Worker | None = None

    def run(self, job: Job[Any], desk: Desk) -> Any:
        """Do a piece of work, on the thread that calls it.

        Raises:
            WorkerError: the process ended, or was ended.
            Exception: what the job raised.
        """
        worker = self._worker = Worker(self._setup, "tidegate-replay", self._memory_bytes)
        try:
            return worker.run(job, desk, LONGEST_REPLAY_SECONDS)
        finally:
            worker.kill()

    def end(self) -> None:
        """End the process, in the middle of its work if there is any."""
        if self._worker is not None:
            self._worker.kill()
