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
        if sys.argv[1] == "before":
            stop()
        super().start()
        if sys.argv[1] == "after":
            stop()

def stop():
    if os.getpid() == first:
        os.kill(first, signal.SIGTERM)

first = os.getpid()
parent._fork.Process = Process
sys.exit(parent.Parent(2, lambda *_: time.sleep(3600), print).run())
"""
"""A parent that is asked to stop as it starts a worker."""


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_stop_while_a_worker_is_started_stops_it_too(moment: str) -> None:
    """The parent doesn't wait for a worker that was never asked to end."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, moment], start_new_session=True)
    try:
        assert process.wait(WAIT_SECONDS) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
