"""``tidegate migrate``: the database brought to this version's tables."""

from __future__ import annotations

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.service.settings import SettingsCommand, settings_options
from tidegate.cli.service.usable import need_directory
from tidegate.config import Settings
from tidegate.server.directory.opening import migrate_directory
from tidegate.stores.migrations import HEAD


@click.command(cls=SettingsCommand)
@settings_options
@click.option(
    "--accept-keys",
    is_flag=True,
    help="Take the keys that are there, or new ones where there are none, for those of the "
    "directory; tokens and API keys made under others stop working.",
)
@json_option
def migrate(settings: Settings, accept_keys: bool, as_json: bool) -> None:
    """Make a data directory, or bring it to this version; safe to interrupt and run again."""
    need_directory(settings)
    directory = settings.directory
    migrate_directory(directory, accepts_keys=accept_keys)
    if as_json:
        print_json({"directory": str(directory), "revision": HEAD})
    else:
        console.print(f"{directory}: the database is at revision {HEAD}", markup=False)
