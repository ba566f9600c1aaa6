"""The fork server: real processes, ended in every way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.waiting import wait_until

from tidegate_server.workers.fork_server import ForkServer, spawned

SERVICE = """
import json, os, socket, sys, threading
from tidegate_server.workers.fork_server import ForkServer

file, (ours, theirs) = open(sys.argv[1], "w"), socket.socketpair()
fork_server = ForkServer()
threading.Thread(target=threading.Event().wait, daemon=True).start()
pid, pipe = fork_server.start_worker()
print(json.dumps([fork_server.pid, pid]), flush=True)
sys.stdin.read()
"""

pytestmark = [
    pytest.mark.usefixtures("process"),
    pytest.mark.skipif(
        not Path("/proc/self/fd").exists(), reason="processes are looked up in /proc"
    ),
]


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def opened(pid: int) -> set[str]:
    """The files that a process has open, without its standard streams."""
    places = [each for each in Path(f"/proc/{pid}/fd").iterdir() if int(each.name) > 2]
    return {os.readlink(each) for each in places}


def sockets(pid: int) -> set[str]:
    return {each for each in opened(pid) if each.startswith("socket")}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_fork_has_nothing_of_the_service_and_ends_with_it(
    end: signal.Signals, tmp_path: Path
) -> None:
    """Neither its files nor its sockets; and nobody outlives it."""
    command = [sys.executable, "-c", SERVICE, str(tmp_path / "of-service")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        forks, worker = map(int, service.stdout.readline().strip(b"[]\n").split(b","))
        # A worker closes what is of the fork server once it runs.
        wait_until(lambda: not sockets(worker) & sockets(forks))
        assert len(sockets(forks)) == len(sockets(worker)) == 1
        assert {each.partition(":")[0] for each in opened(forks) | opened(worker)} == {
            "socket",
            "pipe",
        }
        service.send_signal(end)
    wait_until(lambda: not is_there(forks) and not is_there(worker))


def test_one_that_was_killed_is_replaced_and_its_workers_end() -> None:
    """The next request for a worker starts a new fork server, and gets a worker of it."""
    with closing(ForkServer(spawned)) as fork_server:
        before, _ = fork_server.start_worker()
        killed = fork_server.pid
        os.kill(killed, signal.SIGKILL)
        after, _ = fork_server.start_worker()
        wait_until(lambda: not is_there(before))
        assert is_there(after)
        assert fork_server.pid != killed
        fork_server.end_worker(before)
        assert is_there(after)


def test_a_worker_is_there_until_it_is_ended() -> None:
    """One that ended by itself keeps its process id, so that no other process is ended."""
    with closing(ForkServer(spawned)) as fork_server:
        pid, pipe = fork_server.start_worker()
        pipe.close()
        wait_until(lambda: "State:\tZ" in Path(f"/proc/{pid}/status").read_text())
        fork_server.end_worker(pid)
        assert not is_there(pid)
        fork_server.end_worker(pid)
