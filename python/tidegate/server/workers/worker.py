"""One worker process, as the service sees it."""

from __future__ import annotations

import multiprocessing
import time
from typing import TYPE_CHECKING, Any

from tidegate.errors import WorkerError
from tidegate.server.workers import child
from tidegate.server.workers.messages import Kind, encode, receive, send, send_error
from tidegate.server.workers.tidying import resident_bytes

if TYPE_CHECKING:
    from tidegate.server.offload.desk import Desk
    from tidegate.server.offload.jobs import Job
    from tidegate.server.workers.child import Setup

LOOK_SECONDS = 0.25
"""Between two looks at the memory of a worker that is busy."""
MAX_JOBS = 2_000
"""After which a worker is replaced."""
IDLE_BYTES = 128 * 2**20
"""The memory that an idle worker may hold; a new one has some 80 MiB."""

# Forked from a process that has the program and nothing of the service: neither its threads nor
# its locks and open files.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([child.__name__])


class Worker:
    """A process that does one piece of work after the other.

    Args:
        setup: what it stands on.
        name: of the process.
        memory_bytes: what it may hold; what holds half of it afterwards is replaced.
    """

    def __init__(self, setup: Setup, name: str, memory_bytes: int) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=child.main, args=(theirs, setup), name=name, daemon=True
        )
        self._process.start()
        theirs.close()
        self._memory_bytes = memory_bytes
        self._jobs = 0
        self._has_ended = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid or 0

    @property
    def is_spent(self) -> bool:
        """Whether another should replace it: it ended, or has grown."""
        return (
            self._has_ended
            or not self._process.is_alive()
            or self._jobs >= MAX_JOBS
            or resident_bytes(self.pid) > self._memory_bytes // 2
        )

    @property
    def holds_much(self) -> bool:
        """Whether it keeps more than an idle worker may."""
        return resident_bytes(self.pid) > IDLE_BYTES

    def run(self, job: Job[Any], desk: Desk, seconds: float) -> Any:
        """Do a piece of work; on any thread, one at a time.

        Raises:
            WorkerError: the process ended; it is of no further use.
            Exception: what the job raised.
        """
        self._jobs += 1
        until = time.monotonic() + seconds
        try:
            self._pipe.send_bytes(encode(job))
            while True:
                self._await(until, seconds)
                kind, content = receive(self._pipe)
                if kind is Kind.RETURNED:
                    return content
                if kind is Kind.RAISED:
                    raise content
                self._answer(desk, *content)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._has_ended = True
            raise WorkerError("a worker process ended in the middle of its work") from None

    def kill(self) -> None:
        """End the process now."""
        self._has_ended = True
        self._process.kill()
        self._process.join()

    def _answer(self, desk: Desk, name: str, arguments: tuple[Any, ...]) -> None:
        try:
            answer = getattr(desk, name)(*arguments)
        except Exception as error:
            send_error(self._pipe, error)
        else:
            send(self._pipe, Kind.RETURNED, answer)

    def _await(self, until: float, seconds: float) -> None:
        """Wait for the next message, and end the process past a bound."""
        while not self._pipe.poll(LOOK_SECONDS):
            if time.monotonic() > until:
                self.kill()
                raise WorkerError(f"the work took longer than {seconds:.0f} s")
            if resident_bytes(self.pid) > self._memory_bytes:
                self.kill()
                mebibytes = self._memory_bytes // 2**20
                raise WorkerError(f"the work took more memory than {mebibytes} MiB")
