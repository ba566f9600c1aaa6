"""A service that is brought to a newer version and back while callers go on."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.cluster.faults import Load, check_keys, check_log
from tests.cluster.newer_version import COLUMN, newer_version, run
from tests.faults.restart import Kind, Run
from tools.cluster import READY_SECONDS, Cluster, Node, cluster
from tools.database_pair import Pair

from tidegate_server.owners.forwarding import HOT
from tidegate_server.stores.databases import migrate, need_partitions
from tidegate_server.stores.migrations import HEAD

NEXT = f"{int(HEAD) + 1:04}"
PACE_SECONDS = 0.6
"""Of each connection: nodes start six times under load, and need the processors."""
ORDERLY = Kind(is_kill=False, is_refused=False)


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version whose migration only adds."""
    return newer_version(tmp_path_factory.mktemp("newer"), is_additive=True)


@pytest.fixture(scope="module")
def breaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version on whose tables this one does not run."""
    return newer_version(tmp_path_factory.mktemp("breaking"), is_additive=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, postgresql: None) -> Iterator[Cluster]:
    """Three nodes of this version."""
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def migrated(made: Cluster, version: Path | None) -> tuple[int, str]:
    """Run ``tidegate migrate`` of a version; its exit code and what it says."""
    directory = made.nodes["a"].directory
    arguments = ["--store-url", made.url, "--store-directory", str(directory)]
    done = run(version, "migrate", *arguments)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def replace(made: Cluster, node: Node, version: Path | None, load: Load) -> None:
    """Drain a node and start a version in its place, as an operator does."""
    load.away.add(node.name)
    drained = run(None, "cluster", "drain", node.name, "--store-url", made.url)
    assert drained.returncode == 0, drained.stdout + drained.stderr
    assert node.process is not None
    assert node.process.wait(READY_SECONDS) == 0
    node.python_path = "" if version is None else str(version)
    node.start()
    made.wait_until_ready()
    load.away.remove(node.name)
    # The states are read by some node before the next one is taken out.
    made.wait_until_level()


def known(made: Cluster) -> set[str]:
    """The nodes that have written what only the newer version writes."""
    with psycopg.connect(made.url) as connection:
        rows = connection.execute(
            f"SELECT name FROM cluster_members WHERE {COLUMN} IS NOT NULL"
        ).fetchall()
    return {name for (name,) in rows}


def forget(made: Cluster) -> None:
    """Take away what the newer version has written in the rows of members."""
    with psycopg.connect(made.url) as connection:
        connection.execute(f"UPDATE cluster_members SET {COLUMN} = NULL")


def test_nodes_are_upgraded_one_by_one_and_back_while_callers_go_on(
    made: Cluster, newer: Path
) -> None:
    """Each call is answered, but where an owner took longer than a call waits; what was answered
    is in the log once, and its key has that answer."""
    draw = random.Random(1)
    load = Load(made, random.Random(2), PACE_SECONDS)
    made.wait_until_level()

    async def work() -> None:
        loading = asyncio.create_task(load.run())
        try:
            assert await asyncio.to_thread(migrated, made, newer) == (
                0,
                f"{made.nodes['a'].directory}: the database is at revision {NEXT}",
            )
            for version in (newer, None):
                if version is None:
                    assert await asyncio.to_thread(known, made) == set(made.nodes)
                for node in made.nodes.values():
                    await asyncio.to_thread(replace, made, node, version, load)
            await asyncio.to_thread(forget, made)
            await asyncio.sleep(1.5)
        finally:
            load.is_over = True
            await loading
        await check_keys(made, load.answers, draw)

    asyncio.run(work())
    assert not load.lost, f"{load.lost} connections ended without an answer"
    assert all(seconds >= HOT.hold for seconds in load.refused), load.refused
    assert known(made) == set(), "a node of the newer version runs"
    assert len(load.answers) > 100
    check_log(made.url, load.answers)
    print(f"{len(load.answers)} answers, {dict(load.statuses)}, {load.longest:.2f} s at most")


def test_a_migration_that_breaks_running_nodes_waits_for_their_stop(
    made: Cluster, breaking: Path
) -> None:
    """It is refused with the nodes' names; once they are stopped it is done, and this version says
    why it cannot run any more."""
    with psycopg.connect(made.url) as connection:
        # As the migration of the other test left it, or before that one.
        row = connection.execute("SELECT version_num FROM schema_version").fetchone()
        assert row is not None
        if row[0] == NEXT:
            connection.execute("UPDATE schema_version SET version_num = %s", [HEAD])
            for table in ("tenants", "cluster_members", "decision_log"):
                connection.execute(f"ALTER TABLE {table} DROP COLUMN {COLUMN}")
    code, said = migrated(made, breaking)
    assert code == 1
    assert "stop every node and process, run `tidegate migrate` again" in said
    assert "connected are the nodes a, b, c" in said
    assert all(each.runs for each in made.nodes.values())
    made.stop()
    assert migrated(made, breaking)[0] == 0
    node = made.nodes["a"]
    node.begin()
    assert node.process is not None
    assert node.process.wait(READY_SECONDS) == 1
    said = " ".join(node.log.read_text().split())
    assert f"needs a version of Tidegate from revision {NEXT} on, and this one knows {HEAD}" in said
    code, said = migrated(made, None)
    assert code == 1
    assert f"from revision {NEXT} on" in said


def wait_for_locked(databases: Pair, database: str) -> None:
    """Return when some statement waits for a table that another one has."""
    until = threading.Event()
    for _ in range(int(READY_SECONDS / 0.02)):
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'"
        if databases.primary.value(query, database):
            return
        until.wait(0.02)
    raise AssertionError("nothing waits")


def test_a_migration_lets_others_pass_while_it_waits_for_a_long_read(
    made: Cluster, newer: Path, tmp_path: Path
) -> None:
    """An append behind it is done before the read ends; then the migration is done once, though two
    run at the same time, in the log of every partition."""
    databases = made.databases
    url = databases.url(databases.new_database("waits"))
    migrate(url)
    need_partitions(url, 2)
    arguments = ["--store-url", url, "--store-directory", str(tmp_path / "data")]
    assert run(None, "migrate", *arguments).returncode == 0
    done: list[tuple[int, str]] = []

    def change() -> None:
        ended = run(newer, "migrate", *arguments)
        done.append((ended.returncode, ended.stdout + ended.stderr))

    with psycopg.connect(url) as reader, psycopg.connect(url, autocommit=True) as other:
        # Behind a migration that does not give up it would wait for the end of the read.
        other.execute(f"SET statement_timeout = '{READY_SECONDS:.0f}s'")
        reader.execute("SELECT * FROM tenants")
        changing = [threading.Thread(target=change) for _ in range(2)]
        for each in changing:
            each.start()
        wait_for_locked(databases, "waits")
        with other.transaction():
            other.execute("LOCK TABLE tenants IN ROW EXCLUSIVE MODE")
        assert not done
    for each in changing:
        each.join(READY_SECONDS)
    assert [code for code, _ in done] == [0, 0], done
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT table_schema FROM information_schema.columns WHERE table_name = 'decision_log'"
            " AND column_name = %s ORDER BY 1",
            [COLUMN],
        ).fetchall()
        assert found == [("partition_1",), ("public",)]


def test_a_file_is_taken_over_by_a_newer_version_and_back(
    tmp_path: Path, newer: Path, process: None
) -> None:
    """Its migration runs next to the running server; windows and keys go on with each take-over."""
    made = Run.make(tmp_path, seed=3)
    try:
        target = made.target
        arguments = ("--store-directory", str(target.directory))
        settings = dict(target.settings)
        done = run(newer, "migrate", *arguments)
        assert done.returncode == 0, done.stderr
        assert f"revision {NEXT}" in done.stdout
        for number, version in enumerate(({"PYTHONPATH": str(newer)}, {})):
            target.settings = {**settings, **version}
            made.cycle(number, ORDERLY)
        assert made.acknowledged
    finally:
        made.close()
