"""A whole service, a certified provider of OpenID Connect, and a real browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from playwright.sync_api import Browser
from tests.browser import Watched, browser
from tests.service.service_process import start, stop
from tools.console import npm_command

__all__ = ["browser"]
SOURCES = Path(__file__).parent / "provider"
EMAIL = "owner@example.test"
PASSWORD = "a password of eight words that nobody else has"


@attrs.frozen
class Place:
    """A running service, its log, and the issuer it knows."""

    base_url: str
    issuer: str
    log: Path


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, node: None) -> Path:
    """The provider, installed."""
    directory = tmp_path_factory.mktemp("provider") / "installed"
    shutil.copytree(SOURCES, directory, ignore=shutil.ignore_patterns("node_modules"))
    npm = npm_command()
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([*npm, "ci", *options], cwd=directory, check=True, env=_with_node(npm))
    return directory


def _with_node(npm: list[str]) -> dict[str, str]:
    """An environment in which the Node that belongs to npm comes first."""
    path = os.pathsep.join([str(Path(npm[0]).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path}


@pytest.fixture(scope="session")
def place(
    installed: Path, tmp_path_factory: pytest.TempPathFactory, process: None
) -> Iterator[Place]:
    """The service and the provider, which know each other."""
    directory = tmp_path_factory.mktemp("login")
    environment = _with_node(npm_command())
    node = shutil.which("node", path=environment["PATH"])
    assert node is not None
    with subprocess.Popen(
        [node, "provider.mjs"],
        cwd=installed,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=(directory / "provider.log").open("wb"),
        text=True,
    ) as provider:
        assert provider.stdin is not None
        assert provider.stdout is not None
        issuer = provider.stdout.readline().strip()
        process, place = _service(directory, issuer)
        provider.stdin.write(f"{place.base_url}/auth/company/callback\n")
        provider.stdin.flush()
        assert provider.stdout.readline().strip() == "ready"
        try:
            yield place
        finally:
            stop(process)
            provider.kill()


def _service(directory: Path, issuer: str) -> tuple[subprocess.Popen[bytes], Place]:
    """A service that knows an issuer, and an operator with a password."""
    data = str(directory / "data")
    command = [sys.executable, "-m", "tidegate", "operator", "create", EMAIL, "--password-stdin"]
    subprocess.run(
        [*command, "--name", "The owner", "--store-directory", data],
        input=f"{PASSWORD}\n",
        text=True,
        check=True,
        env={**os.environ, "HOME": str(directory)},
    )
    known = {
        "issuer": issuer,
        "client_id": "tidegate-test",
        "client_secret": "a secret of the client",
    }
    environment = {
        "TIDEGATE_LOGIN_PROVIDERS": json.dumps({"company": known}),
        "TIDEGATE_LOGIN_NEW_OPERATORS": "anyone",
        "TIDEGATE_CONSOLE_ENABLED": "false",
        "TIDEGATE_LOG_LEVEL": "debug",
    }
    log = directory / "log"
    process, said = start("--store-directory", data, log=log, environment=environment)
    return process, Place(said["base_url"], issuer, log)


@pytest.fixture
def visitor(browser: Browser, place: Place) -> Iterator[Watched]:
    """A page of somebody who is not logged in; the browser knows the provider."""
    context = browser.new_context(base_url=place.base_url)
    context.set_default_timeout(30_000)
    yield Watched.of(context, place.base_url)
    context.close()
