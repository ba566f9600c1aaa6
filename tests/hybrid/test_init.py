"""``tidegate init`` of a daemon: the key is tried, and no list of processes shows it."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result
from tests.hybrid.running import Service

from tidegate.cli.main import tidegate
from tidegate_server.daemon.home import load

AWAY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command makes."""
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TIDEGATE_API_KEY", raising=False)
    return tmp_path / "home"


def init(base: str, tenant_id: object, *more: str, **given: str) -> Result:
    """The command; ``key`` goes to standard input, ``variable`` into the environment."""
    environment = {"TIDEGATE_API_KEY": given["variable"]} if "variable" in given else {}
    return CliRunner().invoke(
        tidegate,
        ["init", "--json", "--api-base", base, "--tenant-id", str(tenant_id), *more],
        input=given.get("key"),
        env=environment,
    )


@pytest.mark.parametrize("way", ["key", "variable", "dash"])
def test_the_key_comes_from_standard_input_or_the_environment(
    origin: Service, folder: Path, way: str
) -> None:
    """No argument holds it, and the service has taken it."""
    said = origin.said
    key = said["sync_api_key"]
    more, given = ((), {way: f"{key}\n"}) if way != "dash" else (("--api-key", "-"), {"key": key})
    done = init(said["base_url"], said["tenant_id"], *more, **given)
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)["service_reached"] is True
    made = load(folder)
    assert made.api_key == key
    assert made.public_key


def test_a_key_among_the_arguments_is_taken_with_a_warning(origin: Service, folder: Path) -> None:
    """The warning names the other ways, and not the key."""
    said = origin.said
    done = init(said["base_url"], said["tenant_id"], "--api-key", said["sync_api_key"])
    assert done.exit_code == 0
    assert "TIDEGATE_API_KEY" in done.stderr
    assert said["sync_api_key"] not in done.output
    assert load(folder).api_key == said["sync_api_key"]


@pytest.mark.parametrize(
    ("key", "tenant", "reason"),
    [
        ("tg_none_none", None, "401"),
        ("api_key", None, "sync-not-permitted"),
        ("sync_api_key", uuid4(), "is of the tenant"),
    ],
)
def test_what_the_service_refuses_makes_no_folder(
    origin: Service, folder: Path, key: str, tenant: object, reason: str
) -> None:
    """A wrong key, one that may not sync, and another tenant are refused; nothing is written."""
    said = origin.said
    done = init(said["base_url"], tenant or said["tenant_id"], key=said.get(key, key))
    assert done.exit_code == 1
    assert reason in str(done.exception)
    assert not folder.exists()


def test_a_service_that_is_away_is_said(folder: Path) -> None:
    """The folder is made, so that a machine can be prepared, with a warning."""
    done = init(AWAY, uuid4(), key="a-key")
    assert done.exit_code == 0
    assert "could not be tried" in done.stderr
    assert json.loads(done.stdout)["service_reached"] is False
    assert load(folder).public_key == ""


@pytest.mark.parametrize("key", ["", "\n", "two words\n"])
def test_a_key_that_is_none_makes_no_folder(folder: Path, key: str) -> None:
    """An empty standard input and a malformed key are refused."""
    done = init(AWAY, uuid4(), key=key)
    assert done.exit_code == 2
    assert not folder.exists()
