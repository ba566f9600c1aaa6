"""Fixtures of connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.connection.scene import (
    PEPPER,
    Connection,
    Transport,
    Undecided,
    keyed,
)
from uvicorn.server import ServerState

from tidegate_server.connection.protocol import Protocol, Shared
from tidegate_server.hot.admission import Admission
from tidegate_server.hot.metrics import HotMetrics
from tidegate_server.hot.rate_limit import RateLimits
from tidegate_server.operators.key_ring import KeyRing
from tidegate_server.process import configuration
from tidegate_server.settings.service import ServerSettings


@pytest.fixture
def shared() -> Shared:
    """The state that the connections of a test share."""
    return Shared()


@pytest.fixture
def hot(shared: Shared) -> Undecided:
    """The hot path of the connections, with one key."""
    keys = KeyRing(PEPPER)
    keyed(keys, 60_000)
    nothing: Any = None
    made = Undecided(
        Admission(keys, RateLimits()), nothing, nothing, nothing, HotMetrics(), lambda: "http://t"
    )
    shared.hot = made
    return made


@pytest.fixture
def connection(hot: Undecided, shared: Shared) -> Iterator[Connection]:
    """A connection to the hot path and to nothing else."""
    loop = asyncio.new_event_loop()
    protocol = Protocol(
        shared,
        config=configuration(ServerSettings(), None, shared),
        server_state=ServerState(),
        app_state={},
        _loop=loop,
    )
    made = Connection(protocol, Transport(), loop)
    protocol.connection_made(made.transport)
    yield made
    loop.close()
