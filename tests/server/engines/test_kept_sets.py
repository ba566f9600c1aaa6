"""Compiled definitions that a start reads instead of compiling them from text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import orjson
import pytest
from sqlalchemy import select, update
from tests.server.deciding import DEFINITIONS
from tests.server.serving import Caller, Served, serving

from tidegate_server.engines import kept_sets
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.compiling import compile_newest, keep_newest
from tidegate_server.engines.engines import Runtimes
from tidegate_server.stores.base import StoreUnavailableError
from tidegate_server.stores.rows.tables import compiled_sets as table

EVENT = orjson.dumps({"request": {"path": "/login", "client_ip": "192.0.2.7"}})
SECONDS = 1_000_000_000


@attrs.define
class Scene:
    """A tenant with definitions, and how often they were compiled from text."""

    served: Served
    caller: Caller
    tenant_id: UUID
    compiled: list[CompiledSet | CompiledChange] = attrs.field(factory=list)

    def runtimes(self) -> Runtimes:
        """The tenants of a process that starts."""

        async def compile_(tenant_id: UUID, base: int | None) -> CompiledSet | CompiledChange:
            made = await asyncio.to_thread(compile_newest, tenant_id, base, self.served.application)
            self.compiled.append(made)
            return made

        application = self.served.application
        return Runtimes(application.store, application.keys, compile_)  # type: ignore[arg-type]

    def put(self, document: dict[str, Any]) -> None:
        """Replace the definitions."""
        path = f"tenants/{self.tenant_id}/definitions"
        name = self.caller.get(f"tenants/{self.tenant_id}").json()["name"]
        answer = self.caller.request("PUT", path, json={**document, "tenant": {"name": name}})
        assert answer.status_code == 200, answer.text

    def start(self) -> list[str]:
        """The outcomes of a start's decisions."""

        async def run() -> list[str]:
            runtimes = self.runtimes()
            await runtimes.begin()
            runtimes.load_rest()
            await runtimes.wait_for(self.tenant_id)
            tenant = runtimes.find(self.tenant_id)
            assert tenant is not None
            return [tenant.engine.decide(EVENT, at * SECONDS).action.type for at in range(1, 5)]

        return asyncio.run(run())

    def change(self, **values: Any) -> None:
        """Change columns of the kept form."""
        store = self.served.application.store
        store.write(lambda connection: connection.execute(update(table).values(values))).result()

    def row(self) -> dict[str, Any]:
        """The kept form."""
        with self.served.application.store.read() as connection:
            return dict(connection.execute(select(table)).mappings().one())


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with serving(tmp_path) as served:
        caller, tenant_id = served.owner()
        made = Scene(served, caller, UUID(tenant_id))
        made.put(dict(DEFINITIONS))
        assert made.start() == DECIDED
        assert len(made.compiled) == 1
        yield made


DECIDED = ["allow", "allow", "block", "block"]


def test_a_start_reads_the_compiled_form(scene: Scene) -> None:
    """A second start compiles nothing from text, decides the same, and has the same names."""
    assert scene.start() == DECIDED
    assert len(scene.compiled) == 1
    row, made = scene.row(), scene.compiled[0]
    place = kept_sets.place_of(scene.tenant_id, (row["revision"], row["own_revision"]))
    with scene.served.application.store.read() as connection:
        assert kept_sets.find(connection, place) == made


DAMAGES = {
    "another revision": lambda row: {"revision": row["revision"] - 1},
    "another revision of the settings": lambda row: {"own_revision": row["own_revision"] + 1},
    "another program": lambda row: {"program": bytes(16)},
    "another checksum": lambda row: {"checksum": bytes(32)},
    "an empty body": lambda row: {"body": b""},
    "half a body": lambda row: {"body": row["body"][: len(row["body"]) // 2]},
    "a changed bit at the beginning": lambda row: {"body": flipped(row["body"], 0)},
    "a changed bit in the middle": lambda row: {"body": flipped(row["body"], 200)},
    "a changed bit at the end": lambda row: {"body": flipped(row["body"], -1)},
}


def flipped(body: bytes, at: int) -> bytes:
    """A body with one bit changed."""
    changed = bytearray(body)
    changed[at] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_form_is_made_again(scene: Scene, damage: str) -> None:
    """A form that doesn't fit is compiled from text again, and the next start uses the new one."""
    scene.change(**DAMAGES[damage](scene.row()))
    assert scene.start() == DECIDED
    assert len(scene.compiled) == 2
    assert scene.start() == DECIDED
    assert len(scene.compiled) == 2


def test_the_form_of_another_tenant_is_not_used(scene: Scene) -> None:
    """A body that is copied from another tenant's row fails the checksum."""
    found = scene.row()
    revision = found["revision"], found["own_revision"]
    other = UUID(scene.caller.post("tenants", {"name": "Other"}).json()["tenant_id"])
    store = scene.served.application.store
    row = {**found, "tenant_id": other}
    store.write(lambda connection: connection.execute(table.insert().values(row))).result()
    with store.read() as connection:
        assert kept_sets.find(connection, kept_sets.place_of(other, revision)) is None
        assert kept_sets.find(connection, kept_sets.place_of(scene.tenant_id, revision)) is not None


def test_a_form_that_says_less_than_it_should_is_not_used(scene: Scene) -> None:
    """A sound row whose body isn't a compiled set is as good as none."""
    row = scene.row()
    place = kept_sets.place_of(scene.tenant_id, (row["revision"], row["own_revision"]))
    store = scene.served.application.store
    packed = kept_sets.compiled_sets.pack(b"\x81\xa8revision\x01")
    put = kept_sets.compiled_sets.put
    store.write(lambda connection: put(connection, place, packed)).result()
    with store.read() as connection:
        assert kept_sets.compiled_sets.find(connection, place) is not None
        assert kept_sets.find(connection, place) is None


def test_a_full_disk_hinders_no_start(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Definitions whose form can't be kept decide all the same."""

    def refuse(*_: object, **__: object) -> None:
        raise StoreUnavailableError("the disk is full")

    scene.change(checksum=bytes(32))
    monkeypatch.setattr(kept_sets.compiled_sets, "put", refuse)
    assert scene.start() == DECIDED
    assert scene.row()["checksum"] == bytes(32)


def policy(name: str) -> dict[str, Any]:
    """A policy that only watches."""
    return {"name": name, "expression": "true", "clauses": [{"name": "any"}]}


def test_changes_are_kept_once_they_pause(scene: Scene) -> None:
    """After a change of a policy the form is old, until the worker that compiled it keeps it."""
    policies = f"tenants/{scene.tenant_id}/policies"
    assert scene.caller.post(policies, policy("More")).status_code == 201

    async def take_over() -> None:
        runtimes = scene.runtimes()
        await runtimes.load()
        assert scene.caller.post(policies, policy("Much")).status_code == 201
        await runtimes.refresh()

    asyncio.run(take_over())
    assert isinstance(scene.compiled[-1], CompiledChange)
    before = scene.row()["revision"]
    keep_newest(scene.tenant_id, scene.served.application)  # type: ignore[arg-type]
    assert scene.row()["revision"] == before + 1
    count = len(scene.compiled)
    assert scene.start() == DECIDED
    assert len(scene.compiled) == count


def test_the_program_is_known_by_its_sources() -> None:
    """Two builds with different sources have different forms, with the same version number."""
    assert len(kept_sets.program()) == 16
    names = [name for name, _ in kept_sets._sources(kept_sets.files("tidegate"))]
    assert "/language/parse/grammar.lark" in names
    assert "/language/check/tree_checker.py" in names
    assert len(names) == len(set(names))
