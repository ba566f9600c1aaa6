"""A whole service, and a tenant that challenges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser import browser
from tests.server.challenges.gate import Gate, gate_of
from tests.server.deciding import Service, deciding

__all__ = ["browser"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """A service of its own."""
    with deciding(tmp_path_factory.mktemp("challenges")) as found:
        yield found


@pytest.fixture(scope="module")
def gate(service: Service) -> Gate:
    """A tenant of it that challenges."""
    return gate_of(service)
