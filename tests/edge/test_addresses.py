"""The client of a request, by what trusted proxies say."""

from __future__ import annotations

import pytest

from tidegate.edge.addresses import TrustedProxies, caller_of

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
    """Addresses left of it, or of text that isn't an address, may be made up by the client."""
    assert TrustedProxies.of(PROXIES).client(peer, forwarded) == client


def test_nobody_is_trusted_by_default() -> None:
    """By default neither the machine itself nor a Unix socket is trusted."""
    nobody = TrustedProxies.of(())
    assert nobody.client("127.0.0.1", ["203.0.113.9"]) == "127.0.0.1"
    assert nobody.client("", ["203.0.113.9"]) == ""


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        (["for=203.0.113.9"], "203.0.113.9"),
        (["For=203.0.113.9;proto=https;by=10.0.0.2, for=10.0.0.2"], "203.0.113.9"),
        (['proto=http;for="203.0.113.9:4711" ; host="a,b;c=\\"d"'], "203.0.113.9"),
        (['for="[2001:DB9::A]:4711"', "for=10.0.0.3"], "2001:db9::a"),
        (['for="[2001:db9::a]"'], "2001:db9::a"),
        (["for=198.51.100.7, for=unknown"], ""),
        (["for=198.51.100.7, for=_hidden"], ""),
        (["for=198.51.100.7, by=10.0.0.2"], ""),
        (['for=198.51.100.7, for="203.0.113.9'], ""),
        (["for=198.51.100.7, nonsense"], ""),
        (["for=198.51.100.7,"], ""),
        (["for=10.0.0.9"], "10.0.0.1"),
        ([""], ""),
    ],
)
def test_a_forwarded_header_names_the_client(forwarded: list[str], client: str) -> None:
    """RFC 7239 is read as `x-forwarded-for` is: from the right, up to what isn't a proxy."""
    assert TrustedProxies.of(PROXIES).client("10.0.0.1", [], forwarded) == client
    assert TrustedProxies.of(PROXIES).client("192.0.2.1", [], forwarded) == "192.0.2.1"


def test_a_header_that_the_proxy_passed_on_names_nobody() -> None:
    """Where both headers are there, only a client that both name is believed."""
    client = TrustedProxies.of(PROXIES).client
    assert client("10.0.0.1", ["203.0.113.9"], ["for=203.0.113.9"]) == "203.0.113.9"
    assert client("10.0.0.1", ["203.0.113.9"], ["for=198.51.100.7"]) == ""
    assert client("10.0.0.1", ["203.0.113.9"], ["for=unknown"]) == ""


@pytest.mark.parametrize(
    ("entry", "client"),
    [
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db9::a]:4711", "2001:db9::a"),
        ("[2001:db9::a]", "2001:db9::a"),
        ("203.0.113.9:", ""),
        ("203.0.113.9:x", ""),
        ("[203.0.113.9", ""),
        ("[]", ""),
    ],
)
def test_an_entry_may_have_a_port(entry: str, client: str) -> None:
    """Some proxies write the port of the client as well."""
    assert TrustedProxies.of(PROXIES).client("10.0.0.1", [entry]) == client


@pytest.mark.parametrize(
    ("address", "caller"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2::9", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_network_of_64_bits_is_one_caller(address: str, caller: str) -> None:
    """An IPv4 address is a caller, and so is an IPv6 network of 64 bits."""
    assert caller_of(address) == caller
