"""An address that visitors' browsers can be sent to."""

from __future__ import annotations

import pytest

from tidegate_server.challenge.public_url import unreachable


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://127.0.0.1:8080",
        "https://127.0.0.1",
        "https://[::1]:8443",
        "https://10.1.2.3",
        "https://192.168.0.5",
        "https://169.254.1.1",
        "https://[fd00::1]",
        "https://0.0.0.0",
        "https://localhost",
        "https://gate",
        "https://gate.local",
        "https://gate.cluster.internal",
        "http://gate.example.com",
    ],
)
def test_an_address_of_this_place_is_not_one(url: str) -> None:
    """Loopback, private networks, names without a domain and plain http are said to be so."""
    assert unreachable(url) is not None


@pytest.mark.parametrize("url", ["https://gate.example.com", "https://gate.example.com:8443/x"])
def test_a_public_name_with_tls_is_one(url: str) -> None:
    """Nothing more can be known from here."""
    assert unreachable(url) is None
