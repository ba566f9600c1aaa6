"""The lock of a data directory: one holder, named to others, gone with its process."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from tidegate_server.stores.base import HeldError
from tidegate_server.stores.directory.lock import Holder, claim, lock_path, read_holder


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """The path of a database that may not exist."""
    return tmp_path / "tidegate.db"


def test_the_second_is_refused_with_the_name_of_the_holder(database: Path) -> None:
    """Process, host, time and address, in one line."""
    held = claim(database)
    held.describe("http://127.0.0.1:9")
    with pytest.raises(HeldError) as refused:
        claim(database)
    text = str(refused.value)
    assert f"process {os.getpid()} on {os.uname().nodename}, since 20" in text
    assert "serving on http://127.0.0.1:9" in text
    assert "\n" not in text
    held.release()
    claim(database).release()


def test_who_waits_gets_it_after_the_end_of_the_holder(database: Path) -> None:
    """A waiting process gets the lock when the holder ends, here by a kill, and not before."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        claim(database)
        os.write(tell, b"!")
        signal.pause()
    os.read(ready, 1)
    holders: list[Holder] = []
    waiting = threading.Event()
    got = threading.Event()

    def wait() -> None:
        def report(holder: Holder) -> None:
            holders.append(holder)
            waiting.set()

        claim(database, report).release()
        got.set()

    threading.Thread(target=wait, daemon=True).start()
    assert waiting.wait(30)
    assert not got.is_set()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert got.wait(30)
    assert [each.pid for each in holders] == [child]


def test_a_forked_process_does_not_hold_it(database: Path) -> None:
    """A worker that outlives its parent does not keep the directory from the next."""
    ready, tell = os.pipe()
    held = claim(database)
    child = os.fork()
    if child == 0:
        os.write(tell, b"!")
        signal.pause()
    os.read(ready, 1)
    try:
        held.release()
        claim(database).release()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_lock_file_that_was_replaced_while_waiting_is_not_the_lock(database: Path) -> None:
    """The owner is who holds the file that others will open."""
    first = claim(database)
    waiting = threading.Event()
    got: list[bool] = []

    def wait() -> None:
        held = claim(database, lambda _: waiting.set())
        got.append(held.path.samefile(lock_path(database)))
        with pytest.raises(HeldError):
            claim(database)
        held.release()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    assert waiting.wait(30)
    lock_path(database).unlink()
    lock_path(database).touch(0o600)
    first.release()
    waiter.join(30)
    assert got == [True]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}'])
def test_a_holder_that_says_nothing_is_another_process(database: Path, content: str) -> None:
    """An earlier version writes nothing into the file."""
    lock_path(database).write_text(content)
    assert str(read_holder(lock_path(database))) == "another process"
