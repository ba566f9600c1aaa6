"""The way of a decision into the log of a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from uuid import UUID

import pytest

from tidegate.server.problems import Problem
from tidegate.server.recorder import Recorder
from tidegate.stores import LogEntry, SqliteStore, StoreUnavailableError, migrate
from tidegate.stores.log import encode_index, encode_line, last_seq, scan

TENANT = UUID(int=1)


def entry(number: int) -> LogEntry:
    decision = str(UUID(int=number))
    line = encode_line(
        decision, number, None, b"null", "runtime", None, 1, 5, b"{}", b"{}", b"[]", b"{}"
    )
    index = encode_index(
        str(TENANT),
        decision,
        number,
        None,
        None,
        number,
        "allow",
        "no-match",
        None,
        "/",
        [],
        [],
        [],
    )
    return LogEntry(TENANT, number, line, index)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    made = SqliteStore(url)
    yield made
    made.close()


async def nothing() -> None:
    """No states to rebuild."""


def test_what_is_appended_is_in_the_log_in_order(store: SqliteStore) -> None:
    """When append returns, the decision is committed; the log has the order of the calls."""

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        await asyncio.gather(*(recorder.append(entry(number)) for number in range(1, 501)))
        assert (recorder.seq, recorder.waiting) == (500, 0)
        with store.read() as connection:
            assert last_seq(connection) == 500
            received = [line.decision().received_at_ns for line in scan(connection)]
        assert received == list(range(1, 501))

    asyncio.run(scene())


def test_many_decisions_share_a_commit(store: SqliteStore) -> None:
    """What is decided while a commit runs is committed together by the next."""

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        await asyncio.gather(*(recorder.append(entry(number)) for number in range(200)))
        assert store.statistics().commits <= 2

    asyncio.run(scene())


class Failing:
    """The real store, but for commits that fail while it is told so."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.fails = True

    def append(self, entries: list[LogEntry]) -> Future[None]:
        if self.fails:
            failed: Future[None] = Future()
            failed.set_exception(StoreUnavailableError("database or disk is full"))
            return failed
        return self._store.append(entries)

    def recover(self) -> None:
        if self.fails:
            raise StoreUnavailableError("database or disk is full")


def test_a_failed_commit_refuses_all_and_recovers_by_itself(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is decided while the log cannot be written; then the states are rebuilt."""
    monkeypatch.setattr("tidegate.server.recorder.RETRY_SECONDS", 0.01)
    rebuilt = []

    async def rebuild() -> None:
        rebuilt.append(recorder.seq)

    async def scene() -> None:
        nonlocal recorder
        failing = Failing(store)
        recorder = Recorder(failing, 0, rebuild)  # type: ignore[arg-type]
        results = await asyncio.gather(
            *(recorder.append(entry(number)) for number in range(10)), return_exceptions=True
        )
        assert [result.code for result in results if isinstance(result, Problem)] == [
            "decision-log-unavailable"
        ] * 10
        with pytest.raises(Problem) as refusal:
            recorder.check()
        assert refusal.value.headers["retry-after"] == "1"
        await asyncio.sleep(0.05)
        assert not recorder.is_available
        failing.fails = False
        while not recorder.is_available:
            await asyncio.sleep(0.005)
        recorder.check()
        await recorder.append(entry(11))
        assert rebuilt == [0]
        assert recorder.seq == 1
        await recorder.close()

    recorder: Recorder
    asyncio.run(scene())


def test_drain_waits_for_what_is_under_way(store: SqliteStore) -> None:
    """After drain nothing that was decided is still on its way."""

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        tasks = [asyncio.create_task(recorder.append(entry(number))) for number in range(50)]
        await asyncio.sleep(0)
        await recorder.drain()
        assert recorder.waiting == 0
        await asyncio.gather(*tasks)

    asyncio.run(scene())
