"""A daemon that other machines reach is private."""

from __future__ import annotations

import attrs
import pytest

from tidegate.errors import SettingsError
from tidegate_server.cli.service.cover import need_private_daemon
from tidegate_server.settings.hybrid import DaemonSettings

OPEN = DaemonSettings(host="0.0.0.0")
TOKEN = "a-token"
FILES = {"tls_certificate": "c.pem", "tls_key": "k.pem"}


@pytest.mark.parametrize("given", [{}, {"token": TOKEN}, FILES], ids=["nothing", "token", "tls"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "nobody.invalid", ""])
def test_it_needs_tls_and_a_token(
    host: str, given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two is not enough, on any address that isn't this machine's loopback."""
    monkeypatch.setattr("tidegate_server.cli.service.cover.need_tls", lambda *_: None)
    with pytest.raises(SettingsError, match=r"daemon\.token"):
        need_private_daemon(attrs.evolve(OPEN, host=host, **given))
    need_private_daemon(attrs.evolve(OPEN, host=host, token=TOKEN, **FILES))


def test_its_certificate_is_looked_at() -> None:
    """The message names the settings of the daemon."""
    with pytest.raises(SettingsError, match=r"daemon\.tls_certificate"):
        need_private_daemon(attrs.evolve(OPEN, token=TOKEN, **FILES))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_on_loopback_or_a_socket_it_needs_neither(host: str) -> None:
    """Only this machine reaches it there."""
    need_private_daemon(DaemonSettings(host=host))
    need_private_daemon(attrs.evolve(OPEN, unix_socket="/run/tidegate/daemon.sock"))


@pytest.mark.parametrize("token", ["a b", "é", "a\nb"])
def test_a_token_that_no_header_holds_is_refused(token: str) -> None:
    """And it is not shown."""
    with pytest.raises(SettingsError) as raised:
        need_private_daemon(DaemonSettings(token=token))
    assert token not in str(raised.value)
