"""Worker processes: real ones, ended in every way."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from pickle import PicklingError
from typing import Any, TypeVar, cast
from uuid import UUID

import attrs
import pytest
from tests.server.workers import jobs
from tests.server.workers.forking import fork_server

from tidegate.errors import WorkerError
from tidegate_server.control.app import Application
from tidegate_server.control.runtime import NoRuntime
from tidegate_server.offload.inbox import Inbox
from tidegate_server.operators.keys import KEY_BYTES, Keys
from tidegate_server.settings.service import LogSettings
from tidegate_server.stores.base import StaleRevisionError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.sqlite import SqliteStore
from tidegate_server.workers.child import NICENESS, Setup
from tidegate_server.workers.pool import Pool
from tidegate_server.workers.worker import IDLE_BYTES

pytestmark = pytest.mark.usefixtures("process")

T = TypeVar("T")
WAIT_SECONDS = 60.0
MEMORY = 512 * 1024 * 1024


class Knowing(NoRuntime):
    """A runtime that knows something."""

    def evictions(self, tenant_id: UUID) -> int:
        return tenant_id.int


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    """The application of the desk."""
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    store = SqliteStore(url)
    key = bytes(range(KEY_BYTES))
    keys = Keys(**{each.name: key for each in attrs.fields(Keys)})
    yield Application(store=store, keys=keys, runtime=Knowing())
    store.close()


class World:
    """A pool and what its work asks."""

    def __init__(self, application: Application, directory: Path, size: int, **more: Any) -> None:
        setup = Setup(
            database_url=f"sqlite:///{directory / 'data' / 'tidegate.db'}",
            keys=application.keys,
            log=LogSettings(),
            token_lifetime_seconds=60,
            base_url="http://127.0.0.1",
        )
        self.directory = directory
        self.inbox = Inbox(application)
        self.pool = Pool("test", fork_server(), setup, size, MEMORY, **more)

    async def run(
        self,
        job: Callable[[Application], T],
        owner: Hashable = "a",
        seconds: float = WAIT_SECONDS,
        *,
        is_urgent: bool = False,
    ) -> T:
        return await self.pool.run(job, self.inbox, owner, seconds, is_urgent=is_urgent)

    def hold(self, name: str, owner: Hashable, **arguments: Any) -> asyncio.Future[str]:
        """Work that ends when it is let."""
        job = partial(jobs.hold, self.directory, name)
        return asyncio.ensure_future(self.run(job, owner, **arguments))

    def has_begun(self, name: str) -> bool:
        return (self.directory / f"{name}.begun").exists()

    def end(self, *names: str) -> None:
        for name in names:
            (self.directory / f"{name}.end").touch()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for something that must come."""
        until = time.monotonic() + WAIT_SECONDS
        while not is_so():
            assert time.monotonic() < until
            await asyncio.sleep(0.01)


def play(
    application: Application,
    directory: Path,
    scene: Callable[[World], Awaitable[None]],
    size: int = 2,
    **more: Any,
) -> None:
    """Play a scene with a pool."""

    async def whole() -> None:
        world = World(application, directory, size, **more)
        await world.pool.start()
        try:
            await scene(world)
        finally:
            await world.pool.stop()

    asyncio.run(whole())


def test_work_is_done_elsewhere_and_makes_way(application: Application, tmp_path: Path) -> None:
    """Work runs in another process, at a lower priority."""

    async def scene(world: World) -> None:
        assert await world.run(jobs.own_pid) in set(world.pool.pids) - {os.getpid()}
        assert await world.run(jobs.niceness) >= NICENESS

    play(application, tmp_path, scene)


def test_work_waits_for_the_processes(application: Application, tmp_path: Path) -> None:
    """Work that comes before the processes are there is done by them, and by no others."""

    async def whole() -> None:
        world = World(application, tmp_path, 2)
        early = [asyncio.ensure_future(world.run(jobs.own_pid, each)) for each in "ab"]
        await asyncio.sleep(0)
        assert world.pool.waiting == 2
        await world.pool.start()
        try:
            assert set(await asyncio.gather(*early)) <= set(world.pool.pids)
        finally:
            await world.pool.stop()

    asyncio.run(whole())


def test_a_killed_worker_is_replaced(application: Application, tmp_path: Path) -> None:
    """The caller of a killed worker gets an error; the next call finds a new process."""

    async def scene(world: World) -> None:
        before = await world.run(jobs.own_pid)
        with pytest.raises(WorkerError, match="in the middle"):
            await world.run(jobs.die)
        assert await world.run(jobs.own_pid) != before

    play(application, tmp_path, scene, size=1)


def test_work_past_its_time_is_ended(application: Application, tmp_path: Path) -> None:
    """Work past its time is ended with its process."""

    async def scene(world: World) -> None:
        before = await world.run(jobs.own_pid)
        with pytest.raises(WorkerError, match="longer than"):
            await world.run(jobs.run_on, seconds=0.1)
        assert await world.run(jobs.own_pid) != before

    play(application, tmp_path, scene, size=1)


def test_a_worker_whose_caller_left_gets_no_other_work_meanwhile(
    application: Application, tmp_path: Path
) -> None:
    """The next caller gets the result of its own work, and not of what is still going on."""

    async def scene(world: World) -> None:
        left = world.hold("left", "a")
        await world.until(lambda: world.has_begun("left"))
        left.cancel()
        with pytest.raises(asyncio.CancelledError):
            await left
        next_one = world.hold("next", "b")
        world.end("next")
        await asyncio.sleep(0.3)
        assert world.pool.waiting == 1
        world.end("left")
        assert await next_one == "next"

    play(application, tmp_path, scene, size=1)


def test_a_worker_that_got_no_answer_is_replaced(application: Application, tmp_path: Path) -> None:
    """It still waits for the answer, and would take the next work for it."""

    class Unsendable(NoRuntime):
        def evictions(self, tenant_id: UUID) -> int:
            return cast("int", lambda: tenant_id)

    async def scene(world: World) -> None:
        before = await world.run(jobs.own_pid)
        world.inbox = Inbox(attrs.evolve(application, runtime=Unsendable()))
        with pytest.raises((AttributeError, PicklingError)):
            await world.run(partial(jobs.evictions, UUID(int=7)))
        assert await world.run(jobs.own_pid) != before

    play(application, tmp_path, scene, size=1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not known")
def test_work_past_its_memory_is_ended(application: Application, tmp_path: Path) -> None:
    """Work past its memory is ended before the machine runs out."""

    async def scene(world: World) -> None:
        with pytest.raises(WorkerError, match="more memory than 512 MiB"):
            await world.run(partial(jobs.take_memory, 600))
        assert await world.run(jobs.own_pid) > 0

    play(application, tmp_path, scene, size=1)


def test_an_exception_comes_back_whole(application: Application, tmp_path: Path) -> None:
    """An exception of a worker keeps its class and everything it carries."""

    async def scene(world: World) -> None:
        with pytest.raises(StaleRevisionError) as raised:
            await world.run(jobs.fail)
        assert (raised.value.expected, raised.value.found) == (3, 7)

    play(application, tmp_path, scene, size=1)


def test_a_worker_asks_the_service(application: Application, tmp_path: Path) -> None:
    """A worker asks the service for what only that process knows."""

    async def scene(world: World) -> None:
        assert await world.run(partial(jobs.evictions, UUID(int=5))) == 5

    play(application, tmp_path, scene, size=1)


def test_one_owner_never_has_all_workers(application: Application, tmp_path: Path) -> None:
    """Another's work begins while the first one's second still waits."""

    async def scene(world: World) -> None:
        first, second = world.hold("first", "a"), world.hold("second", "a")
        other = world.hold("other", "b")
        await world.until(lambda: world.has_begun("first") and world.has_begun("other"))
        assert not world.has_begun("second")
        assert world.pool.waiting == 1
        world.end("first", "second", "other")
        assert await asyncio.gather(first, second, other) == ["first", "second", "other"]

    play(application, tmp_path, scene)


def test_urgent_work_goes_before_what_waits(application: Application, tmp_path: Path) -> None:
    """A change that is to be taken over does not wait behind its tenant's own checks."""

    async def scene(world: World) -> None:
        running, waiting = world.hold("running", "a"), world.hold("waiting", "b")
        await world.until(lambda: world.has_begun("running"))
        urgent = world.hold("urgent", "a", is_urgent=True)
        await asyncio.sleep(0)
        world.end("running", "urgent")
        assert await urgent == "urgent"
        world.end("waiting")
        assert await asyncio.gather(running, waiting) == ["running", "waiting"]
        begun = [(tmp_path / f"{name}.begun").stat().st_mtime_ns for name in ("urgent", "waiting")]
        assert begun == sorted(begun)

    play(application, tmp_path, scene, size=1)


def test_work_that_is_given_up_leaves_its_place(application: Application, tmp_path: Path) -> None:
    """Work cancelled before its turn takes no worker."""

    async def scene(world: World) -> None:
        running, given_up = world.hold("running", "a"), world.hold("given up", "a")
        await world.until(lambda: world.has_begun("running"))
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert world.pool.waiting == 0
        world.end("running")
        await running
        assert await world.run(jobs.own_pid) > 0
        assert not world.has_begun("given up")

    play(application, tmp_path, scene, size=1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not known")
def test_an_idle_worker_that_keeps_much_is_replaced(
    application: Application, tmp_path: Path
) -> None:
    """A new process takes its place before anybody asks for one; a small one stays."""

    async def scene(world: World) -> None:
        before = await world.run(jobs.own_pid)
        await asyncio.sleep(4 * idle)
        assert await world.run(jobs.own_pid) == before
        await world.run(partial(jobs.keep, IDLE_BYTES // 2**20))
        await world.until(lambda: world.pool.pids != [before])
        assert await world.run(jobs.own_pid) != before

    idle = 0.05
    play(application, tmp_path, scene, size=1, idle_seconds=idle)
