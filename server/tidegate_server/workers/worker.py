"""One worker process, as the service sees it."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidegate.errors import WorkerError
from tidegate_server.workers.messages import Kind, encode, receive, send, send_error
from tidegate_server.workers.tidying import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate_server.offload.inbox import A, Inbox
    from tidegate_server.workers.child import Setup
    from tidegate_server.workers.fork_server import ForkServer

LOOK_SECONDS = 0.25
"""The time between two checks of a busy worker's memory."""
MAX_JOBS = 2_000
"""The number of jobs after which a worker is replaced."""
IDLE_BYTES = 128 * 2**20
"""The memory that an idle worker may use; a new one uses some 80 MiB."""


class Worker:
    """A process that runs one job after another.

    Args:
        fork_server: starts and ends it.
        setup: its setup.
        memory_bytes: its memory limit; if it still holds half of that after a job, it is replaced.
    """

    def __init__(self, fork_server: ForkServer, setup: Setup, memory_bytes: int) -> None:
        self._fork_server = fork_server
        self.pid, self._pipe = fork_server.start_worker()
        """The process id."""
        self._memory_bytes = memory_bytes
        self._jobs = 0
        self._has_ended = False
        self._is_busy = False
        """Whether a job has no result: one that failed here left the process waiting."""
        with suppress(ConnectionError):  # whoever sends it work finds that it ended
            self._pipe.send_bytes(encode(setup))

    @property
    def is_spent(self) -> bool:
        """Whether to replace it: it ended, waits for what never comes, or has grown."""
        return (
            self._has_ended
            or self._is_busy
            or self._pipe.poll()  # the end of an idle worker
            or self._jobs >= MAX_JOBS
            or resident_bytes(self.pid) > self._memory_bytes // 2
        )

    @property
    def holds_much(self) -> bool:
        """Tell whether it uses more than an idle worker may."""
        return resident_bytes(self.pid) > IDLE_BYTES

    def run(self, job: Callable[[A], Any], inbox: Inbox[A], seconds: float) -> Any:
        """Run a job, on any thread, one at a time.

        Raises:
            WorkerError: the process ended; this object is of no further use.
            Exception: what the job raised.
        """
        self._jobs += 1
        self._is_busy = True
        until = time.monotonic() + seconds
        try:
            self._pipe.send_bytes(encode(job))
            while True:
                self._await(until, seconds)
                kind, content = receive(self._pipe)
                if kind is Kind.ASKED:
                    self._answer(inbox, *content)
                    continue
                self._is_busy = False
                if kind is Kind.RAISED:
                    raise content
                return content
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._has_ended = True
            raise WorkerError("a worker process ended in the middle of its work") from None

    def kill(self) -> None:
        """End the process now."""
        self._has_ended = True
        self._fork_server.end_worker(self.pid)

    def _answer(self, inbox: Inbox[Any], name: str, arguments: tuple[Any, ...]) -> None:
        try:
            answer = getattr(inbox, name)(*arguments)
        except Exception as error:
            send_error(self._pipe, error)
        else:
            send(self._pipe, Kind.RETURNED, answer)

    def _await(self, until: float, seconds: float) -> None:
        """Wait for the next message, and end the process when it exceeds a limit."""
        while not self._pipe.poll(LOOK_SECONDS):
            if time.monotonic() > until:
                self.kill()
                raise WorkerError(f"the work took longer than {seconds:.0f} s")
            if resident_bytes(self.pid) > self._memory_bytes:
                self.kill()
                mebibytes = self._memory_bytes // 2**20
                raise WorkerError(f"the work took more memory than {mebibytes} MiB")
