"""One service, one tenant, and each integration in front of a site of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.integrations.edges import COMMANDS, Edge, running
from tests.server.deciding import Deciding, Service, deciding

DEFINITIONS = {
    "apiVersion": "tidegate/v1",
    # By path too: all tests come from one address, and a loop of challenges is broken by entity.
    "entities": [{"name": "Visit", "key_fields": ["request.client_ip", "request.path"]}],
    "mitigations": [
        {
            "name": "Refuse",
            "mode": "Block",
            "ttl_seconds": 0,
            "block": {
                "status_code": 451,
                "body": '{"no": "not here"}',
                "headers": {"content-type": "application/json", "x-why": "the law"},
            },
        },
        {"name": "Away", "mode": "Block", "ttl_seconds": 0, "block": {"status_code": 503}},
        {"name": "Prove", "mode": "Challenge", "ttl_seconds": 0},
    ],
    "policies": [
        {
            "name": "Law",
            "expression": 'request.path.startsWith("/blocked")',
            "clauses": [{"name": "any", "mitigation": "refuse"}],
        },
        {
            "name": "Closed",
            "expression": 'request.path.startsWith("/closed")',
            "clauses": [{"name": "any", "mitigation": "away"}],
        },
        {
            "name": "Gate",
            "expression": 'request.path.startsWith("/challenged")',
            "clauses": [{"name": "any", "mitigation": "prove"}],
        },
    ],
}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """The whole service, as a process of its own."""
    with deciding(tmp_path_factory.mktemp("integrations")) as made:
        yield made


@pytest.fixture(scope="session")
def shop(service: Service) -> Deciding:
    """A tenant with a block and a challenge."""
    return service.tenant(DEFINITIONS)


class Edges:
    """Integrations, each started when it is first asked for."""

    def __init__(
        self, stack: ExitStack, shop: Deciding, directories: pytest.TempPathFactory
    ) -> None:
        self._stack, self._shop, self._directories = stack, shop, directories
        self._running: dict[str, Edge] = {}

    def of(self, name: str) -> Edge:
        """The one of a name."""
        if name not in self._running:
            directory = self._directories.mktemp(name)
            made = running(name, self._shop.service.base_url, self._shop.key, directory)
            self._running[name] = self._stack.enter_context(made)
        return self._running[name]


@pytest.fixture(scope="session")
def edges(
    shop: Deciding, tmp_path_factory: pytest.TempPathFactory, proxy: None, node: None
) -> Iterator[Edges]:
    """All integrations, in front of the tenant's site."""
    with ExitStack() as stack:
        yield Edges(stack, shop, tmp_path_factory)


@pytest.fixture(params=list(COMMANDS))
def edge(request: pytest.FixtureRequest, edges: Edges) -> Edge:
    """One body, every integration."""
    return edges.of(request.param)
