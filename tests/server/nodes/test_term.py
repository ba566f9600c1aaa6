"""One term of ownership, whose service a test makes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest
from structlog.testing import capture_logs

from tidegate_server.nodes.following import Following, Opened
from tidegate_server.nodes.term import Term
from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from tidegate_server.stores.directory.members import SharedClaim


@attrs.define
class Claim:
    """A lock."""

    is_released: bool = False

    def release(self) -> None:
        """Let others take it."""
        self.is_released = True


@attrs.define
class Failing:
    """The service of an owner, and what prepares it; its end fails."""

    error: Exception
    partition: int = 3

    async def stop(self, *, saves: bool) -> None:
        """Fail, with or without saving."""
        del saves
        raise self.error

    async def close(self) -> None:
        """Fail before there is a service."""
        raise self.error

    async def take(self, _claim: object, _ended: object) -> Opened:
        """Return the parts of an owner."""
        nothing: Any = None
        return Opened(nothing, nothing, cast("Any", self))


@pytest.mark.parametrize("is_open", [True, False])
def test_a_lock_is_released_though_the_service_fails_to_stop(is_open: bool) -> None:
    """The partition isn't left with an owner that answers nothing."""
    claim = Claim()

    async def run() -> None:
        following = Failing(OSError("the disk is full"))
        term = Term(cast("Following", following), cast("SharedClaim", claim))
        if is_open:
            await term.open()
        await term.close()

    with capture_logs() as lines:
        asyncio.run(run())
    assert claim.is_released
    assert [each["event"] for each in lines] == ["an owner did not stop"]


def test_a_store_that_is_away_ends_a_term() -> None:
    """The next owner fences it, so there is nothing to report."""
    claim = Claim()

    async def run() -> None:
        following = Failing(StoreUnavailableError("away"))
        term = Term(cast("Following", following), cast("SharedClaim", claim))
        await term.open()
        await term.close()

    asyncio.run(run())
    assert claim.is_released
