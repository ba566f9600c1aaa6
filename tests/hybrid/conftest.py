"""The service that daemons of these tests follow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.hybrid.running import Service, service


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """A service with the demonstration's tenant."""
    with service(tmp_path_factory.mktemp("origin")) as made:
        yield made
