"""Commands that look clients up in address databases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.address_databases import write

from tidegate.cli.main import tidegate

DEFINITIONS = """\
apiVersion: tidegate/v1
mitigations: [{name: Refuse, mode: Block, ttl_seconds: 0}]
policies:
  - name: Countries
    expression: derived.country == "NL"
    clauses: [{name: any, mitigation: refuse}]
"""
EVENT = {"request": {"path": "/", "client_ip": "192.0.2.7"}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Paths of definitions and of one event."""
    definitions, events = tmp_path / "definitions.yaml", tmp_path / "events.jsonl"
    definitions.write_text(DEFINITIONS)
    events.write_text(json.dumps(EVENT) + "\n")
    return str(definitions), str(events)


@pytest.mark.parametrize("evaluator", ["native", "reference"])
@pytest.mark.parametrize("command", ["decide", "explain"])
def test_a_command_looks_clients_up(
    tmp_path: Path, files: tuple[str, str], command: str, evaluator: str
) -> None:
    """The database decides, by either evaluator; without it the country is empty."""
    database = str(write(tmp_path / "country.mmdb"))
    asked = [command, *files, "--json", "--evaluator", evaluator]
    found = CliRunner().invoke(tidegate, [*asked, "--geo", database])
    assert found.exit_code == 0, found.output
    assert '"block"' in found.output
    assert '"block"' not in CliRunner().invoke(tidegate, asked).output


def test_a_pack_is_tried_with_a_database(tmp_path: Path, files: tuple[str, str]) -> None:
    """`tidegate try` takes the option too."""
    database = str(write(tmp_path / "country.mmdb"))
    found = CliRunner().invoke(tidegate, ["try", files[1], "--geo", database])
    assert found.exit_code == 0, found.output


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_file_that_is_no_database_is_refused(
    tmp_path: Path, files: tuple[str, str], content: bytes
) -> None:
    """The message names the option and the reason."""
    path = tmp_path / "country.mmdb"
    path.write_bytes(content)
    found = CliRunner().invoke(tidegate, ["decide", *files, "--geo", str(path)])
    assert found.exit_code == 2
    assert "--geo" in found.output
    assert "not an address database" in found.output


def test_a_database_of_something_else_is_refused(tmp_path: Path, files: tuple[str, str]) -> None:
    """It would give no field, silently."""
    entries = {"192.0.2.0/24": {"connection_type": "Cellular"}}
    path = write(tmp_path / "other.mmdb", entries, kind="GeoIP2-Connection-Type")
    found = CliRunner().invoke(tidegate, ["decide", *files, "--geo", str(path)])
    assert found.exit_code == 2
    assert "neither countries nor" in found.output
