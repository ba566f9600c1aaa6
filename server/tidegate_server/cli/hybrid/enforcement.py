"""The enforcement of ``tidegate capture run``, on its own thread."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from tidegate.cli.output import errors, print_json
from tidegate.client.transport import Transport
from tidegate_server.capture.bpf import watched_ports
from tidegate_server.daemon import enforcement_status
from tidegate_server.daemon.local_daemon import LocalDaemon
from tidegate_server.daemon.origin import Origin
from tidegate_server.enforcement.drops import Drops, Limits
from tidegate_server.enforcement.enforcing import Enforcing
from tidegate_server.enforcement.never import Never, read_networks
from tidegate_server.enforcement.nftables import Firewall, FirewallError
from tidegate_server.logging import log

if TYPE_CHECKING:
    from tidegate_server.daemon.home import Home
    from tidegate_server.enforcement.blocks import Change
    from tidegate_server.enforcement.guard import Guard
    from tidegate_server.settings.hybrid import CaptureSettings
    from tidegate_server.settings.whole import Settings

CLOSE_SECONDS = 5.0
STATUS_SECONDS = 5.0


class Enforcement:
    """Follows the service and updates the firewall until it is stopped.

    Args:
        settings: the process's settings.
        folder: the daemon's folder.
        guard: knows the recent visitors.
        is_dry: whether to print who would be dropped without changing anything.

    Raises:
        FirewallError: the table cannot be created.
        HostError: the addresses this machine depends on can't be determined.
    """

    def __init__(self, settings: Settings, folder: Home, guard: Guard, *, is_dry: bool) -> None:
        self._settings, self._folder = settings, folder
        own = settings.capture
        ports = watched_ports(own.filter)
        hosts = [urlsplit(settings.remote.url).hostname or "", settings.daemon.host]
        self._never = Never(read_networks(own.never), hosts, ports)
        self._never.resolve()
        self._never.refresh()
        _say_never(self._never, ports, is_dry=is_dry)
        self._firewall = None if is_dry else Firewall(ports)
        if self._firewall is not None:
            self._firewall.remove()
            self._firewall.set_up()
        self._drops = Drops(_limits(own), guard, self._never.reason)
        self._is_dry = is_dry
        self._enforcing: Enforcing | None = None
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._run())
        self._thread = threading.Thread(target=self._work, name="tidegate-enforce", daemon=True)
        self._thread.start()

    def said(self) -> dict[str, Any]:
        """The state, as shown by ``tidegate status``."""
        return {} if self._enforcing is None else msgspec.to_builtins(self._enforcing.status)

    def stop(self) -> None:
        """Stop, and unblock everyone."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(CLOSE_SECONDS)
        with suppress(OSError):
            enforcement_status.remove(self._folder)
        if self._firewall is None:
            return
        try:
            self._firewall.remove()
        except FirewallError as error:
            errors.print(f"error: {error}", markup=False)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)

    async def _run(self) -> None:
        remote, daemon = self._settings.remote, self._settings.daemon
        folder = self._folder
        transport = Transport(remote.url, folder.api_key, tls=None, allow_http=daemon.allow_http)
        try:
            self._enforcing = Enforcing(
                Origin(transport, folder.tenant_id, folder.public_key),
                LocalDaemon.of(folder, daemon),
                self._firewall,
                self._drops,
                self._never,
                _say_changes if self._is_dry else _log_changes,
            )
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._enforcing.run())
                tasks.create_task(self._keep_status())
        finally:
            await transport.close()

    async def _keep_status(self) -> None:
        while True:
            if self._enforcing is not None:
                status = self._enforcing.status
                try:
                    await asyncio.to_thread(enforcement_status.write, self._folder, status)
                except OSError as error:
                    log.warning("the state cannot be written", reason=str(error))
            await asyncio.sleep(STATUS_SECONDS)


def _limits(own: CaptureSettings) -> Limits:
    return Limits(own.max_drop_seconds, own.max_drops, own.drops_per_minute, own.stop_share)


def _say_never(never: Never, ports: Sequence[int], *, is_dry: bool) -> None:
    said = {"never_dropped": dict(never.listed()), "watched_ports": list(ports)}
    if is_dry:
        print_json(said)
        sys.stdout.flush()
    else:
        log.info("enforcement begins", **said)


def _say_changes(changes: Sequence[Change]) -> None:
    """Print who would be dropped, and who would be unblocked."""
    for each in changes:
        if each.until is None:
            print_json({"would_let_in": str(each.address)})
        else:
            until = datetime.fromtimestamp(each.until / 1e9, UTC).isoformat()
            print_json({"would_drop": str(each.address), "until": until})
    sys.stdout.flush()


def _log_changes(changes: Sequence[Change]) -> None:
    now = time.time_ns()
    dropped = sum(each.until is not None and each.until > now for each in changes)
    log.info("the firewall changes", dropped=dropped, let_in=len(changes) - dropped)
