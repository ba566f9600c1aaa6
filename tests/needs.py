"""Fixtures that say which programs a test starts; its tier follows from them.

A test, or a fixture that it uses, asks for the fixture of each kind of program that it starts.
`browser` and `postgresql` are started by their fixtures; the others are started by the test.
"""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def process() -> None:
    """The test starts programs of this environment: Python, Tidegate, what pip installed."""


@pytest.fixture(scope="session")
def proxy() -> None:
    """The test starts nginx, Caddy or Envoy."""


@pytest.fixture(scope="session")
def broker() -> None:
    """The test starts a NATS server."""


@pytest.fixture(scope="session")
def namespace() -> None:
    """The test makes network namespaces and tables of nftables, as root."""


@pytest.fixture(scope="session")
def node() -> None:
    """The test runs Node."""
