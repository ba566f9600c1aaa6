"""Fixtures that say which programs a test starts; its tier follows from them.

A test, or a fixture that it uses, asks for the fixture of each kind of program that it starts.
Some folders have a fixture of the same name that starts the program too.
"""

from __future__ import annotations

import pytest
from tests.tiers.programs import missing


def _need(fixture: str) -> None:
    for program, package in missing([fixture]):
        pytest.fail(f"{program} is not on this machine: install {package}", pytrace=False)


@pytest.fixture(scope="session")
def process() -> None:
    """The test starts programs of this environment: Python, Tidegate, what pip installed."""


@pytest.fixture(scope="session")
def smoke(process: None) -> None:
    """The test is one of the few of a bare machine that start processes."""


@pytest.fixture(scope="session")
def postgresql() -> None:
    """The test starts PostgreSQL."""
    _need("postgresql")


@pytest.fixture(scope="session")
def proxy() -> None:
    """The test starts nginx, Caddy or Envoy."""
    _need("proxy")


@pytest.fixture(scope="session")
def broker() -> None:
    """The test starts a NATS server."""
    _need("broker")


@pytest.fixture(scope="session")
def namespace() -> None:
    """The test makes network namespaces and tables of nftables, as root."""
    _need("namespace")


@pytest.fixture(scope="session")
def node() -> None:
    """The test runs Node."""
    _need("node")


@pytest.fixture(scope="session")
def editor() -> None:
    """The test runs Neovim."""
    _need("editor")
