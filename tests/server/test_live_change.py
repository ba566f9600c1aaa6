"""Policies that change one by one in a tenant that decides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import orjson
import pytest
from tests.server.serving import Caller, Served, serving
from tests.waiting import eventually

from tidegate_server.engines import engines
from tidegate_server.engines.compiled import CompiledChange, CompiledSet
from tidegate_server.engines.compiling import compile_newest
from tidegate_server.engines.engines import Runtimes
from tidegate_server.engines.tenant import Tenant

PATHS = ("/a", "/b", "/c")


@attrs.define
class Scene:
    """A tenant with a policy for each path, which blocks it, and what runs it."""

    served: Served
    caller: Caller
    tenant_id: str
    runtimes: Runtimes
    compiled: list[CompiledSet | CompiledChange]
    """The compilations of the definitions, in order."""

    @property
    def tenant(self) -> Tenant:
        found = self.runtimes.find(UUID(self.tenant_id))
        assert found is not None
        return found

    def blocked(self) -> list[str]:
        """The blocked ones of some paths."""
        engine, at = self.tenant.engine, time.time_ns()
        events = {path: orjson.dumps({"request": {"path": path}}) for path in (*PATHS, "/d", "/e")}
        return [
            path
            for path, event in events.items()
            if engine.decide(event, at).action.type == "block"
        ]

    async def call(self, method: str, place: str, body: Any = None) -> Any:
        """A change of the definitions, taken over."""
        path = f"tenants/{self.tenant_id}/{place}".rstrip("/")
        answer = await asyncio.to_thread(self.caller.request, method, path, json=body)
        assert answer.status_code < 300, answer.text
        await self.runtimes.refresh()
        return answer.json() if answer.content else None

    async def clauses(self, path: str) -> list[dict[str, Any]]:
        """A clause that blocks a path, as the interface has it."""
        where = f"tenants/{self.tenant_id}/mitigations"
        found = await asyncio.to_thread(self.caller.get, where)
        expression = f'request.path == "{path}"'
        return [
            {
                "name": "c",
                "expression": expression,
                "mitigation_id": found.json()[0]["mitigation_id"],
            }
        ]

    async def policies(self) -> dict[str, str]:
        """The ids of all, by slug."""
        found = await asyncio.to_thread(self.caller.get, f"tenants/{self.tenant_id}/policies")
        return {each["slug"]: each["policy_id"] for each in found.json()}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with serving(tmp_path) as served:
        caller, tenant_id = served.owner()
        compiled: list[CompiledSet | CompiledChange] = []

        async def compile_(tenant: UUID, base: int | None) -> CompiledSet | CompiledChange:
            made = await asyncio.to_thread(compile_newest, tenant, base, served.application)
            compiled.append(made)
            return made

        runtimes = Runtimes(served.application.store, served.application.keys, compile_)  # type: ignore[arg-type]
        yield Scene(served, caller, tenant_id, runtimes, compiled)


def clause(path: str) -> dict[str, Any]:
    return {"name": "c", "expression": f'request.path == "{path}"', "mitigation": "refuse"}


def document(scene: Scene) -> dict[str, Any]:
    name = scene.caller.get(f"tenants/{scene.tenant_id}").json()["name"]
    return {
        "apiVersion": "tidegate/v1",
        "tenant": {"name": name},
        "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 0}],
        "policies": [{"name": path[1:], "clauses": [clause(path)]} for path in PATHS],
    }


def test_a_changed_policy_is_compiled_alone(scene: Scene) -> None:
    """A changed, a new and a deleted one: the rest of the engine is taken over."""

    async def run() -> None:
        await scene.call("PUT", "definitions", await asyncio.to_thread(document, scene))
        assert scene.blocked() == list(PATHS)
        ids = await scene.policies()
        await scene.call("PATCH", f"policies/{ids['b']}", {"clauses": await scene.clauses("/d")})
        assert scene.blocked() == ["/a", "/c", "/d"]
        await scene.call("POST", "policies", {"name": "e", "clauses": await scene.clauses("/e")})
        await scene.call("DELETE", f"policies/{ids['a']}")
        assert scene.blocked() == ["/c", "/d", "/e"]
        assert scene.tenant.names.policies == await scene.policies()
        changes = [each for each in scene.compiled if isinstance(each, CompiledChange)]
        assert len(changes) == 3
        assert scene.tenant.engine.layered > 0

    asyncio.run(run())


def test_another_change_makes_the_engine_anew(scene: Scene) -> None:
    """A change of an object that policies name, or of the settings, compiles all anew."""

    async def run() -> None:
        await scene.call("PUT", "definitions", await asyncio.to_thread(document, scene))
        await scene.call("POST", "actions", {"name": "Login", "expression": 'request.path == "/l"'})
        assert isinstance(scene.compiled[-1], CompiledSet)
        await scene.call("PATCH", "", {"settings": {"max_keys": 1_000}})
        assert isinstance(scene.compiled[-1], CompiledSet)
        assert scene.tenant.settings.max_keys == 1_000
        assert scene.blocked() == list(PATHS)

    asyncio.run(run())


def test_after_a_while_all_policies_have_one_index(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine stays, and decides as before."""
    monkeypatch.setattr(engines, "SETTLE_SECONDS", 0.01)

    async def run() -> None:
        await scene.call("PUT", "definitions", await asyncio.to_thread(document, scene))
        ids = await scene.policies()
        await scene.call("PATCH", f"policies/{ids['b']}", {"clauses": await scene.clauses("/d")})
        engine = scene.tenant.engine
        await eventually(lambda: engine.layered == 0)
        assert scene.tenant.engine is engine
        assert scene.blocked() == ["/a", "/c", "/d"]

    asyncio.run(run())
