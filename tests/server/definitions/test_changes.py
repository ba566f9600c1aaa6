"""Large changes of definitions: short steps, and nothing to be seen before the last."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from pysqlite3 import dbapi2
from sqlalchemy import Connection, func, select
from tests.server.serving import Caller, Served

from tidegate_server.definitions.changes import remove_pending
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.objects import pending
from tidegate_server.stores.rows import tables
from tidegate_server.stores.rows.bulk import STEP_ROWS
from tidegate_server.stores.rows.dialects import driver_connection
from tidegate_server.stores.sqlite import SqliteStore

COUNT = 450
"""Policies: more than two steps."""
ROWS_BESIDE = 8
"""Rows of a last step: the tenant, the pending change and their like."""


def document(count: int, description: str) -> dict[str, Any]:
    """A document of many policies."""
    clauses = [{"name": "only", "expression": 'request.path == "/never"'}]
    return {
        "apiVersion": "tidegate/v1",
        "policies": [
            {"name": f"Policy {number}", "description": description, "clauses": clauses}
            for number in range(count)
        ],
    }


def put(owner: Caller, tenant: str, body: dict[str, Any]) -> Any:
    """The answer to a document."""
    return owner.request("PUT", f"{tenant}/definitions", json=body)


class Watched:
    """Every write of a store, watched and perhaps broken off."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[int] = []
        """The rows that each write changed."""
        self.fail_at = -1
        write = store.write

        def watched(work: Any, *, quietly: bool = False) -> Any:
            def counted(connection: Connection) -> Any:
                if len(self.rows) == self.fail_at:
                    self.fail_at = -1
                    raise StoreUnavailableError("broken off")
                before = driver_connection(connection).total_changes
                result = work(connection)
                self.rows.append(driver_connection(connection).total_changes - before)
                return result

            return write(counted, quietly=quietly)

        monkeypatch.setattr(store, "write", watched)


@pytest.fixture
def watched(served: Served, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The writes of the served store."""
    store = served.application.store
    assert isinstance(store, SqliteStore)
    return Watched(store, monkeypatch)


def left(served: Served) -> tuple[int, int]:
    """Pending changes, and rows of definitions that are of no generation in force."""
    table, tenants = tables.definitions, tables.tenants
    in_force = select(tenants.c.tenant_id).where(
        tenants.c.tenant_id == table.c.tenant_id,
        tenants.c.definition_generation == table.c.generation,
    )
    with served.application.store.read() as connection:
        changes = len(pending.interrupted(connection, 0))
        rows = connection.execute(select(func.count()).where(~in_force.exists()))
        return changes, rows.scalar_one()


def test_no_step_of_a_large_change_is_long(
    served: Served, owner: Caller, tenant: str, watched: Watched
) -> None:
    """Made, changed and deleted: no write changes more rows than a step, and nothing is left."""
    for body in (document(COUNT, "a"), document(COUNT, "b"), document(1, "b")):
        watched.rows.clear()
        answer = put(owner, tenant, body)
        assert answer.status_code == 200, answer.text
        assert max(watched.rows) <= STEP_ROWS + ROWS_BESIDE
        assert sum(watched.rows) >= COUNT
        assert left(served) == (0, 0)
    found = owner.get(f"{tenant}/policies").json()
    assert [each["description"] for each in found] == ["b"]


def test_a_large_change_leaves_what_a_small_one_does(owner: Caller, tenant: str) -> None:
    """An audit entry for each object, and a version of each policy."""
    assert put(owner, tenant, document(COUNT, "a")).status_code == 200
    assert put(owner, tenant, document(COUNT, "b")).status_code == 200
    policy = owner.get(f"{tenant}/policies?limit=1").json()[0]
    versions = owner.get(f"{tenant}/policies/{policy['policy_id']}/versions").json()
    assert [each["version"] for each in versions] == [2, 1]
    audited = owner.get(f"{tenant}/audit?object_id={policy['policy_id']}").json()
    assert [each["action"] for each in audited] == ["update", "create"]
    assert audited[0]["before"]["description"] == "a"
    assert audited[0]["after"]["description"] == "b"
    changed = owner.patch(f"{tenant}/policies/{policy['policy_id']}", {"description": "c"})
    assert (changed.status_code, changed.json()["revision"]) == (200, 3)


@pytest.mark.parametrize("step", [0, 1, 3, 6])
def test_a_large_change_that_is_broken_off_leaves_nothing(
    served: Served, owner: Caller, tenant: str, watched: Watched, step: int
) -> None:
    """A large change interrupted at any step leaves no objects, audit entries or versions."""
    assert put(owner, tenant, document(COUNT, "a")).status_code == 200
    before = owner.get(f"{tenant}/definitions").json()
    audited = owner.get(f"{tenant}/audit?limit=1").json()
    watched.fail_at = len(watched.rows) + step
    assert put(owner, tenant, document(COUNT, "b")).status_code == 503
    assert owner.get(f"{tenant}/definitions").json() == before
    assert owner.get(f"{tenant}/audit?limit=1").json() == audited
    assert left(served) == (0, 0)


def test_what_a_kill_leaves_is_hidden_and_removed(
    served: Served, owner: Caller, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start finds the change that was not finished, and takes it back in steps."""
    assert put(owner, tenant, document(COUNT, "a")).status_code == 200
    before = owner.get(f"{tenant}/definitions").json()
    newest = owner.get(f"{tenant}/audit?limit=1").json()
    module = "tidegate_server.definitions.changes"
    watched = Watched(served.application.store, monkeypatch)  # type: ignore[arg-type]
    watched.fail_at = 5
    monkeypatch.setattr(f"{module}.remove_pending", lambda *_: None)
    assert put(owner, tenant, document(COUNT, "b")).status_code == 503
    assert left(served)[0] == 1
    assert owner.get(f"{tenant}/definitions").json() == before
    assert owner.get(f"{tenant}/audit?limit=1").json() == newest
    watched.rows.clear()
    with served.application.store.read() as connection:
        (found,) = pending.interrupted(connection, 0)
    remove_pending(served.application.store, found)
    assert max(watched.rows) <= STEP_ROWS + ROWS_BESIDE
    assert left(served) == (0, 0)
    monkeypatch.undo()
    assert put(owner, tenant, document(COUNT, "c")).status_code == 200


def test_a_set_that_changes_meanwhile_is_checked_again(
    served: Served, owner: Caller, tenant: str, watched: Watched
) -> None:
    """The last step puts nothing in force that was checked against another set."""
    assert put(owner, tenant, document(COUNT, "a")).status_code == 200
    table = tables.tenants
    moved: list[int] = []
    step = len(watched.rows) + 4
    write = served.application.store.write

    def moving(work: Any, *, quietly: bool = False) -> Any:
        if len(watched.rows) >= step and not moved:
            moved.append(1)
            change = table.update().where(table.c.tenant_id == UUID(tenant.partition("/")[2]))
            write(
                lambda c: c.execute(
                    change.values(definition_revision=table.c.definition_revision + 1)
                )
            ).result()
        return write(work, quietly=quietly)

    served.application.store.write = moving  # type: ignore[method-assign]
    answer = put(owner, tenant, document(COUNT, "b"))
    assert answer.status_code == 200, answer.text
    assert moved
    assert left(served) == (0, 0)
    assert owner.get(f"{tenant}/policies?limit=1").json()[0]["description"] == "b"


def test_a_deleted_tenant_is_gone_at_once_and_its_rows_in_steps(
    served: Served, owner: Caller, tenant: str, watched: Watched
) -> None:
    """The deletion itself changes a few rows, however many policies there were."""
    assert put(owner, tenant, document(COUNT, "a")).status_code == 200
    watched.rows.clear()
    assert owner.delete(tenant).status_code == 204
    assert max(watched.rows) <= ROWS_BESIDE
    assert owner.get(f"{tenant}/policies").status_code == 404


def test_sqlite_looks_up_what_a_step_removes(tmp_path: Any) -> None:
    """The statements of a removal use the keys: a step must not read the whole table."""
    migrate(f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}")
    with dbapi2.connect(tmp_path / "data" / "tidegate.db") as connection:
        keys = "tenant_id, generation, kind, object_id"
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN DELETE FROM definitions WHERE ({keys}) IN (SELECT {keys} FROM"
            " definitions WHERE tenant_id = x'00' AND generation = 1 LIMIT 9)"
        ).fetchall()
    connection.close()
    assert not [row for row in plan if row[3].startswith("SCAN definitions")], plan
