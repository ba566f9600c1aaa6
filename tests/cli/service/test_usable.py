"""Checks of what the settings name, before a server starts."""

from __future__ import annotations

import attrs
import pytest

from tidegate.errors import SettingsError
from tidegate_server.cli.service.cover import need_cover
from tidegate_server.cli.service.usable import need_database
from tidegate_server.settings.service import ServerSettings
from tidegate_server.settings.store import StoreSettings
from tidegate_server.settings.whole import Settings

OPEN = ServerSettings(host="0.0.0.0")


def test_a_proxy_in_front_tls_or_a_socket_covers_any_address() -> None:
    """Each of the three says how keys and tokens are kept from the network."""
    with pytest.raises(SettingsError):
        need_cover(OPEN)
    need_cover(attrs.evolve(OPEN, behind_proxy=True))
    need_cover(attrs.evolve(OPEN, tls_certificate="c.pem", tls_key="k.pem"))
    need_cover(attrs.evolve(OPEN, unix_socket="/run/tidegate.sock"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_a_loopback_address_needs_no_cover(host: str) -> None:
    """A loopback address needs no TLS, because only this machine reaches it."""
    need_cover(ServerSettings(host=host))


def test_several_partitions_are_for_postgresql() -> None:
    """On SQLite there are as many as server workers."""
    with pytest.raises(SettingsError, match=r"as many as `server\.workers`"):
        need_database(Settings(store=StoreSettings(partitions=2)))
    need_database(Settings(store=StoreSettings(url="postgresql://db/shop", partitions=2)))


@pytest.mark.parametrize(
    "store",
    [
        StoreSettings(url="mysql://ann:s3cret@db/shop"),
        StoreSettings(url="sqlite:////s3cret/tidegate.db"),
        StoreSettings(url="postgresql://ann:s3cret@db/shop", durability="relaxed"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused_without_its_address(
    store: StoreSettings,
) -> None:
    """Only PostgreSQL is elsewhere, and only with durable answers; no password is shown."""
    with pytest.raises(SettingsError) as raised:
        need_database(Settings(store=store))
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(store)
    need_database(Settings(store=StoreSettings(url="postgresql://ann@db/shop")))
