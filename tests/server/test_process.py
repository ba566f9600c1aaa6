"""The server process: its sockets and its interpreter."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
import structlog.testing
import uvloop
from tests.server.workers.forking import fork_server

from tidegate_server.operators.keys import load_keys
from tidegate_server.owners.forwarding import Forwarding
from tidegate_server.partitions.slot import Slot, make_inboxes
from tidegate_server.process import ACCEPTED_AT_ONCE, accepting, listen, proxies_of, run
from tidegate_server.settings.service import ServerSettings
from tidegate_server.settings.store import StoreSettings
from tidegate_server.settings.whole import Settings
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.sqlite import SqliteStore


def test_a_turn_of_the_loop_accepts_many_connections() -> None:
    """Callers who connect at the same moment are all accepted within one turn of the loop."""
    accepted: list[asyncio.BaseTransport] = []

    class Noting(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.append(transport)

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        listening = listen(ServerSettings(port=0))
        servers = [await loop.create_server(Noting, sock=each) for each in accepting(listening)]
        address = listening.getsockname()
        callers = [socket.create_connection(address) for _ in range(ACCEPTED_AT_ONCE)]
        # The first turn polls the sockets, the second one calls the protocols.
        for _ in range(2):
            await asyncio.sleep(0)
        assert len(accepted) == ACCEPTED_AT_ONCE
        for each in [*callers, *accepted, *servers]:
            each.close()

    uvloop.run(scene())


def test_a_proxy_that_names_nobody_is_warned_of() -> None:
    """Behind a proxy that isn't trusted all callers are one, and the log says so."""
    with structlog.testing.capture_logs() as said:
        named = proxies_of(ServerSettings(behind_proxy=True, trusted_proxies="10.0.0.0/8, unix"))
        assert not said
        nobody = proxies_of(ServerSettings(behind_proxy=True))
    assert named.client("10.0.0.1", ["203.0.113.9"]) == "203.0.113.9"
    assert nobody.client("10.0.0.1", ["203.0.113.9"]) == "10.0.0.1"
    assert "server.trusted_proxies" in said[0]["event"]


@pytest.mark.usefixtures("process")
def test_a_server_worker_that_repeats_no_calls_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls to other partitions would wait for ever; its parent starts another one."""

    def tick(_forwarding: Forwarding, _now: float) -> None:
        raise KeyError("no such call")

    monkeypatch.setattr(Forwarding, "tick", tick)
    directory = tmp_path / "data"
    url = f"sqlite:///{directory / 'tidegate.db'}"
    migrate(url)
    settings = Settings(
        server=ServerSettings(port=0), store=StoreSettings(directory=str(directory))
    )
    paths, inboxes = make_inboxes(directory, 2)
    shared = listen(settings.server)
    slot = Slot(0, paths, inboxes[0], shared, 0)
    keys = load_keys(tmp_path / "keys")

    async def scene() -> None:
        serving = run(settings, SqliteStore(url), keys, fork_server(), lambda _: None, slot)
        await asyncio.wait_for(serving, 60)

    with structlog.testing.capture_logs() as said:
        uvloop.run(scene())
    for each in inboxes:
        each.close()
    failed = [each for each in said if each["event"] == "work in the background ended"]
    assert [each["work"] for each in failed] == ["Worker.run"]
