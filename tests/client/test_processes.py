"""Threads, forks and the end of a process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading

import pytest
from tests.client.scripted import Received, ScriptedServer, hang
from tests.client.worlds import QuickTime, world

from tidegate import Client
from tidegate.client import DeliveryCounts
from tidegate.client.errors import ClientClosedError

KEY = "tg_test_key"


def run_program(server: ScriptedServer, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds a client class and the address of the server."""
    head = f"import os, threading\nfrom tidegate import Client\nADDRESS = {server.base_url!r}\n"
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_many_threads_decide_with_one_client(server: ScriptedServer) -> None:
    """Each thread gets the answer to its own question."""
    keys: list[str] = []
    with Client(server.base_url, KEY, timeout=30) as calls:

        def work() -> None:
            keys.extend(calls.decide(fields={"a": "b"}).idempotency_key for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(keys)) == 160
    assert {each["idempotency_key"] for each in server.events} == set(keys)


def test_closing_ends_the_calls_of_other_threads(server: ScriptedServer) -> None:
    """Closing the client ends the calls of other threads with an error."""
    arrived = threading.Event()

    async def hold(received: Received, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await hang(received, writer)

    server.always = hold
    calls = Client(server.base_url, KEY, timeout=600)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            calls.decide(fields={"a": "b"})
        except ClientClosedError as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    arrived.wait()
    calls.close()
    thread.join()
    assert len(ended) == 1


def test_a_callback_that_waits_for_the_client_gets_an_error(server: ScriptedServer) -> None:
    """A callback that waits for its own client gets an error; sending without waiting works."""
    raised: list[BaseException] = []

    def delivered(*_arguments: object) -> None:
        if raised:
            return
        try:
            calls.decide(fields={"a": "b"})
        except RuntimeError as error:
            raised.append(error)
        calls.send({"fields": {"a": "again"}})

    calls = Client(server.base_url, KEY, on_delivered=delivered, world=world(QuickTime()))
    with calls:
        calls.send({"fields": {"a": "b"}})
        calls.flush()
    assert len(raised) == 1
    assert [each["fields"]["a"] for each in server.events] == ["b", "again"]


def test_what_waits_is_sent_when_the_interpreter_exits(
    server: ScriptedServer, process: None
) -> None:
    """A program that forgets to close loses nothing."""
    run_program(server, 'Client(ADDRESS, "k").send({"fields": {"a": "b"}})')
    assert [each["fields"] for each in server.events] == [{"a": "b"}]


def test_what_cannot_be_sent_at_exit_is_reported(server: ScriptedServer, process: None) -> None:
    """The last word of a client is about what it could not deliver."""
    server.always = hang
    ended = run_program(
        server,
        """
        import atexit
        from tidegate.client import Batching
        calls = Client(ADDRESS, "k")
        atexit.unregister(calls.close)
        atexit.register(calls.close, timeout=0.05)
        calls.send({"fields": {"a": "b"}})
        """,
    )
    assert "an event was not delivered" in ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_client_works_on_both_sides_of_a_fork(server: ScriptedServer, process: None) -> None:
    """The child has its own connections and an empty queue, and ends without waiting."""
    ended = run_program(
        server,
        """
        calls = Client(ADDRESS, "k")
        calls.decide(fields={"side": "before"})
        calls.send({"fields": {"side": "queued"}})
        child = os.fork()
        side = "parent" if child else "child"
        calls.decide(fields={"side": side})
        if child:
            os.waitpid(child, 0)
            unused = os.fork()
            if unused:
                os.waitpid(unused, 0)
        else:
            print(calls.counts.accepted)
        """,
    )
    sides = sorted(each["fields"]["side"] for each in server.events)
    assert sides == ["before", "child", "parent", "queued"]
    assert ended.stdout == "0\n"


def test_the_counts_stand_after_closing(server: ScriptedServer) -> None:
    """The last look at what became of everything."""
    calls = Client(server.base_url, KEY)
    calls.send({"fields": {"a": "b"}})
    counts = calls.close()
    assert counts == DeliveryCounts(accepted=1, delivered=1)
    assert calls.counts == counts
