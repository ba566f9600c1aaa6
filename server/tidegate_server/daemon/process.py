"""The process of a daemon: its socket, uvicorn, and a stop that finishes accepted work."""

from __future__ import annotations

import logging
import logging.handlers
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from tidegate_server.asgi import hot_handlers
from tidegate_server.connection.protocol import Shared, close_late_connections
from tidegate_server.daemon import private
from tidegate_server.daemon.application import DaemonAnswers
from tidegate_server.daemon.home import RUNTIME
from tidegate_server.daemon.service import Daemon
from tidegate_server.http.application import HttpApplication
from tidegate_server.logging import log
from tidegate_server.process import (
    Server,
    accepting,
    address_of,
    bounds_of,
    configuration,
    listen,
    settle_interpreter,
)
from tidegate_server.settings.service import ServerSettings

if TYPE_CHECKING:
    from io import TextIOWrapper

    from tidegate_server.daemon.home import Home
    from tidegate_server.settings.hybrid import DaemonSettings
    from tidegate_server.settings.whole import Settings

LOG = "daemon.log"
KEPT_LOGS = 5
"""Old log files kept besides the current one."""


async def run(settings: Settings, home: Home, started: Callable[[str], None]) -> None:
    """Decide until the process gets a stop signal.

    Args:
        settings: the process's settings.
        home: the daemon's folder.
        started: called with the address once connections are accepted.

    Raises:
        ListenError: listening on the address failed.
        StoreUnavailableError: the spool cannot be opened.
        ValueError: the service's address is invalid.
    """
    place = place_of(settings.daemon)
    listening = listen(place)
    address = address_of(place, listening)
    daemon = Daemon(settings, home)
    hot = await daemon.start()
    try:
        daemon.home = _announced(daemon.home, place, address)
        shared = Shared(hot, bounds_of(place))
        application = HttpApplication(hot_handlers(hot), DaemonAnswers(daemon))
        server = Server(configuration(place, application, shared), lambda: started(address))
        late = close_late_connections(server.server_state.connections)
        daemon.watch(late)
        settle_interpreter()
        await server.serve(sockets=accepting(listening))
    finally:
        await daemon.stop()
        _announced(daemon.home, place, "")
        listening.close()
        if place.unix_socket:
            with suppress(OSError):
                Path(place.unix_socket).unlink()


def _announced(home: Home, place: ServerSettings, address: str) -> Home:
    """Tell other commands of the folder where the daemon runs; an empty address that it stopped."""
    certificate = place.tls_certificate and quote(str(Path(place.tls_certificate).absolute()))
    if address and place.unix_socket:
        address = f"unix:{quote(str(Path(place.unix_socket).absolute()))}"
    try:
        return home.running(address, certificate if address else "")
    except OSError as error:
        log.warning("the address cannot be written", file=RUNTIME, reason=str(error))
        return home


def place_of(own: DaemonSettings) -> ServerSettings:
    """The address of a daemon, in a server's form."""
    return ServerSettings(
        host=own.host,
        port=own.port,
        unix_socket=own.unix_socket,
        tls_certificate=own.tls_certificate,
        tls_key=own.tls_key,
    )


class PrivateLog(logging.handlers.RotatingFileHandler):
    """A log file for its owner only: its lines name visitors and paths."""

    def _open(self) -> TextIOWrapper:
        stream = open(  # noqa: SIM115 - the handler closes it
            self.baseFilename, self.mode, encoding="utf-8", opener=private.opener
        )
        return cast("TextIOWrapper", stream)


def log_to(home: Home, mebibytes: int) -> None:
    """Write log lines to a rotated file in the folder too."""
    handler = PrivateLog(home.logs / LOG, maxBytes=mebibytes * 1024 * 1024, backupCount=KEPT_LOGS)
    root = logging.getLogger()
    if root.handlers:
        handler.setFormatter(root.handlers[0].formatter)
    root.addHandler(handler)
