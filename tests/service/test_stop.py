"""The end of a server."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

from service_process import start, stop
from sqlalchemy import select
from tests.faults.load import Call, send
from tests.faults.target import Target
from tests.faults.traffic import Traffic
from tools import plain_http

from tidegate_server.stores.rows.connections import reading_engine
from tidegate_server.stores.rows.tables import snapshots


def test_a_signal_ends_the_server_with_its_states_saved(tmp_path: Path, process: None) -> None:
    """SIGTERM is an ordinary stop: exit code 0, and the next start need not repeat the log."""
    target = Target.make(tmp_path / "data", tmp_path / "log")
    traffic = Traffic(1)
    calls = [Call(*traffic.next()) for _ in range(20)]
    outcome = asyncio.run(send(target.base_url, target.api_key, calls))
    assert len(outcome.acknowledged) == len(calls)
    assert target.end(signal.SIGTERM) == 0
    engine = reading_engine(target.database)
    with engine.connect() as connection:
        assert connection.execute(select(snapshots.c.seq)).scalars().all() == [len(calls)]
    engine.dispose()


def test_a_daemon_that_waits_for_changes_is_answered_at_a_stop(
    tmp_path: Path, process: None
) -> None:
    """Its call neither holds the server until the drain's end, nor ends as an error."""
    log = tmp_path / "log"
    process, said = start("--demo", "--server-drain-seconds", "600", log=log)
    try:
        place = urlsplit(said["base_url"])
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            lines = (
                "GET /api/v1/sync/changes?wait=60 HTTP/1.1",
                f"host: {place.netloc}",
                f"x-service-api-key: {said['sync_api_key']}",
            )
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            # The loop reads in the order of arrival.
            for _ in range(2):
                assert plain_http.get(f"{said['base_url']}/healthz").status_code == 200
            assert stop(process) == 0
            with connection.makefile("rb") as answer:
                assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
    finally:
        process.kill()
    assert '"level":"error"' not in log.read_text()
