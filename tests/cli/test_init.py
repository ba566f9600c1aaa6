"""``tidegate init --server``, and what an empty directory says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.serving import serving

from tidegate_server.cli.service import signing_in
from tidegate_server.cli.tenants.init import Made, next_steps
from tidegate_server.settings.service import ServerSettings
from tidegate_server.settings.whole import Settings


def tidegate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_one_command_makes_all_that_a_first_server_needs(tmp_path: Path, process: None) -> None:
    """Operator, tenant, key and a policy that only watches; a second time is refused."""
    directory = tmp_path / "data"
    command = [
        "init", "--server", "--email", "me@example.test", "--tenant", "My Shop", "--no-password",
        "--store-directory", str(directory), "--json",
    ]  # fmt: skip
    done = tidegate(*command)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["tenant"] == "my-shop"
    assert made["api_key"].startswith("tg_")
    again = tidegate(*command)
    assert again.returncode == 2
    assert "is in use already" in again.stderr
    token = tidegate("operator", "token", "me@example.test", "--store-directory", str(directory))
    headers = {"authorization": f"Bearer {token.stdout.strip()}"}
    with serving(directory) as served:
        path = f"/api/v1/tenants/{made['tenant_id']}"
        (policy,) = served.http.get(f"{path}/policies", headers=headers).json()
        assert policy["status"] == "active"
        assert [each["mitigation_id"] for each in policy["clauses"]] == [None]
        (key,) = served.http.get(f"{path}/api-keys", headers=headers).json()
        assert made["api_key"].startswith(f"tg_{key['prefix']}_")


@pytest.mark.parametrize(("port", "is_named"), [(8080, False), (8099, True)])
def test_the_next_steps_name_an_address_that_is_not_the_usual_one(
    port: int, is_named: bool
) -> None:
    """The commands that change definitions would ask another server otherwise."""
    made = Made("data", "me@example.test", True, "my-shop", "an id", "a key")
    said = next_steps(made, Settings(server=ServerSettings(port=port)))
    assert (f"  export TIDEGATE_URL=http://127.0.0.1:{port}\n" in said) == is_named


def test_a_server_of_an_empty_directory_says_what_to_do_next(tmp_path: Path, process: None) -> None:
    """The commands are printed with the address it serves on."""
    command = [
        *(sys.executable, "-m", "tidegate", "serve", "--json", "--port", "0"),
        *("--store-directory", str(tmp_path / "data")),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["base_url"]
        process.terminate()
        _, stderr = process.communicate(timeout=60)
    assert f"export TIDEGATE_URL={url}" in stderr
    assert "tidegate tenant create NAME" in stderr
    assert "tidegate init --server" in stderr


@pytest.mark.parametrize(
    ("has_password", "settings", "expected"),
    [
        (True, Settings(), "http://127.0.0.1:8080/console/"),
        (
            False,
            Settings(server=ServerSettings(public_url="https://gate.example/")),
            "https://gate.example/console/",
        ),
    ],
)
def test_the_next_steps_say_where_the_console_is_and_how_to_log_in(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    has_password: bool,
    settings: Settings,
    expected: str,
) -> None:
    """Its address is the public one; an operator without a password is told how to set one."""
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(signing_in, "built", lambda: tmp_path)
    made = Made("data", "me@example.test", has_password, "my-shop", "an id", "a key")
    said = next_steps(made, settings)
    assert f"  {expected}\n" in said
    assert "log in to the console as me@example.test" in said
    assert ("tidegate operator password me@example.test" in said) != has_password


def test_a_site_that_is_not_an_origin_makes_nothing(tmp_path: Path, process: None) -> None:
    """A misspelt site would take visitors nowhere after their challenge."""
    done = tidegate(
        "init", "--server", "--email", "me@example.test", "--tenant", "T", "--no-password",
        "--site", "https://shop.example/start", "--store-directory", str(tmp_path / "data"),
    )  # fmt: skip
    assert done.returncode == 2
    assert "not an origin" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("email", ["nobody", "a@b@c"])
def test_a_wrong_address_makes_nothing(tmp_path: Path, email: str, process: None) -> None:
    """A wrong call leaves no directory behind."""
    done = tidegate(
        "init", "--server", "--email", email, "--tenant", "T", "--no-password",
        "--store-directory", str(tmp_path / "data"),
    )  # fmt: skip
    assert done.returncode == 2
    assert not (tmp_path / "data").exists()
