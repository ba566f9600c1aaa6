"""What settings name, looked at before a server starts."""

from __future__ import annotations

import attrs
import pytest

from tidegate.cli.service.usable import need_cover
from tidegate.config import ServerSettings
from tidegate.errors import SettingsError

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
