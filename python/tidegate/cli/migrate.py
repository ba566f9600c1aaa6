"""``tidegate migrate``: the database brought to this version's tables."""

from __future__ import annotations

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.settings import settings_options
from tidegate.config import Settings
from tidegate.stores import migrate as bring_up
from tidegate.stores.migrations import HEAD


@click.command()
@settings_options
@json_option
def migrate(settings: Settings, as_json: bool) -> None:
    """Make the database, or bring its tables to this version; safe to interrupt and run again."""
    directory = settings.directory
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    bring_up(settings.database_url)
    if as_json:
        print_json({"directory": str(directory), "revision": HEAD})
    else:
        console.print(f"{directory}: the database is at revision {HEAD}", markup=False)
