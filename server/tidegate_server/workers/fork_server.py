"""The fork server: the process that workers are forked from.

It is itself forked from the service before that has a thread, an event loop or an open store, and
closes its open files. So the program is loaded once, and a worker inherits no lock held by a
thread, and no socket that would outlive the service. The fork server of :mod:`multiprocessing`
starts as a new program and loads everything again, which takes a second of CPU time.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from tidegate_server.logging import log
from tidegate_server.workers import child

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

START = 0
"""Asks for a new worker, on the descriptor sent along; a process id asks to end that process."""
_NUMBER = struct.Struct("!i")
_LINE = 3
"""The descriptor of the socket to the service, after those of the standard streams."""
_PROGRAM = f"import sys; sys.path[:] = {{}}; from {__name__} import serve; serve({_LINE})"


class ForkServer:
    """The fork server of a service.

    It ends when the service does, and all its workers end with it. If it ended early, a new program
    replaces it when the next worker is started.

    Args:
        start: creates it. A fork needs a process with one thread.
    """

    def __init__(self, start: Callable[[socket.socket], int] | None = None) -> None:
        self._turn = threading.Lock()
        self._begin(start or forked)

    def start_worker(self) -> tuple[int, Connection]:
        """Start a worker.

        Returns:
            Its process id, and the pipe to send its setup on.

        Raises:
            OSError: no further process can be created.
        """
        pipe, theirs = Pipe()
        with theirs, self._turn:
            try:
                pid = self._ask(START, [theirs.fileno()])
            except ConnectionError:
                log.error("the fork server ended, and is replaced")
                self.close()
                self._begin(spawned)
                pid = self._ask(START, [theirs.fileno()])
        if pid < 0:
            pipe.close()
            raise OSError(-pid, os.strerror(-pid))
        return pid, pipe

    def end_worker(self, pid: int) -> None:
        """End a worker, unless it has ended, and release its process id."""
        with self._turn, suppress(ConnectionError):
            self._ask(pid)

    def close(self) -> None:
        """End the fork server and all workers."""
        self._line.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _begin(self, start: Callable[[socket.socket], int]) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            self.pid = start(theirs)
            """The process id."""

    def _ask(self, number: int, descriptors: Sequence[int] = ()) -> int:
        socket.send_fds(self._line, [_NUMBER.pack(number)], descriptors)
        answer = self._line.recv(_NUMBER.size)
        if not answer:
            raise ConnectionResetError
        return int(_NUMBER.unpack(answer)[0])


def forked(line: socket.socket) -> int:
    """Fork a fork server from this process; return its process id."""
    pid = os.fork()
    if pid == 0:
        _run(lambda: _serve_alone(line.fileno()))
    return pid


def spawned(line: socket.socket) -> int:
    """Start a fork server as a new program; return its process id."""
    program = _PROGRAM.format(repr(sys.path))
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-c", program],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, line.fileno(), _LINE)],
    )


def serve(descriptor: int) -> None:
    """Start and end workers until the service is gone.

    Args:
        descriptor: the descriptor of the socket to the service.
    """
    for each in (signal.SIGINT, signal.SIGTERM):  # the service decides when its workers end
        signal.signal(each, signal.SIG_IGN)
    line = socket.socket(fileno=descriptor)
    alive, held = os.pipe()
    workers: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(line, _NUMBER.size, 1)
        if not message:
            return
        (number,) = _NUMBER.unpack(message)
        if number == START:
            number = _fork(descriptors[0], alive, inherited=(descriptor, held))
            if number > 0:
                workers.add(number)
        elif number in workers:
            workers.remove(number)
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
        line.sendall(_NUMBER.pack(number))


def _serve_alone(line: int) -> None:
    """Serve without any of the service's open files."""
    os.dup2(line, _LINE)
    # The limit of open files may be a thousand million. With an old C library, `os.closerange` up
    # to it takes minutes.
    for each in map(int, os.listdir("/dev/fd")):
        if each > _LINE:
            with suppress(OSError):  # the listing's own descriptor is closed by now
                os.close(each)
    serve(_LINE)


def _fork(pipe: int, alive: int, inherited: Sequence[int]) -> int:
    """Fork a worker; return its process id, or a negative error number."""
    try:
        pid = os.fork()
    except OSError as error:
        pid = -(error.errno or errno.EAGAIN)
    if pid == 0:
        for each in inherited:
            os.close(each)
        _run(lambda: child.main(Connection(pipe), alive))
    os.close(pipe)
    return pid


def _run(work: Callable[[], None]) -> None:
    """Do the work of a forked process, and end it: the stack below belongs to its parent."""
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
