"""A server with an issuer, and another issuer."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from tests.server.login.browsing import Browser
from tests.server.login.issuer import CLIENT_ID, SECRET, Issuer, issuing
from tests.server.serving import Served, serving

from tidegate_server.login.logins import Logins
from tidegate_server.operators.providers import Provider


def provider(issuer: Issuer, name: str) -> Provider:
    """An issuer as the settings name it."""
    return Provider(
        name=name,
        issuer=issuer.origin,
        client_id=CLIENT_ID,
        client_secret=SECRET,
        display_name=name.title(),
    )


@attrs.frozen
class Place:
    """A server, and the issuers it knows."""

    served: Served
    issuer: Issuer
    other: Issuer

    def forget(self) -> None:
        """Let the issuers do everything right, and the server know nothing of them."""
        for each in (self.issuer, self.other):
            each.reset()
        self.served.application.logins.prepare()


@pytest.fixture(scope="package")
def whole_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The server and its issuers."""
    with issuing() as issuer, issuing() as other:
        logins = Logins([provider(issuer, "company"), provider(other, "other")], anyone=True)
        with serving(tmp_path_factory.mktemp("login"), logins) as served:
            yield Place(served, issuer, other)


@pytest.fixture
def place(whole_place: Place) -> Place:
    """The server and its issuers, as after a start."""
    whole_place.forget()
    return whole_place


@pytest.fixture
def visitor(place: Place) -> Browser:
    """A browser that has been nowhere yet."""
    return Browser(place.served)
