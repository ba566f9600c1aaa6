"""The tests that define a store.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def url(self, tmp_path):
            return f"mystore:///{tmp_path}/tidegate"

        @pytest.fixture
        def open_store(self):
            return MyStore

``url`` names an empty place, which :func:`~tidegate_server.stores.databases.migrate` prepares;
``open_store`` opens what is there.  Times are handed in: nothing here sleeps to see something
expire.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import orjson
import pytest
from sqlalchemy import Connection
from tests.store_contract.alerts import AlertContract
from tests.store_contract.answers import AnswerContract
from tests.store_contract.challenges import ChallengeContract
from tests.store_contract.examples import (
    OTHER_TENANT,
    START_NS,
    TENANT,
    Held,
    OpenStore,
    StorePlaces,
    decision_id,
    done,
    entry,
    names,
    put,
)
from tests.store_contract.history import HistoryContract
from tests.store_contract.index import IndexContract
from tests.store_contract.objects import ObjectContract

from tidegate_server.stores.base import NotFoundError, StoreBusyError, StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.port import Store


class WritingContract(StorePlaces):
    """A write stays, alone or with others, in order."""

    def test_a_write_returns_its_result_after_the_commit(self, store: Store) -> None:
        """When the future is done, others can read the written data."""
        assert done(store.write(lambda connection: put(connection, "a") or 7)) == 7  # type: ignore[func-returns-value]
        with store.read() as connection:
            assert names(connection) == ["a"]

    def test_a_failing_write_undoes_itself_alone(self, store: Store) -> None:
        """A write that shares the commit of a failing one is kept."""

        def fail(connection: Connection) -> None:
            put(connection, "failed")
            raise ValueError("no")

        with Held(store):
            futures = [
                store.write(lambda connection: put(connection, "before")),
                store.write(fail),
                store.append([entry(1)]),
                store.write(lambda connection: put(connection, "after")),
            ]
        done(futures[0])
        with pytest.raises(ValueError, match="no"):
            done(futures[1])
        done(futures[2])
        done(futures[3])
        with store.read() as connection:
            assert names(connection) == ["after", "before"]
            assert log.last_seq(connection) == 1

    def test_work_that_waits_shares_a_commit(self, store: Store) -> None:
        """A group is one commit, whatever its size."""
        with Held(store):
            futures = [store.append([entry(number)]) for number in range(50)]
            before = store.statistics().commits
        for future in futures:
            done(future)
        assert store.statistics().commits - before <= 2

    def test_a_write_sees_what_came_before_it_and_nothing_after(self, store: Store) -> None:
        """Writes happen in the order in which they were asked for, also inside a group."""
        with Held(store):
            done_before = store.append([entry(1), entry(2, OTHER_TENANT)])
            seen = store.write(log.last_seq)
            store.append([entry(3)])
            seen_later = store.write(log.last_seq)
        done(done_before)
        assert (done(seen), done(seen_later)) == (2, 3)

    def test_readers_see_only_what_is_committed(self, store: Store) -> None:
        """A reader sees nothing of a running transaction, and its view does not change."""

        def look(connection: Connection) -> list[str]:
            put(connection, "new")
            with store.read() as reader:
                return names(reader)

        with store.read() as early:
            assert names(early) == []
            assert done(store.write(look)) == []
            assert names(early) == []
        with store.read() as late:
            assert names(late) == ["new"]

    def test_a_reader_cannot_write(self, store: Store) -> None:
        """A reading connection cannot write."""
        with store.read() as connection, pytest.raises(Exception, match=r"readonly|read-only"):
            put(connection, "a")

    def test_acknowledged_work_survives_kill_9(self, url: str, open_store: OpenStore) -> None:
        """A write that was reported durable is there after the process was killed."""
        migrate(url)
        kind = f"{open_store.__module__}:{getattr(open_store, '__qualname__', '')}"
        process = subprocess.Popen(
            [sys.executable, "-c", _KILLED, url, kind],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        acknowledged = 0
        while acknowledged < 60:
            line = process.stdout.readline()
            assert line, "the writing process ended by itself"
            acknowledged = int(line)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        acknowledged = int(rest[-1]) if rest and rest[-1].isdigit() else acknowledged
        store = open_store(url)
        try:
            with store.read() as connection:
                numbers = [
                    orjson.loads(line.decision().answer)["number"] for line in log.scan(connection)
                ]
                assert numbers == list(range(1, len(numbers) + 1))
                assert len(numbers) >= acknowledged
                assert len(names(connection)) >= acknowledged // 3
        finally:
            store.close()

    def test_a_closed_store_refuses(self, url: str, open_store: OpenStore) -> None:
        """Closing finishes accepted work and takes nothing more."""
        migrate(url)
        store = open_store(url)
        accepted = [store.append([entry(number)]) for number in range(10)]
        store.close()
        for future in accepted:
            assert future.done()
            future.result()
        with pytest.raises(StoreUnavailableError):
            store.append([entry(11)])
        with pytest.raises(StoreUnavailableError):
            store.write(log.last_seq)

    def test_too_much_waiting_work_is_refused(self, store: Store) -> None:
        """The queue is bounded; a refused write was not made."""
        batch = [entry(number) for number in range(500)]
        accepted = []
        with Held(store):
            with suppress(StoreBusyError):
                for _ in range(1_000):
                    accepted.append(store.append(batch))  # noqa: PERF401
            with pytest.raises(StoreBusyError):
                store.append(batch)
            statistics = store.statistics()
            assert statistics.waiting_entries == len(accepted) * 500
            assert statistics.oldest_waiting_seconds > 0
        for future in accepted:
            done(future)
        with store.read() as connection:
            assert log.last_seq(connection) == len(accepted) * 500
        assert store.statistics().waiting_entries == 0

    def test_a_change_is_reported_once(self, store: Store, url: str, open_store: OpenStore) -> None:
        """A change by any process is reported once; decisions do not count as changes."""
        store.changed()
        done(store.append([entry(1)]))
        assert not store.changed()
        other = open_store(url)
        try:
            done(other.write(lambda connection: put(connection, "a")))
        finally:
            other.close()
        assert store.changed()
        assert not store.changed()


_KILLED = """
import importlib, sys
from tests.store_contract.examples import entry, put
module, name = sys.argv[2].split(":")
open_store = importlib.import_module(module)
for part in name.split("."):
    open_store = getattr(open_store, part)
store = open_store(sys.argv[1])
number = 0
while True:
    future = store.append([entry(number + 1), entry(number + 2)])
    change = store.write(lambda connection: put(connection, f"{number:08}"))
    last = store.append([entry(number + 3)])
    future.result(); change.result(); last.result()
    number += 3
    print(number, flush=True)
"""


class LogContract(StorePlaces):
    """The decision log is read back as it was written."""

    def test_lines_come_back_in_order(self, store: Store) -> None:
        """Each tenant's decisions stay in the order of appending, numbered from 1."""
        tenants = [TENANT, OTHER_TENANT]
        entries = [entry(number, tenants[number % 2]) for number in range(1_000)]
        futures = [store.append(entries[start : start + 300]) for start in range(0, 1_000, 300)]
        for future in futures:
            done(future)
        with store.read() as connection:
            lines = list(log.scan(connection))
            assert [line.seq for line in lines] == list(range(1, 1_001))
            for tenant in tenants:
                expected = [each.lines for each in entries if each.tenant_id == tenant]
                found = list(log.scan(connection, tenant_id=tenant))
                assert [each.line for each in found] == expected
                assert {each.tenant_id for each in found} == {tenant}

    def test_a_scan_keeps_to_its_bounds(self, store: Store) -> None:
        """``after`` is excluded, ``until`` included, wherever rows begin."""
        done(store.append([entry(number) for number in range(1, 701)]))
        with store.read() as connection:
            found = [line.seq for line in log.scan(connection, after=255, until=513)]
        assert found == list(range(256, 514))

    def test_a_decision_is_found_by_number(self, store: Store) -> None:
        """Any one decision can be read, by its own tenant."""
        done(store.append([entry(number) for number in range(1, 301)]))
        with store.read() as connection:
            for number in (1, 256, 257, 300):
                decision = log.read(connection, number, TENANT).decision()
                assert orjson.loads(decision.answer) == {"number": number}
                assert decision.decision_id == decision_id(number, START_NS + number)
            for seq, tenant in ((0, TENANT), (301, TENANT), (7, OTHER_TENANT)):
                with pytest.raises(NotFoundError):
                    log.read(connection, seq, tenant)

    def test_numbers_go_on_after_a_restart(self, url: str, open_store: OpenStore) -> None:
        """A number is never given twice."""
        migrate(url)
        for expected in (2, 4):
            store = open_store(url)
            done(store.append([entry(1), entry(2)]))
            assert done(store.write(log.last_seq)) == expected
            store.close()


class StoreContract(
    WritingContract,
    LogContract,
    IndexContract,
    HistoryContract,
    ObjectContract,
    AnswerContract,
    ChallengeContract,
    AlertContract,
):
    """All the tests of a store."""
