"""A node without sockets, over a database that is away."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest

from tidegate_server.nodes.core import NodeCore, Surroundings
from tidegate_server.stores.base import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_SECONDS = 30.0


class Away:
    """Members and routes in a database that is away."""

    def listen(self, _changed: object) -> Callable[[], None]:
        """Listen to nothing."""
        return lambda: None

    def join(self, _name: str, _address: str, *, is_draining: bool) -> object:
        """Reach nothing."""
        raise StoreUnavailableError(f"away, draining: {is_draining}")

    def find(self, _names: object) -> dict[object, int]:
        """Reach nothing."""
        raise StoreUnavailableError("away")

    of_tenants = of_prefixes = find

    def close(self) -> None:
        """Nothing is open."""


def node(end: Callable[[], None]) -> NodeCore:
    """A node that is a member of nothing."""
    given: dict[str, Any] = {each.name: None for each in attrs.fields(Surroundings)}
    away = Away()
    given |= {
        "members": away,
        "routes": away,
        "calling": ssl.create_default_context(),
        "end": end,
        "drain_seconds": 1.0,
    }
    return NodeCore("a", "a:1", 1, cast("Any", Surroundings)(**given))


def test_a_node_whose_calls_are_no_longer_repeated_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls would wait for ever otherwise, and nothing would say why."""

    async def run() -> None:
        ended = asyncio.Event()
        core = node(ended.set)

        def tick(_now: float) -> None:
            raise KeyError("no such call")

        monkeypatch.setattr(core.forwardings[0], "tick", tick)

        async def serve() -> None:
            await asyncio.wait_for(ended.wait(), WAIT_SECONDS)

        with pytest.raises(KeyError, match="no such call"):
            await core.run(serve)

    asyncio.run(run())
