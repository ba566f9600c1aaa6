"""``tidegate migrate``."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from tidegate.cli.main import tidegate
from tidegate_server.stores.sqlite import SqliteStore


def test_a_database_is_made_and_left_alone_the_second_time(tmp_path: Path) -> None:
    """The command makes what the service needs, and can be run whenever one likes."""
    arguments = ["migrate", "--store-directory", str(tmp_path / "data"), "--json"]
    first = CliRunner().invoke(tidegate, arguments)
    second = CliRunner().invoke(tidegate, arguments)
    assert (first.exit_code, second.exit_code) == (0, 0), first.output
    assert json.loads(first.output) == json.loads(second.output)
    SqliteStore(f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}").close()
