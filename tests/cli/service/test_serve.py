"""``tidegate serve``, as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner
from tools import plain_http

from tidegate.cli.main import tidegate
from tidegate.errors import SettingsError
from tidegate_server.cli.service import signing_in
from tidegate_server.cli.service.serve import invitation
from tidegate_server.cli.service.signing_in import console_lines
from tidegate_server.demo import Demo
from tidegate_server.settings.operators import LoginSettings
from tidegate_server.settings.service import ConsoleSettings, ServerSettings
from tidegate_server.settings.whole import Settings


@pytest.mark.parametrize("workers", [1, 2])
def test_the_demonstration_decides(workers: int, process: None) -> None:
    """The call that it prints is answered, whether one process serves or several do."""
    serve = [sys.executable, "-m", "tidegate", "serve", "--demo", "--json", "--server-port", "0"]
    command = [*serve, "--server-workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            printed = json.loads(process.stdout.readline())
            answer = plain_http.post(
                f"{printed['base_url']}/api/v1/runtime/mitigation",
                json={"request": {"path": "/", "client_ip": "192.0.2.7"}},
                headers={"x-service-api-key": printed["api_key"]},
                timeout=30,
            )
        finally:
            process.terminate()
    assert answer.status_code == 200, answer.text
    assert answer.json()["action"]["type"] == "allow"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--no-demo-traffic",), "need --demo"),
        (("--demo-traffic",), "need --demo"),
        (("--demo", "--store-directory", "data"), "store.directory"),
        (("--demo", "--store-url", "postgresql://me:secret@db/tidegate"), "store.url"),
        (("--demo", "--node-name", "a"), "node.name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_option_that_would_do_nothing_is_refused(
    arguments: tuple[str, ...], expected: str
) -> None:
    """A demonstration has its own directory, and nothing else has generated traffic."""
    done = CliRunner().invoke(tidegate, ["serve", *arguments])
    assert isinstance(done.exception, SettingsError | SystemExit)
    said = f"{done.output}{done.exception}"
    assert expected in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), ["http://127.0.0.1:8080/console/", "`tidegate operator password EMAIL`"]),
        (
            Settings(login=LoginSettings(local=False, providers='{"github": {}}')),
            ["log in   at an identity provider"],
        ),
        (Settings(console=ConsoleSettings(enabled=False)), ["turned off (console.enabled)"]),
        (Settings(server=ServerSettings(unix_socket="/run/a")), ["server.public_url"]),
    ],
)
def test_a_server_says_where_its_console_is_and_how_to_log_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Settings, expected: list[str]
) -> None:
    """The start names the console's address, or says why the console is missing."""
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(signing_in, "built", lambda: tmp_path)
    said = "\n".join(console_lines(settings, "http://127.0.0.1:8080"))
    for text in expected:
        assert text in said


def test_the_demonstration_leads_to_a_console_only_where_one_is_built() -> None:
    """Without a console the printed lines say how to build one, and have no link to nothing."""
    demo = Demo(
        base_url="http://127.0.0.1:8080",
        tenant_id="t",
        api_key="k",
        sync_api_key="s",
        owner_token="o",
    )
    assert "/console/#access_token=o" in invitation(
        demo, console_page="http://127.0.0.1:8080/console/"
    )
    said = invitation(demo, console_page=None)
    assert "/console/" not in said
    assert "make console" in said


def test_the_demonstration_says_whether_its_traffic_is_generated() -> None:
    """One line says that traffic is generated and how to leave it out, or that none is sent."""
    demo = Demo("http://127.0.0.1:8080", "t", "k", "s", "o", traffic_api_key="g")
    assert "generated, with attacks in it" in invitation(demo, console_page=None)
    assert "--no-demo-traffic" in invitation(demo, console_page=None)
    quiet = attrs.evolve(demo, traffic_api_key="")
    assert "only the events that you send" in invitation(quiet, console_page=None)
