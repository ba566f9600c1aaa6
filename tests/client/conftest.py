"""A scripted server for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.client.scripted import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """In good health until its script says otherwise."""
    with ScriptedServer() as running:
        yield running
