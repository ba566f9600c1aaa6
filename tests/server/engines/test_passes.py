"""Passes of challenges, as the control plane of a running service revokes them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from uuid import UUID, uuid4

from tests.server.turns.whole import World, running

from tidegate_server.control.runtime import NoRuntime
from tidegate_server.stores.objects import audit

ACTOR, REQUEST = "ann", "r-1"
HALF_HOUR = 1_800 * 10**9


async def revoke(world: World, tenant_id: str, pass_id: UUID, expires_at: int) -> bool:
    """Revoke a pass as a handler does, on another thread."""
    live = world.service.live
    about = UUID(tenant_id), pass_id, expires_at, ACTOR, REQUEST
    return await asyncio.to_thread(live.revoke_pass, *about)


def test_a_revoked_pass_is_in_the_log_and_in_the_audit(tmp_path: Path, process: None) -> None:
    """Once; a pass that has expired, or of a tenant that is not there, is not revoked."""

    async def scene() -> None:
        async with running(tmp_path / "data") as world:
            tenant = await world.tenant("Shop")
            tenant_id, live = UUID(tenant.tenant_id), world.service.live
            pass_id, expires_at = uuid4(), time.time_ns() + HALF_HOUR
            assert live.pass_status(tenant_id, pass_id) == "alive"
            assert await revoke(world, tenant.tenant_id, pass_id, expires_at)
            assert live.pass_status(tenant_id, pass_id) == "revoked"
            assert not await revoke(world, tenant.tenant_id, pass_id, expires_at)
            assert not await revoke(world, tenant.tenant_id, uuid4(), 1)
            assert not await revoke(world, str(uuid4()), uuid4(), expires_at)
            (line,) = tenant.log()
            with world.store.read() as connection:
                (entry,) = audit.page(connection, tenant_id, 1)
            assert not line.is_decision
            assert b'"revoke"' in line.effects()
            assert (entry.actor, entry.action, entry.kind) == (ACTOR, "revoke", "pass")
            assert entry.object_id == str(pass_id)
            assert entry.before["pass_id"] == str(pass_id)
            tenant.check()

    asyncio.run(scene())


def test_where_nothing_decides_no_pass_is_known() -> None:
    """The control plane by itself revokes nothing."""
    nothing = NoRuntime()
    assert nothing.pass_status(uuid4(), uuid4()) == "alive"
    assert not nothing.revoke_pass(uuid4(), uuid4(), 1, ACTOR, REQUEST)
