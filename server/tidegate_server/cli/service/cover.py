"""Checks before the start that no secrets cross a network unencrypted."""

from __future__ import annotations

import socket
import ssl
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate_server.cli.service.settings import unusable

if TYPE_CHECKING:
    from tidegate_server.settings.hybrid import DaemonSettings
    from tidegate_server.settings.service import ServerSettings


def need_tls(server: ServerSettings | DaemonSettings, group: str = "server") -> None:
    """Check that certificate and key exist, can be read and belong together.

    Args:
        server: the settings that name them.
        group: the settings group.

    Raises:
        SettingsError: they cannot be used.
    """
    certificate, key = f"{group}.tls_certificate", f"{group}.tls_key"
    files = {certificate: server.tls_certificate, key: server.tls_key}
    if not any(files.values()):
        return
    for setting, value in files.items():
        if not value:
            (other,) = (each for each in files if each != setting)
            raise unusable(setting, value, f"it is needed beside `{other}`")
        try:
            with Path(value).open("rb"):
                pass
        except OSError as error:
            raise unusable(setting, value, f"it cannot be read: {error.strerror}") from None
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Without a callback OpenSSL would ask for a password on the terminal.
        context.load_cert_chain(server.tls_certificate, server.tls_key, password=lambda: "")
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        if reason == "KEY_VALUES_MISMATCH":
            raise unusable(key, server.tls_key, "it is not the key of the certificate") from None
        raise unusable(
            certificate,
            server.tls_certificate,
            f"it and its key are no certificate chain and plain private key in PEM ({reason})",
        ) from None


def need_cover(server: ServerSettings) -> None:
    """Check that keys and tokens don't cross a network unencrypted.

    Raises:
        SettingsError: other machines would reach it over plain HTTP.
    """
    is_covered = server.tls_certificate or server.unix_socket or server.behind_proxy
    if is_covered or _is_loopback(server.host):
        return
    raise unusable(
        "server.host",
        server.host,
        "other machines reach this address, and plain HTTP would show them keys and tokens; give"
        " `server.tls_certificate` and `server.tls_key`, or set `server.behind_proxy` when a proxy"
        " with TLS is in front",
    )


def need_private_daemon(daemon: DaemonSettings) -> None:
    """Check that other machines reach a daemon only with a token and over TLS.

    Raises:
        SettingsError: they could do without, or the TLS settings are invalid.
    """
    need_tls(daemon, "daemon")
    if not daemon.token.isascii() or not daemon.token.isprintable() or " " in daemon.token:
        raise unusable("daemon.token", None, "it must be visible ASCII characters")
    if daemon.unix_socket or _is_loopback(daemon.host):
        return
    if not (daemon.tls_certificate and daemon.token):
        raise unusable(
            "daemon.host",
            daemon.host,
            "other machines reach this address, and could ask and fill the daemon; give"
            " `daemon.tls_certificate`, `daemon.tls_key` and `daemon.token`",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None) if host else []
    except OSError:
        return False
    return bool(found) and all(ip_address(str(each[4][0])).is_loopback for each in found)
