"""Decisions off the loop: in the order of the log, whatever comes between them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest
from tests.server.turns.whole import LONG, Tenant, World, running, still_waits, until

from tidegate_server.settings.service import ServerSettings
from tidegate_server.settings.whole import Settings
from tidegate_server.turns.account import HELD_NS, LIGHT_WORK

pytestmark = pytest.mark.usefixtures("process")


class Run(Protocol):
    """Plays a scene on a new service."""

    def __call__(
        self, scene: Callable[[World], Awaitable[None]], settings: Settings | None = None
    ) -> None: ...


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Plays a scene on a new service."""

    def play(scene: Callable[[World], Awaitable[None]], settings: Settings | None = None) -> None:
        async def whole() -> None:
            async with running(tmp_path / "data", settings) as world:
                await scene(world)

        asyncio.run(whole())

    return play


@pytest.mark.parametrize("seed", range(6))
def test_the_log_has_the_order_of_the_decisions(run: Run, seed: int) -> None:
    """Log and snapshots give the state, whatever calls, changes, lifts and snapshots come."""

    async def scene(world: World) -> None:
        dice = random.Random(seed)
        tenants = [await world.tenant(f"Shop {number}") for number in range(3)]
        await world.light(tenants[0])
        beside: list[asyncio.Task[None]] = []
        for _ in range(60):
            tenant = dice.choice(tenants)
            match dice.randrange(10):
                case 0:
                    beside.append(asyncio.create_task(tenant.change()))
                case 1:
                    beside.append(asyncio.create_task(lift(tenant)))
                case 2:
                    beside.append(asyncio.create_task(world.service.save_states()))
                case 3:
                    world.held.shut()
                case 4:
                    world.held.open()
                case _:
                    for _ in range(dice.randrange(1, 30)):
                        tenant.call(
                            f"192.0.2.{dice.randrange(9)}",
                            text=LONG if dice.random() < 0.05 else "",
                            key=str(dice.randrange(20)) if dice.random() < 0.2 else None,
                        )
            for _ in range(dice.randrange(30)):
                await asyncio.sleep(0)
        world.held.open()
        await asyncio.gather(*beside)
        for tenant in tenants:
            await tenant.answered()
            logged = tenant.logged()
            assert logged == sorted(set(logged))
            assert {tenant.code(number) for number in logged} <= {200}
            tenant.check()
        await world.service.save_states()
        for tenant in tenants:
            tenant.check()

    async def lift(tenant: Tenant) -> None:
        await tenant.lift()

    run(scene)


def test_others_are_decided_while_a_step_is_made_beside(run: Run) -> None:
    """Other tenants, known and unknown, are decided while a step runs off the loop."""

    async def scene(world: World) -> None:
        heavy, light, new = [await world.tenant(name) for name in ("Heavy", "Light", "New")]
        await world.light(light)
        world.held.shut()
        first = heavy.call(text=LONG)
        await until(lambda: world.held.made == 1)
        behind = heavy.call()
        for _ in range(5):
            number = light.call()
            await light.answered(number)
        new.call()
        await until(lambda: world.held.made == 2)
        assert not heavy.outcomes
        world.held.open()
        await heavy.answered(behind)
        await new.answered()
        assert heavy.logged() == [first, behind]

    run(scene)


def test_a_change_of_definitions_waits_for_the_step(run: Run) -> None:
    """A change of definitions waits for the step, so the new engine misses no decision."""

    async def scene(world: World) -> None:
        tenant = await world.tenant("Shop")
        world.held.shut()
        for _ in range(3):
            tenant.call()
        await until(lambda: world.held.made == 1)
        engine = tenant.engine
        changes = asyncio.gather(tenant.change())
        assert await still_waits([changes])
        assert tenant.engine is engine
        world.held.open()
        await changes
        await tenant.change()
        await tenant.answered()
        assert tenant.engine is not engine
        tenant.check()

    run(scene)


def test_a_lift_waits_for_the_step(run: Run) -> None:
    """A lift stands in the log after the decisions of the running step."""

    async def scene(world: World) -> None:
        tenant = await world.tenant("Shop")
        for _ in range(3):
            tenant.call()
        await tenant.answered()
        world.held.shut()
        tenant.call()
        await until(lambda: world.held.made == 1)
        lifting = asyncio.create_task(tenant.lift())
        assert await still_waits([lifting])
        world.held.open()
        assert await lifting == 1
        assert [line.is_decision for line in tenant.log()] == [True] * 4 + [False]
        tenant.check()

    run(scene)


def test_a_snapshot_waits_for_the_step(run: Run) -> None:
    """Nothing is decided off the loop meanwhile, and on it everything."""

    async def scene(world: World) -> None:
        heavy, light = [await world.tenant(name) for name in ("Heavy", "Light")]
        await world.light(light)
        world.held.shut()
        heavy.call()
        await until(lambda: world.held.made == 1)
        saving = asyncio.create_task(world.service.save_states())
        assert await still_waits([saving])
        number = light.call()
        await light.answered(number)
        heavy.call()
        assert not saving.done()
        world.held.open()
        await saving
        await heavy.answered()
        heavy.check()
        light.check()

    run(scene)


def test_what_is_decided_while_the_log_fails_counts_as_not_made(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions made while the log fails count as not made, and their keys are free."""
    monkeypatch.setattr("tidegate_server.hot.recorder.RETRY_SECONDS", 0.05)

    async def scene(world: World) -> None:
        held, other = [await world.tenant(name) for name in ("Held", "Other")]
        world.held.shut()
        lost = held.call(key="a")
        await until(lambda: world.held.made == 1)
        recorder = world.service.recorder
        recorder._begin_recovery()
        await until(lambda: recorder.is_available)
        world.held.open()
        await held.answered(lost)
        assert held.code(lost) == "decision-log-unavailable"
        again = held.call(key="a")
        other.call()
        await held.answered()
        await other.answered()
        assert held.code(again) == 200
        assert held.logged() == [again]
        held.check()
        other.check()

    run(scene)


def test_heavy_tenants_decide_alternately(run: Run) -> None:
    """Heavy tenants whose steps cost the same have them alternately, however many calls they
    have."""

    async def scene(world: World) -> None:
        greedy, modest = [await world.tenant(name) for name in ("Greedy", "Modest")]
        lanes = world.service.lanes
        for tenant in (greedy, modest):
            tenant.call()
            await tenant.answered()
            lane = lanes.of(tenant.tenant_id, tenant.key.tenant_id)
            lane.account.charge(1, 1, HELD_NS + 1, LIGHT_WORK + 1, time.monotonic_ns() + 10**12)
        lanes.heavy.places = 1
        world.held.cost = 1_000
        world.held.shut()
        for _ in range(6):
            greedy.call()
        await until(lambda: world.held.made == 1)
        for _ in range(2):
            modest.call()
        world.held.open()
        await greedy.answered()
        await modest.answered()
        # Decisions in a commit are ordered by tenant; ids are by time.
        lines = [
            (line.decision().decision_id, tenant.name)
            for tenant in (greedy, modest)
            for line in tenant.log()
        ]
        names = "".join(name[0] for _, name in sorted(lines))
        assert names == "GM" + "GMGMGGGG"

    run(scene)


def test_the_end_refuses_what_waits_and_keeps_what_is_decided(run: Run) -> None:
    """The step that is under way is logged."""

    async def scene(world: World) -> None:
        tenant = await world.tenant("Shop")
        world.held.shut()
        first = tenant.call()
        await until(lambda: world.held.made == 1)
        second = tenant.call()
        await asyncio.sleep(0.01)
        ending = asyncio.create_task(world.service.lanes.close())
        assert await still_waits([ending])
        assert tenant.code(second) == "not-ready"
        world.held.open()
        await ending
        await tenant.answered()
        assert tenant.code(first) == 200
        assert tenant.logged() == [first]

    run(scene)


def test_a_tenant_has_no_more_than_its_calls_waiting(run: Run) -> None:
    """The others are refused at once, and nobody else's."""

    async def scene(world: World) -> None:
        tenant, other = [await world.tenant(name) for name in ("Shop", "Other")]
        world.held.shut()
        first = tenant.call()
        await until(lambda: world.held.made == 1)
        waiting = [tenant.call() for _ in range(100)]
        over = [tenant.call() for _ in range(3)]
        await tenant.answered(over[-1])
        assert [tenant.code(number) for number in over] == ["rate-limited"] * 3
        outcome = tenant.outcomes[over[0]]
        assert isinstance(outcome, Exception)
        assert "100 calls of the tenant wait already" in str(getattr(outcome, "detail", ""))
        number = other.call()
        world.held.open()
        await other.answered(number)
        await tenant.answered()
        assert tenant.logged() == [first, *waiting]

    run(scene, Settings(server=ServerSettings(tenant_waiting_calls=100)))
