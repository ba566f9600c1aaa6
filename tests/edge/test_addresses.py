"""Who sent a request, by what trusted proxies say."""

from __future__ import annotations

import pytest

from tidegate.edge.addresses import TrustedProxies

PROXIES = ("10.0.0.0/8", "2001:db8::/32", "unix")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.7", "203.0.113.9,10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, unknown, 10.0.0.2"], ""),
        ("10.0.0.1", ["198.51.100.7, unknown"], ""),
        ("10.0.0.1", ["10.0.0.3"], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("2001:db8::1", ["2001:DB9::A"], "2001:db9::a"),
        ("", ["203.0.113.9"], "203.0.113.9"),
        ("testclient", ["203.0.113.9"], "testclient"),
    ],
)
def test_the_rightmost_address_that_is_no_proxy_is_the_client(
    peer: str, forwarded: list[str], client: str
) -> None:
    """What stands left of it, or of text that is no address, the client may have made up."""
    assert TrustedProxies.of(PROXIES).client(peer, forwarded) == client


def test_nobody_is_trusted_by_default() -> None:
    """By default neither the machine itself nor a Unix socket is trusted."""
    nobody = TrustedProxies.of(())
    assert nobody.client("127.0.0.1", ["203.0.113.9"]) == "127.0.0.1"
    assert nobody.client("", ["203.0.113.9"]) == ""
