"""States that follow a log are those that its decisions made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import orjson
import pytest
import yaml
from sqlalchemy import delete
from tests.server.serving import Caller, serving
from tests.store_contract.examples import decision_id, done, entry

from tidegate_server.cluster.follower import Follower
from tidegate_server.engines.compiled import CompiledSet
from tidegate_server.engines.compiling import compile_newest
from tidegate_server.engines.engines import Runtimes
from tidegate_server.engines.following import READ_ENTRIES, States, UnfollowableError
from tidegate_server.engines.serving import BundledEngine
from tidegate_server.stores.decision_log import log, snapshots
from tidegate_server.stores.decision_log.snapshots import Snapshot
from tidegate_server.stores.port import Store
from tidegate_server.stores.rows.tables import decision_log

DEFINITIONS = Path(__file__).parents[2] / "simulation" / "definitions.yaml"


@attrs.define
class Scene:
    """A tenant with windows, an engine that decides, and states that follow."""

    caller: Caller
    tenant_id: UUID
    store: Store
    runtimes: Runtimes
    states: States
    follower: Follower[States] | None = None
    number: int = 0

    async def define(self, **changes: Any) -> None:
        """Make the sample definitions the tenant's, with changes, and decide by them."""
        document = without_ids(yaml.safe_load(DEFINITIONS.read_text()))
        path = f"tenants/{self.tenant_id}"
        name = (await asyncio.to_thread(self.caller.get, path)).json()["name"]
        document |= {"tenant": {"name": name}, **changes}
        answer = await asyncio.to_thread(
            self.caller.request, "PUT", f"{path}/definitions", json=document
        )
        assert answer.status_code == 200, answer.text
        await self.runtimes.refresh()

    @property
    def engine(self) -> BundledEngine:
        """The engine that decides."""
        found = self.runtimes.find(self.tenant_id)
        assert found is not None
        return found.engine

    def decide(self, count: int) -> None:
        """Decide, and append it to the log."""
        blocks = []
        for _ in range(count):
            self.number += 1
            at = time.time_ns()
            request = {"client_ip": f"192.0.2.{self.number % 3}", "path": "/"}
            event = {"request": request, "account": f"a{self.number % 5}"}
            name = str(decision_id(self.number, at))
            served = self.engine.serve(orjson.dumps(event), at, name)
            blocks.append(
                entry(self.number, self.tenant_id, received_at_ns=at, effects=served.effects)
            )
        done(self.store.append(blocks))

    def save(self, body: bytes) -> None:
        """Save a state as the one after the last decision."""
        with self.store.read() as connection:
            seq = log.last_seq(connection)
        made = Snapshot(
            tenant_id=self.tenant_id,
            seq=seq,
            revision=1,
            body=body,
            created_at_ns=time.time_ns(),
        )
        done(self.store.write(lambda connection: snapshots.save(connection, made)))

    async def follow(self) -> None:
        """Begin to follow, or read on until the states are level."""
        if self.follower is None:
            position = self.states.begin()
            await self.states.restore()
            self.follower = Follower(0, self.states, position)
        request = self.follower.read(0.0)
        while request is not None:
            request = self.follower.receive(self.states.read(request), 0.0)
        await self.states.restore()
        assert self.follower.is_level

    def followed(self) -> bytes:
        """The state that followed, as it is saved."""
        level = self.states.level()
        assert level.is_sound
        return level.tenants[self.tenant_id].engine.freeze().snapshot()


def without_ids(found: Any) -> Any:
    """A document whose objects get their ids from the service."""
    if isinstance(found, dict):
        return {key: without_ids(each) for key, each in found.items() if not key.endswith("_id")}
    return [without_ids(each) for each in found] if isinstance(found, list) else found


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with serving(tmp_path) as served:
        caller, tenant_id = served.owner()
        application = served.application
        store = application.store

        async def compile_(tenant: UUID, base: int | None) -> CompiledSet:
            del base
            made = await asyncio.to_thread(compile_newest, tenant, None, application)
            assert isinstance(made, CompiledSet)
            return made

        new = partial(Runtimes, store, application.keys, compile_)  # type: ignore[arg-type]
        yield Scene(caller, UUID(tenant_id), store, new(), States(new(), store))


def test_states_are_those_of_the_engine_that_decided(scene: Scene) -> None:
    """Before the following began, while it goes on, and over several reads."""

    async def run() -> None:
        await scene.define()
        scene.decide(20)
        await scene.follow()
        assert scene.followed() == scene.engine.freeze().snapshot()
        for count in (1, 30, READ_ENTRIES + 5):
            scene.decide(count)
            await scene.follow()
            assert scene.followed() == scene.engine.freeze().snapshot()

    asyncio.run(run())


@pytest.mark.parametrize("is_only", [False, True])
def test_a_saved_state_of_no_use_gives_way_to_the_one_before_it(
    scene: Scene, is_only: bool
) -> None:
    """The log since the one before is applied to it; without one, all of the log is."""

    async def run() -> None:
        await scene.define()
        scene.decide(20)
        if not is_only:
            scene.save(scene.engine.freeze().snapshot())
        scene.decide(10)
        scene.save(b"{}")
        scene.decide(5)
        await scene.follow()
        assert scene.followed() == scene.engine.freeze().snapshot()

    asyncio.run(run())


def test_a_state_has_what_newer_definitions_counted(scene: Scene) -> None:
    """Decisions by definitions with another window reach no state that has no place for it."""

    async def run() -> None:
        await scene.define(policies=[])
        scene.decide(5)
        await scene.follow()
        assert scene.states.is_whole
        await scene.define()
        scene.decide(20)
        await scene.follow()
        scene.decide(3)
        await scene.follow()
        assert scene.states.is_whole
        assert scene.followed() == scene.engine.freeze().snapshot()

    asyncio.run(run())


def test_a_tenant_that_is_new_is_followed_and_one_that_is_gone_is_not(scene: Scene) -> None:
    """The states are of the tenants that there are."""

    async def run() -> None:
        await scene.follow()
        await scene.define()
        scene.decide(4)
        answer = await asyncio.to_thread(scene.caller.post, "tenants", {"name": "New"})
        await scene.follow()
        new = UUID(answer.json()["tenant_id"])
        assert set(scene.states.level().tenants) == {scene.tenant_id, new}
        await asyncio.to_thread(scene.caller.request, "DELETE", f"tenants/{new}")
        await scene.follow()
        assert set(scene.states.level().tenants) == {scene.tenant_id}

    asyncio.run(run())


def test_a_log_that_lacks_decisions_cannot_be_followed(scene: Scene) -> None:
    """The states would lack what they did."""

    async def run() -> None:
        await scene.define()
        await scene.follow()
        scene.decide(1)
        scene.decide(1)
        first = delete(decision_log).where(decision_log.c.first_seq == 1)
        done(scene.store.write(lambda connection: connection.execute(first)))
        with pytest.raises(UnfollowableError):
            await scene.follow()

    asyncio.run(run())
