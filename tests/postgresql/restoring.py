"""``python -m tests.postgresql.restoring``: the database goes back to random moments of a load.

A service decides on PostgreSQL while the write-ahead log is kept.  Each moment is a place in that
log, drawn while calls are under way.  The base backup is restored up to it, ``tidegate verify``
looks at it, and a service starts on it.  The decisions there must be the first ones of the whole
log, end at a block, and have everything that was acknowledged before the moment; a call of before
has its answer, and a new one is decided.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import click
from tests.faults.load import Acknowledged, Call, send
from tests.faults.target import LIMITS
from tests.faults.traffic import Traffic
from tests.service.service_process import start, stop
from tools import plain_http
from tools.database_pair import Pair, Server, free_port, pair, run

from tidegate_server.demo import make_demo, make_owner
from tidegate_server.directory.opening import open_directory
from tidegate_server.directory.verification import Verification
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import log
from tidegate_server.stores.postgresql import PostgresqlStore

CALLS = 60
"""Calls of one load; some loads come before a moment."""
WAIT_SECONDS = 60.0
DATABASE = "tidegate"


@attrs.frozen
class Moment:
    """A place in the write-ahead log, and how many calls were acknowledged before it."""

    place: str
    acknowledged: int


@attrs.define
class Load:
    """Calls that go on in a thread of their own."""

    base_url: str
    api_key: str
    seed: int
    acknowledged: list[Acknowledged] = attrs.field(factory=list)
    _ended: threading.Event = attrs.field(factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send calls as long as the block runs."""
        thread = threading.Thread(target=self._send)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _send(self) -> None:
        traffic = Traffic(self.seed)
        while not self._ended.is_set():
            calls = [Call(*traffic.next()) for _ in range(CALLS)]
            outcome = asyncio.run(send(self.base_url, self.api_key, calls))
            self.acknowledged += outcome.acknowledged


@contextmanager
def archived(primary: Server, archive: Path) -> Iterator[None]:
    """Keep the write-ahead log of the block, to the end of its last segment."""
    with primary.receiving(archive):
        yield
        last = str(primary.value("SELECT pg_walfile_name(pg_current_wal_lsn())"))
        primary.execute("SELECT pg_switch_wal()")
        until = time.monotonic() + WAIT_SECONDS
        while not (archive / last).exists():
            assert time.monotonic() < until, "the log is not kept"
            time.sleep(0.05)


def moments(primary: Server, load: Load, count: int, draw: random.Random) -> list[Moment]:
    """Places in the write-ahead log at random times while calls are under way."""
    found: list[Moment] = []
    with load.running():
        while len(found) < count:
            time.sleep(draw.uniform(0.05, 0.5))
            before = len(load.acknowledged)
            place = str(primary.value("SELECT pg_current_wal_lsn()"))
            if before:
                found.append(Moment(place, before))
    return found


@contextmanager
def restored(backup: Path, archive: Path, place: str) -> Iterator[Server]:
    """A server with the data as of a place in the write-ahead log."""
    made = Server(backup.parent / "restored", free_port())
    run("cp", "-a", backup, made.directory)
    run("touch", made.directory / "recovery.signal")
    try:
        made.start(
            f"restore_command=cp {archive}/%f %p",
            f"recovery_target_lsn={place}",
            "recovery_target_action=promote",
            "synchronous_standby_names=",
        )
        until = time.monotonic() + WAIT_SECONDS
        while made.value("SELECT pg_is_in_recovery()"):
            assert time.monotonic() < until, "the restore does not end"
            time.sleep(0.05)
        yield made
    finally:
        made.stop()
        run("rm", "-rf", made.directory)


def decided(url: str) -> list[str]:
    """The ids in the log, in its order."""
    store = PostgresqlStore(url, standby="none")
    try:
        with store.read() as connection:
            return [str(line.decision().decision_id) for line in log.scan(connection)]
    finally:
        store.close()


def check(server: Server, directory: Path, load: Load, moment: Moment, whole: list[str]) -> int:
    """Compare what was restored with the whole log; the number of its decisions.

    Raises:
        AssertionError: something is lost, or is not as it was.
    """
    url = server.url(DATABASE)
    found = decided(url)
    assert found == whole[: len(found)]
    before = load.acknowledged[: moment.acknowledged]
    assert {each.decision_id for each in before} <= set(found)
    assert list(Verification(directory, url=url).findings()) == []
    known = {"TIDEGATE_STORE_URL": url, "TIDEGATE_STORE_STANDBY": "none", **LIMITS}
    process, said = start(
        "--store-directory", str(directory), log=directory.parent / "restored.log",
        environment=known,
    )  # fmt: skip
    try:
        again = asyncio.run(send(said["base_url"], load.api_key, [before[-1].call])).acknowledged
        assert [(each.answer, each.is_replayed) for each in again] == [(before[-1].answer, True)]
        new = Traffic(load.seed + 1)
        calls = [Call(*new.next())]
        assert len(asyncio.run(send(said["base_url"], load.api_key, calls)).acknowledged) == 1
        assert plain_http.get(f"{said['base_url']}/readyz").status_code == 200
    finally:
        stop(process)
    assert len(decided(url)) == len(found) + 1
    return len(found)


def go_back(made: Pair, root: Path, count: int, seed: int) -> Iterator[tuple[Moment, int]]:
    """Restore to each of some moments; the decisions that are there then.

    Args:
        made: the pair to begin on.
        root: an empty directory that the database's user may write to.
        count: of moments.
        seed: of events and moments.
    """
    directory = root / "data"
    url = made.primary.url(made.new_database(DATABASE))
    migrate(url)
    keys = open_directory(directory, url=url)
    store = PostgresqlStore(url)
    token = make_owner(store, keys)
    store.close()
    backup, archive = (
        made.primary.directory.parent / "backup",
        made.primary.directory.parent / "wal",
    )
    process, said = start(
        "--store-directory", str(directory), log=root / "log",
        environment={"TIDEGATE_STORE_URL": url, **LIMITS},
    )  # fmt: skip
    try:
        demo = make_demo(said["base_url"], token)
        with archived(made.primary, archive):
            made.primary.back_up(backup)
            load = Load(said["base_url"], demo.api_key, seed)
            drawn = moments(made.primary, load, count, random.Random(seed))
    finally:
        stop(process)
    whole = decided(url)
    for each in drawn:
        with restored(backup, archive, each.place) as server:
            yield each, check(server, directory, load, each, whole)


@click.command()
@click.option("--moments", "count", default=20, show_default=True)
@click.option("--seed", type=int)
def main(count: int, seed: int | None) -> None:
    """Restore to random moments, and check each."""
    seed = time.time_ns() % 1_000_000 if seed is None else seed
    click.echo(f"seed {seed}")
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = stack.enter_context(pair())
        for number, (moment, found) in enumerate(go_back(made, root, count, seed), start=1):
            click.echo(
                f"{number:4}: {moment.place}: {moment.acknowledged:,} acknowledged before,"
                f" {found:,} decisions there"
            )
    click.echo(f"{count} moments: each starts, ends at a block and goes on")


if __name__ == "__main__":
    main()
