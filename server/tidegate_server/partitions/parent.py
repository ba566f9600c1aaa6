"""The parent of server workers: it starts and replaces them, and makes no decisions.

It holds the directory, and the workers share its lock: another server can't start until all of them
are gone. Workers are forked, so a replacement already has the program in memory.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

import attrs

from tidegate_server.logging import log
from tidegate_server.workers.fork_server import ForkServer

if TYPE_CHECKING:
    from collections.abc import Iterator

Work = Callable[[int, ForkServer, Callable[[str], None]], None]
"""Serves a partition until a stop signal; reports its address once it accepts connections."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
"""Seconds until a worker that failed to start is started again; each failure doubles them."""
_STOPS = (signal.SIGTERM, signal.SIGINT)
_fork = multiprocessing.get_context("fork")


@attrs.define(eq=False)
class _Worker:
    """A worker process, or the slot of one."""

    number: int
    process: BaseProcess | None = None
    pipe: Pipe | None = None
    address: str | None = None
    """The address where it accepts connections; None before it does."""
    start_at: float = 0.0
    pause: float = FIRST_PAUSE

    def wait(self) -> None:
        """Start it after a pause, and have the next pause be longer."""
        self.start_at = time.monotonic() + self.pause
        self.pause = min(2 * self.pause, LONGEST_PAUSE)


class Parent:
    """The parent process.

    Args:
        count: the number of workers, one per partition.
        work: the work of each.
        started: called with the address once all of them accept connections.
    """

    def __init__(self, count: int, work: Work, started: Callable[[str], None]) -> None:
        self._workers = [_Worker(number) for number in range(count)]
        self._work = work
        self._started = started
        self._is_started = self._is_ending = False
        self._alive = os.pipe()
        """A pipe with its writing end in the parent alone: when it closes, the parent is gone."""

    def run(self) -> int:
        """Keep the workers running until a stop signal.

        Returns:
            The exit code of the process: 0, or that of a worker that could not start at first.
        """
        code = 0
        with self._signals():
            while True:
                self._start_due()
                living = [each for each in self._workers if each.process is not None]
                if not living and self._is_ending:
                    return code
                for each in self._ready(living):
                    ended = self._look(each)
                    if ended and not self._is_started and not self._is_ending:
                        code = ended
                        self._end()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {each: signal.signal(each, lambda *_: self._end()) for each in _STOPS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self) -> None:
        """Stop all workers."""
        self._is_ending = True
        for each in self._workers:
            if each.process is not None and each.process.pid is not None:
                os.kill(each.process.pid, signal.SIGTERM)

    def _ready(self, living: list[_Worker]) -> list[_Worker]:
        """Wait for workers that report or end, and return them; a due start ends the wait."""
        due = [each.start_at for each in self._workers if each.process is None]
        # A signal doesn't end the wait, so a short wait notices a stop soon.
        pause = min([1.0, *(max(0.0, at - time.monotonic()) for at in due)])
        objects: dict[Any, _Worker] = {}
        for each in living:
            assert each.process is not None
            objects[each.process.sentinel] = each
            if each.pipe is not None:
                objects[each.pipe] = each
        return list({id(objects[each]): objects[each] for each in wait(objects, pause)}.values())

    def _start_due(self) -> None:
        now = time.monotonic()
        for each in self._workers:
            if each.process is None and not self._is_ending and each.start_at <= now:
                try:
                    self._start(each)
                except OSError as error:
                    if not self._is_started:
                        raise
                    reason = str(error)
                    log.error("a server worker can't start", partition=each.number, reason=reason)
                    each.wait()

    def _start(self, worker: _Worker) -> None:
        # A stop signal between the fork and the child's own handlers would run the parent's, and
        # one before the parent knows the process would stop all but this one.
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
        try:
            if self._is_ending:
                return
            reader, writer = _fork.Pipe(duplex=False)
            process = _fork.Process(
                target=self._child, args=(worker.number, writer), name=f"tidegate-{worker.number}"
            )
            process.start()
            writer.close()
            worker.process, worker.pipe, worker.address = process, reader, None
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)

    def _child(self, number: int, writer: Pipe) -> None:
        for each in _STOPS:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        alive, kept = self._alive
        os.close(kept)
        with closing(ForkServer()) as fork_server:  # forked while there is only one thread
            threading.Thread(target=_stop_without, args=(alive,), daemon=True).start()
            self._work(number, fork_server, writer.send)

    def _look(self, worker: _Worker) -> int:
        """Handle a worker's report, or its end.

        Returns:
            Its exit code if it failed; 0 otherwise.
        """
        assert worker.process is not None
        if worker.pipe is not None and worker.pipe.poll():
            try:
                worker.address = worker.pipe.recv()
                worker.pause = FIRST_PAUSE
            except EOFError:
                worker.pipe.close()
                worker.pipe = None
        if not self._is_started and all(each.address for each in self._workers):
            self._is_started = True
            self._started(str(worker.address))
        if worker.process.is_alive():
            return 0
        worker.process.join()
        code = worker.process.exitcode or 0
        worker.process = worker.address = None
        if worker.pipe is not None:
            worker.pipe.close()
            worker.pipe = None
        if not self._is_ending and self._is_started:
            log.error("a server worker ended and is replaced", partition=worker.number, code=code)
            worker.wait()
        return code or 1


def _stop_without(alive: int) -> None:
    """Stop this worker when its parent is gone."""
    os.read(alive, 1)
    log.error("the parent of the server workers is gone, and this one stops")
    os.kill(os.getpid(), signal.SIGTERM)
