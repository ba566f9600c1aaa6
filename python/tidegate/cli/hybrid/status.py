"""``tidegate status``: how the daemon on this machine stands."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.daemon.definitions import Definitions
from tidegate.daemon.home import load
from tidegate.settings import home, load_settings

SECONDS = 5


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
    said |= _running(f"http://{settings.daemon.host}:{settings.daemon.port}/status")
    if as_json:
        print_json(said)
    else:
        for name, value in said.items():
            console.print(f"{name}: {value}", markup=False)
    if not said["running"]:
        raise SystemExit(1)


def _running(url: str) -> dict[str, Any]:
    try:
        with urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - of the settings, and http
            found = json.loads(answer.read())
    except (OSError, URLError, ValueError):
        return {}
    return {**found, "running": True} if isinstance(found, dict) else {}
