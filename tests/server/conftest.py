"""One server for the tests of the control plane; each test has a tenant of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.server.deciding import Deciding, Service, deciding
from tests.server.serving import Caller, Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A control plane on a real socket."""
    with serving(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture
def owned(served: Served) -> tuple[Caller, str]:
    """An Owner and the tenant that is theirs."""
    return served.owner()


@pytest.fixture
def owner(owned: tuple[Caller, str]) -> Caller:
    """The Owner of ``tenant``."""
    return owned[0]


@pytest.fixture
def tenant(owned: tuple[Caller, str]) -> str:
    """Path of a new tenant, below the prefix."""
    return f"tenants/{owned[1]}"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """The whole service, as a process of its own."""
    with deciding(tmp_path_factory.mktemp("deciding"), metrics_public="all") as made:
        yield made


@pytest.fixture
def shop(service: Service) -> Deciding:
    """A new tenant that decides."""
    return service.tenant()
