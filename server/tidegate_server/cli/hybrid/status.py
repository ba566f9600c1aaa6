"""``tidegate status``: the state of the daemon on this machine."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate_server.daemon import enforcement_status
from tidegate_server.daemon.definitions import Definitions
from tidegate_server.daemon.home import load
from tidegate_server.daemon.local_daemon import LocalDaemon
from tidegate_server.settings.environment import home
from tidegate_server.settings.sources import load_settings


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Say how the daemon on this machine stands; exit code 1 when it does not run."""
    settings, folder = load_settings(), load(home())
    known = Definitions.of(folder).in_use()
    said: dict[str, Any] = {
        "home": str(folder.path),
        "service": settings.remote.url,
        "daemon_id": str(folder.daemon_id),
        "tenant_id": str(folder.tenant_id),
        "revision": 0 if known is None else known.revision,
        "running": False,
    }
    asked = LocalDaemon.of(folder, settings.daemon)
    found = asked.status()
    if found is not None:
        said |= {**found, "running": True}
    capture = enforcement_status.read(folder)
    if capture is not None:
        said["capture"] = msgspec.to_builtins(capture)
    if as_json:
        print_json(said)
    else:
        for name, value in said.items():
            console.print(f"{name}: {value}", markup=False)
    if not said["running"]:
        errors.print(
            f"no daemon of this folder answers at {asked.shown}: start it with `tidegate run`, or"
            " set `daemon.token` if it needs one",
            markup=False,
        )
        raise SystemExit(1)
