"""``tidegate run``: decide on this machine."""

from __future__ import annotations

import asyncio
import sys

import click
import uvloop

from tidegate.cli.output import console, json_option, print_json
from tidegate.errors import SettingsError
from tidegate_server import logging
from tidegate_server.cli.service.cover import need_private_daemon
from tidegate_server.cli.service.settings import SettingsCommand, flags_of
from tidegate_server.daemon.home import load
from tidegate_server.daemon.process import log_to
from tidegate_server.daemon.process import run as run_daemon
from tidegate_server.settings.environment import home
from tidegate_server.settings.sources import partial_loaders
from tidegate_server.settings.whole import DaemonProcessSettings, Settings


@click.command(cls=SettingsCommand)
@flags_of(DaemonProcessSettings, partial_loaders())
@json_option
def run(own: DaemonProcessSettings, as_json: bool) -> None:
    """Decide on this machine by the definitions of the service, and forward what was decided."""
    settings = Settings(daemon=own.daemon, remote=own.remote, log=own.log, geo=own.geo)
    logging.configure(settings.log)
    need_private_daemon(settings.daemon)
    found = load(home())
    log_to(found, settings.daemon.log_mib)

    def started(address: str) -> None:
        if as_json:
            print_json({"base_url": address, "daemon_id": str(found.daemon_id)})
        else:
            console.print(f"deciding on {address}", markup=False)
        sys.stdout.flush()

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run_daemon(settings, found, started))
    except ValueError as error:
        raise SettingsError(str(error), "remote.url", settings.remote.url, "") from None
