"""The fork server of services that run within the process of the tests."""

from __future__ import annotations

import atexit
from functools import cache

from tidegate_server.operators.keys import Keys
from tidegate_server.settings.whole import Settings
from tidegate_server.workers.fork_server import ForkServer, spawned
from tidegate_server.workers.pools import WorkerPools


@cache
def fork_server() -> ForkServer:
    """One for all, started as a program: the process of the tests has threads."""
    made = ForkServer(spawned)
    atexit.register(made.close)
    return made


def crew_of(settings: Settings, keys: Keys, base_url: str) -> WorkerPools:
    """The worker processes of a service, not started yet."""
    return WorkerPools(settings, keys, base_url, fork_server())
