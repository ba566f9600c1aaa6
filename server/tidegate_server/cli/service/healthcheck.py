"""``tidegate healthcheck``: whether a server can decide, as an exit code."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
from urllib.parse import urlsplit

import click

from tidegate.cli.output import console, errors
from tidegate_server.cli.service.settings import SettingsCommand, settings_options
from tidegate_server.settings.service import ServerSettings
from tidegate_server.settings.whole import Settings


@click.command(cls=SettingsCommand)
@settings_options
@click.option("--url", default="", help="Address of the server; by default where it would listen.")
@click.option(
    "--timeout",
    default=5.0,
    type=click.FloatRange(min=0.1, max=600),
    show_default=True,
    help="Seconds to wait for the answer.",
)
@click.option("--live", is_flag=True, help="Ask only whether the process answers.")
def healthcheck(settings: Settings, url: str, timeout: float, live: bool) -> None:
    """Exit with 0 when the server can decide, with 1 when it cannot or does not answer."""
    path = "/healthz" if live else "/readyz"
    try:
        connection = _connection(settings.server, url, timeout)
        connection.request("GET", path)
        response = connection.getresponse()
        document = json.loads(response.read(65_536))
    except (OSError, http.client.HTTPException, ValueError) as error:
        errors.print(f"no answer: {error}", style="red", markup=False)
        sys.exit(1)
    if response.status != http.HTTPStatus.OK:
        errors.print(document.get("detail", response.reason), style="red", markup=False)
        sys.exit(1)
    console.print(document["status"], markup=False)


def _connection(settings: ServerSettings, url: str, timeout: float) -> http.client.HTTPConnection:
    if settings.unix_socket and not url:
        return _UnixConnection(settings.unix_socket, timeout)
    parts = urlsplit(url or _listening(settings))
    if parts.hostname is None or parts.scheme not in ("http", "https"):
        raise click.UsageError("the address must be like http://127.0.0.1:8080")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    trust = ssl.create_default_context()
    if not url:
        # Requested by its address, the server presents a certificate for a name: it must be this
        # one.
        trust = ssl.create_default_context(cafile=settings.tls_certificate)
        trust.check_hostname = False
        trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=trust)


def _listening(settings: ServerSettings) -> str:
    """The address of a server with these settings, for a client on the same machine."""
    scheme = "https" if settings.tls_certificate else "http"
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound here
    host = everywhere.get(settings.host, settings.host)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{settings.port}"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
