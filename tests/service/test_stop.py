"""The end of a server."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from sqlalchemy import select
from tests.faults.load import Call, send
from tests.faults.target import Target
from tests.faults.traffic import Traffic

from tidegate.stores.rows.connections import reading_engine
from tidegate.stores.rows.tables import snapshots


def test_a_signal_ends_the_server_with_its_states_saved(tmp_path: Path) -> None:
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
