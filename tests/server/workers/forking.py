"""The fork server of services that run within the process of the tests."""

from __future__ import annotations

import atexit
from functools import cache

from tidegate.operators.keys import Keys
from tidegate.server.workers.crew import Crew
from tidegate.server.workers.fork_server import ForkServer, spawned
from tidegate.settings.whole import Settings


@cache
def fork_server() -> ForkServer:
    """One for all, started as a program: the process of the tests has threads."""
    made = ForkServer(spawned)
    atexit.register(made.close)
    return made


def crew_of(settings: Settings, keys: Keys, base_url: str) -> Crew:
    """The worker processes of a service, not started yet."""
    return Crew(settings, keys, base_url, fork_server())
