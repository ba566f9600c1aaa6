"""This machine's daemon, as other commands of the same folder query it."""

from __future__ import annotations

import json
import socket
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import attrs

if TYPE_CHECKING:
    from uuid import UUID

    from tidegate_server.daemon.home import Home
    from tidegate_server.settings.hybrid import DaemonSettings

SECONDS = 5.0
MAX_BYTES = 256 * 1024 * 1024
KEY_HEADER = "x-service-api-key"
LOCAL_KEY = "local"
"""Sent if the daemon has no token and accepts any."""


@attrs.frozen
class LocalDaemon:
    """Queries the daemon.

    Args:
        settings: the daemon's settings.
        tenant_id: the tenant whose daemon it must be.
    """

    settings: DaemonSettings
    tenant_id: UUID

    @classmethod
    def of(cls, home: Home, settings: DaemonSettings) -> LocalDaemon:
        """The daemon of a folder, at the address where it runs.

        Args:
            home: the folder.
            settings: have the token, and the address if the folder has none.
        """
        if not home.address:
            return cls(settings, home.tenant_id)
        where = urlsplit(home.address)
        is_socket = where.scheme == "unix"
        own = attrs.evolve(
            settings,
            host=where.hostname or "",
            port=where.port or 0,
            unix_socket=unquote(where.path) if is_socket else "",
            tls_certificate=unquote(home.certificate),
        )
        return cls(own, home.tenant_id)

    @property
    def host(self) -> str:
        """The address by which this machine reaches the daemon."""
        host = self.settings.host
        try:
            is_any = ip_address(host).is_unspecified
        except ValueError:
            is_any = False
        if not is_any:
            return host
        return "::1" if ":" in host else "127.0.0.1"

    @property
    def shown(self) -> str:
        """Where the daemon is asked, for messages."""
        if self.settings.unix_socket:
            return f"the Unix socket {self.settings.unix_socket}"
        return f"{self.host} port {self.settings.port}"

    @property
    def base_url(self) -> str:
        """The address for plain HTTP clients; empty if the daemon has none."""
        if self.settings.unix_socket or self.settings.tls_certificate or not self.settings.port:
            return ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.settings.port}"

    def status(self) -> dict[str, Any] | None:
        """The daemon's status; None if it doesn't respond, or belongs to another tenant."""
        found = self._get("/status")
        is_ours = isinstance(found, dict) and found.get("tenant_id") == str(self.tenant_id)
        return found if is_ours else None

    def mitigations(self) -> tuple[dict[str, Any], bytes] | None:
        """The daemon's definitions and active mitigations; None without a response.

        Returns:
            A document, and the effects that set the mitigations (docs/decision.md, "Effects").
        """
        found = self._get("/mitigations")
        if not isinstance(found, dict) or found.get("tenant_id") != str(self.tenant_id):
            return None
        return found["document"], json.dumps(found["effects"]).encode()

    def _get(self, path: str) -> Any:
        connection = self._connection()
        try:
            connection.request("GET", path, headers={KEY_HEADER: self.settings.token or LOCAL_KEY})
            answer = connection.getresponse()
            body = answer.read(MAX_BYTES)
            return json.loads(body) if answer.status == 200 else None
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        own = self.settings
        if own.unix_socket:
            return _UnixConnection(own.unix_socket)
        if not own.tls_certificate:
            return HTTPConnection(self.host, own.port, timeout=SECONDS)
        # The daemon's own certificate is trusted, under whatever name it is reached.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(own.tls_certificate)
        return HTTPSConnection(self.host, own.port, timeout=SECONDS, context=context)


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
