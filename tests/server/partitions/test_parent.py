"""The parent of server workers: real processes, and signals at bad moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

WAIT_SECONDS = 60.0
PROGRAM = """
import os, signal, sys, time
from tidegate_server.partitions import parent

class Process(parent._fork.Process):
    def start(self):
        if moment == "before":
            stop()
        if moment == "replaced" and ended:
            ended.clear()
            raise BlockingIOError(11, "no further process")
        super().start()
        if moment == "after":
            stop()

def stop():
    if os.getpid() == first:
        os.kill(first, signal.SIGTERM)

def work(number, _fork_server, started):
    started(f"address {number}")
    if moment == "replaced" and number == 0 and not ended:
        time.sleep(0.5)
        os._exit(7)
    time.sleep(3600)

def started(_address):
    ended.append(True)
    if moment == "replaced":
        signal.signal(signal.SIGALRM, lambda *_: stop())
        signal.alarm(3)

first, moment, ended = os.getpid(), sys.argv[1], []
parent._fork.Process = Process
sys.exit(parent.Parent(2, work, started).run())
"""
"""A parent of two workers that is asked to stop as it starts one, or can't replace one at once."""


def run_parent(moment: str) -> tuple[int, str]:
    """The exit code of a parent, and what it writes."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, moment],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        written, _ = process.communicate(timeout=WAIT_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, written


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_stop_while_a_worker_is_started_stops_it_too(moment: str) -> None:
    """The parent doesn't wait for a worker that was never asked to end."""
    assert run_parent(moment)[0] == 0


@pytest.mark.usefixtures("process")
def test_a_worker_that_can_not_be_replaced_at_once_is_replaced_later() -> None:
    """The other workers go on meanwhile, and the log says why one is away."""
    code, written = run_parent("replaced")
    assert code == 0
    assert "a server worker can't start" in written
    assert "no further process" in written
    assert "the parent of the server workers is gone" not in written
