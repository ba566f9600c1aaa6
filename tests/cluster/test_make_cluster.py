"""Tests of `make cluster`: the processes it starts and stops, and the calls it prints."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

ROOT = Path(__file__).parents[2]
NODE = re.compile(r"# node (?P<name>\w), which ends with: (?P<kill>kill -9 (\d+))")
SECONDS = 60.0


def answered(line: str) -> bool:
    """Whether a printed call is answered with a decision."""
    made = subprocess.run(line, shell=True, capture_output=True, timeout=30, check=False)
    return made.returncode == 0 and "decision_id" in orjson.loads(made.stdout)


@pytest.mark.usefixtures("postgresql")
def test_printed_calls_are_answered_also_while_the_owner_is_killed() -> None:
    """Each printed line works as it is, again once the owner is gone, and Ctrl-C ends all."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.cluster"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        calls: dict[str, str] = {}
        kills: dict[str, str] = {}
        status = ""
        steps: list[str] = []
        while len(calls) < 3:
            line = process.stdout.readline()
            assert line, "it ended"
            if line.startswith("status"):
                status = line.removeprefix("status   ").strip()
            if line.endswith(" ...\n"):
                steps.append(line)
            if found := NODE.match(line):
                kills[found["name"]] = found["kill"]
                calls[found["name"]] = process.stdout.readline()
        assert all(answered(line) for line in calls.values())
        assert "starting PostgreSQL" in steps[0]
        assert "starting the nodes a, b, c" in steps[1]
        # As a shell has it whose path lacks this environment.
        shown = subprocess.run(
            f"{status} --json",
            shell=True,
            cwd=ROOT,
            env={**os.environ, "PATH": os.defpath},
            capture_output=True,
            timeout=60,
            check=True,
        )
        document = orjson.loads(shown.stdout)
        assert sorted(each["name"] for each in document["nodes"]) == ["a", "b", "c"]
        assert all(each["is_connected"] for each in document["nodes"])
        owner = document["owner"]
        subprocess.run(kills[owner], shell=True, check=True)
        until = time.monotonic() + SECONDS
        for name, line in calls.items():
            # The one that was killed is started again, and answers then.
            while not answered(line):
                assert time.monotonic() < until, f"{name} does not answer"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout.read().endswith("stopped\n")
    finally:
        process.kill()
