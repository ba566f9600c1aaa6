"""Which tenant is loaded next after a start, and how long others wait for it."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tidegate_server.engines.loading import Loading

A, B, C = (UUID(int=number) for number in range(1, 4))


def loading() -> Loading:
    return Loading({A: (1, 1), B: (1, 1), C: (1, 1)})


def test_called_tenants_come_first_in_the_order_of_their_calls() -> None:
    """A tenant that is called is loaded before those that nobody calls, and only once."""
    left = loading()
    for each in (B, A, B):
        left.call(each)
    assert [left.next() for _ in range(4)] == [B, A, C, None]


def test_a_wait_ends_with_its_own_tenant() -> None:
    """A call that waits for a tenant doesn't wait for others."""

    async def run() -> None:
        left = loading()
        waits = {each: asyncio.ensure_future(left.wait(each)) for each in (A, B)}
        await asyncio.sleep(0)
        assert left.next() == A
        left.finish(A)
        await asyncio.wait_for(waits[A], 5)
        assert not waits[B].done()
        assert (A in left, B in left, len(left)) == (False, True, 2)
        left.finish(B)
        await asyncio.wait_for(waits[B], 5)
        await asyncio.wait_for(left.wait(A), 5)

    asyncio.run(run())


def test_all_are_waited_for_in_any_order() -> None:
    """A wait for all tenants ends with the last one."""

    async def run() -> None:
        left = loading()
        waiting = asyncio.ensure_future(left.wait_for_all())
        for each in (C, A, B):
            await asyncio.sleep(0)
            assert not waiting.done()
            left.finish(each)
        await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


def test_a_change_is_noted_until_its_tenant_is_loaded() -> None:
    """Definitions that change during a load are loaded, and a loaded tenant's are taken over."""
    left = loading()
    assert left.expect(A, (2, 1))
    assert left.revision(A) == (2, 1)
    left.finish(A)
    assert not left.expect(A, (3, 1))
    assert left.revision(A) is None
    assert left.next() != A
