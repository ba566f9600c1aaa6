"""Events on a terminal: a sentence when they have to be typed, and how far files are read."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pexpect
import pytest

from tidegate.cli.inputs.opening import Meter, open_events

COMMAND = [sys.executable, "-m", "tidegate"]
EVENT = b'{"request":{"path":"/a"}}\n'


def spawn(*arguments: str) -> pexpect.spawn:
    return pexpect.spawn(COMMAND[0], [*COMMAND[1:], *arguments], timeout=60, dimensions=(24, 120))


@pytest.mark.parametrize(
    ("arguments", "expected", "typed"),
    [
        (("eval", "request.path"), "reading events from the terminal", EVENT.decode()),
        (("check", "-"), "reading a document from the terminal", "apiVersion: tidegate/v1\n"),
    ],
)
def test_a_command_says_that_it_reads_from_the_terminal(
    arguments: tuple[str, ...], expected: str, typed: str, process: None
) -> None:
    """Somebody who forgot the file sees why nothing happens, and how to end it."""
    child = spawn(*arguments)
    child.expect(f"{expected}; Ctrl-D ends it")
    child.send(typed)
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_pipe_is_read_without_a_word(process: None) -> None:
    """Only a terminal needs the sentence."""
    done = subprocess.run([*COMMAND, "eval", "true"], input=EVENT, capture_output=True, check=True)
    assert done.stderr == b""


def test_progress_is_in_bytes_with_the_time_left(tmp_path: Path, process: None) -> None:
    """A long file shows how much of its size is read, and how long the rest takes."""
    definitions = tmp_path / "shop.yaml"
    samples = resources.files("tidegate.samples")
    definitions.write_bytes((samples / "definitions.yaml").read_bytes())
    events = tmp_path / "events.jsonl"
    events.write_bytes(EVENT * 150_000)
    child = spawn("decide", str(definitions), str(events), "--summary")
    child.expect(re.compile(rb"reading.*?/3\.9 MB.*?\d:\d\d:\d\d", re.DOTALL))
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_meter_counts_the_bytes_on_the_disk(tmp_path: Path) -> None:
    """Packed files count by their packed size, so that all of it is read at the end."""
    names = [str(tmp_path / name) for name in ("a", "b.gz")]
    Path(names[0]).write_bytes(EVENT * 10)
    Path(names[1]).write_bytes(gzip.compress(EVENT * 10))
    meter = Meter(names)
    assert meter.total == sum(Path(name).stat().st_size for name in names)
    for name in names:
        with open_events(name, meter) as stream:
            assert len(stream.read()) == len(EVENT) * 10
    assert meter.read == meter.total


def test_the_size_of_standard_input_is_unknown() -> None:
    """A bar without an end counts lines instead."""
    assert Meter(["-"]).total is None
