"""The way of a decision into the log of a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from uuid import UUID

import attrs
import pytest
from structlog.testing import capture_logs

from tidegate_server.hot import recorder as recorder_module
from tidegate_server.hot.gap import Gap
from tidegate_server.hot.recorder import Recorder
from tidegate_server.http.problems import Problem
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log.lines import LogBlock, encode_index, encode_line
from tidegate_server.stores.decision_log.log import last_seq, scan
from tidegate_server.stores.sqlite import SqliteStore

TENANT = UUID(int=1)


def entry(number: int, tenant: UUID = TENANT) -> LogBlock:
    decision_id = UUID(int=number)
    decision = str(decision_id)
    line = encode_line(
        decision, number, None, b"null", "runtime", None, 1, 5, b"{}", b"{}", b"[]", b"{}"
    )
    index = encode_index(
        str(tenant),
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
    return LogBlock.of_one(tenant, decision_id, number, line, index)


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
    """Decisions made while a commit runs are committed together by the next."""

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        await asyncio.gather(*(recorder.append(entry(number)) for number in range(200)))
        assert store.statistics().commits <= 2

    asyncio.run(scene())


def test_decisions_after_a_shared_commit_are_gathered(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load a commit waits a moment for company; without load none waits."""
    monkeypatch.setattr(recorder_module, "GATHER_SECONDS", 0.2)

    async def append_apart(recorder: Recorder) -> int:
        before = store.statistics().commits
        first = asyncio.ensure_future(recorder.append(entry(1)))
        for _ in range(10):
            await asyncio.sleep(0)
        await asyncio.gather(first, recorder.append(entry(2)))
        return store.statistics().commits - before

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        await recorder.append(entry(3))
        assert await append_apart(recorder) == 2
        await asyncio.gather(*(recorder.append(entry(number)) for number in range(200)))
        assert await append_apart(recorder) == 1

    asyncio.run(scene())


class Failing:
    """The real store, except that commits fail while the test says so."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.fails = True
        self.failed_recoveries = 0
        self.statistics = store.statistics

    @property
    def is_accepting(self) -> bool:
        return not self.fails

    def append(self, entries: list[LogBlock]) -> Future[None]:
        if self.fails:
            failed: Future[None] = Future()
            failed.set_exception(StoreUnavailableError("database or disk is full"))
            return failed
        return self._store.append(entries)

    def recover(self) -> None:
        if self.fails:
            self.failed_recoveries += 1
            raise StoreUnavailableError("database or disk is full")


def test_a_failed_commit_refuses_all_and_recovers_by_itself(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is decided while the log cannot be written; then the states are rebuilt."""
    monkeypatch.setattr("tidegate_server.hot.recorder.RETRY_SECONDS", 0.01)
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
            recorder.check(TENANT)
        assert refusal.value.headers["retry-after"] == "1"
        while failing.failed_recoveries < 2:
            await asyncio.sleep(0.005)
        assert not recorder.is_available
        failing.fails = False
        while not recorder.is_available:
            await asyncio.sleep(0.005)
        recorder.check(TENANT)
        await recorder.append(entry(11))
        assert rebuilt == [0]
        assert recorder.seq == 1
        await recorder.close()

    recorder: Recorder
    asyncio.run(scene())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recoveries are tried at once."""
    monkeypatch.setattr("tidegate_server.hot.recorder.RETRY_SECONDS", 0.01)


async def available(recorder: Recorder) -> None:
    """Return when the recorder has recovered."""
    while not recorder.is_available:
        await asyncio.sleep(0.005)


def test_a_cut_parts_the_decisions_of_every_tenant(store: SqliteStore) -> None:
    """Decisions in a commit are ordered by tenant, so a cut waits for the commit to be parted."""
    other = UUID(int=2)

    async def scene() -> list[int]:
        recorder = Recorder(store, 0, nothing)
        decided: list[asyncio.Task[None]] = []
        handed_in: list[int] = []

        async def append(number: int, tenant: UUID) -> None:
            handed_in.append(number)
            await recorder.append(entry(number, tenant))

        async def decide(number: int, tenant: UUID) -> None:
            decided.append(asyncio.create_task(append(number, tenant)))
            await asyncio.sleep(0)

        await decide(1, TENANT)
        await decide(2, other)
        await decide(3, TENANT)
        made: list[int] = []

        def take(seq: int) -> int:
            made.extend(handed_in)
            return seq

        cut = asyncio.create_task(recorder.cut(take))
        await asyncio.sleep(0)
        await decide(4, TENANT)
        await decide(5, other)
        seq = await cut
        await asyncio.gather(*decided)
        await decide(6, TENANT)
        await asyncio.gather(*decided)
        with store.read() as connection:
            before = [line.decision().received_at_ns for line in scan(connection, until=seq)]
        assert sorted(before) == made
        return before

    assert asyncio.run(scene())


def test_a_cut_of_decisions_that_are_lost_is_refused(store: SqliteStore) -> None:
    """A state is not kept that holds what the log does not."""

    async def scene() -> None:
        recorder = Recorder(Failing(store), 0, nothing)  # type: ignore[arg-type]
        lost = asyncio.ensure_future(recorder.append(entry(1)))
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refusal:
            await recorder.cut(lambda seq: seq)
        assert refusal.value.code == "decision-log-unavailable"
        with pytest.raises(Problem):
            await lost
        await recorder.close()

    asyncio.run(scene())


@pytest.mark.usefixtures("quick")
def test_relaxed_durability_answers_and_records_the_gap_first(store: SqliteStore) -> None:
    """Decisions that could not be recorded are answered, and their gap comes before the next."""
    recorded: list[tuple[dict[UUID, Gap], int]] = []

    def record(gaps: Mapping[UUID, Gap]) -> Future[None]:
        return store.write(lambda connection: recorded.append((dict(gaps), last_seq(connection))))

    async def scene() -> None:
        failing = Failing(store)
        recorder = Recorder(failing, 0, refuse, record)  # type: ignore[arg-type]
        await asyncio.gather(*(recorder.append(entry(number)) for number in range(10, 20)))
        assert (recorder.is_available, recorder.is_deciding) == (False, True)
        recorder.check(TENANT)
        await recorder.append(entry(30))
        failing.fails = False
        await available(recorder)
        await recorder.append(entry(31))
        assert (recorder.seq, recorder.unrecorded) == (1, 11)
        await recorder.close()

    async def refuse() -> None:
        raise AssertionError("the states are all that is left of the gap")

    asyncio.run(scene())
    assert recorded == [({TENANT: Gap(11, 10, 30)}, 0)]
    with store.read() as connection:
        assert [line.decision().received_at_ns for line in scan(connection)] == [31]


@pytest.mark.usefixtures("quick")
def test_a_gap_that_cannot_be_recorded_is_kept(store: SqliteStore) -> None:
    """The disk is full again before the gap is written: it is written later, with what came."""
    recorded: list[dict[UUID, Gap]] = []

    def record(gaps: Mapping[UUID, Gap]) -> Future[None]:
        recorded.append(dict(gaps))
        written: Future[None] = Future()
        if len(recorded) == 1:
            written.set_exception(StoreUnavailableError("database or disk is full"))
        else:
            written.set_result(None)
        return written

    async def scene() -> None:
        failing = Failing(store)
        recorder = Recorder(failing, 0, nothing, record)  # type: ignore[arg-type]
        await recorder.append(entry(1))
        failing.fails = False
        while len(recorded) < 2:
            await asyncio.sleep(0.005)
        await recorder.close()

    asyncio.run(scene())
    assert recorded == [{TENANT: Gap(1, 1, 1)}] * 2


@pytest.mark.usefixtures("quick")
def test_a_change_that_failed_is_recovered_from_without_a_decision(store: SqliteStore) -> None:
    """A control plane without traffic comes back by itself too."""

    async def scene() -> None:
        failing = Failing(store)
        recorder = Recorder(failing, 0, nothing)  # type: ignore[arg-type]
        recorder.probe()
        assert not recorder.is_available
        failing.fails = False
        await available(recorder)
        recorder.probe()
        assert recorder.is_available

    asyncio.run(scene())


def test_drain_waits_for_what_is_under_way(store: SqliteStore) -> None:
    """After drain nothing that was decided is still on its way."""

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        tasks = [recorder.append(entry(number)) for number in range(50)]
        await asyncio.sleep(0)
        await recorder.drain()
        assert recorder.waiting == 0
        await asyncio.gather(*tasks)

    asyncio.run(scene())


def test_a_block_counts_as_its_decisions_and_is_settled_once(store: SqliteStore) -> None:
    """The number of the last decision goes by decisions, however many a block holds."""
    one = entry(1)
    lines, index = b"\n".join([one.lines] * 3), b",".join([one.index] * 3)
    block = attrs.evolve(one, count=3, lines=lines, index=index)

    async def scene() -> None:
        recorder = Recorder(store, 0, nothing)
        settled: list[object] = []
        recorder.submit(block, settled.append)
        recorder.submit(entry(2), settled.append)
        assert (recorder.seq, recorder.waiting) == (4, 4)
        await recorder.drain()
        assert (recorder.seq, settled) == (4, [None, None])
        with store.read() as connection:
            assert [line.seq for line in scan(connection)] == [1, 2, 3, 4]

    asyncio.run(scene())


def test_a_commit_that_takes_long_is_a_warning(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow commit logs one warning with its time and the number of decisions that waited."""
    monkeypatch.setattr("tidegate_server.hot.recorder.SLOW_SECONDS", -1.0)

    async def scene() -> None:
        await Recorder(store, 0, nothing).append(entry(1))

    with capture_logs() as logged:
        asyncio.run(scene())
    [warning] = logged
    assert (warning["log_level"], warning["decisions"]) == ("warning", 1)
    assert warning["seconds"] >= 0
