"""``tidegate migrate``: upgrade the database to this version's tables, or copy it."""

from __future__ import annotations

from pathlib import Path

import click

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate_server.cli.service.settings import SettingsCommand, settings_options
from tidegate_server.cli.service.usable import need_database, need_directory
from tidegate_server.directory.database import database_of
from tidegate_server.directory.opening import migrate_directory
from tidegate_server.settings.whole import Settings
from tidegate_server.stores.databases import need_partitions
from tidegate_server.stores.directory.lock import claim
from tidegate_server.stores.migrations import HEAD, current
from tidegate_server.stores.rows.dialects import is_postgresql

SQLITE = "sqlite:///"


@click.command(cls=SettingsCommand)
@settings_options
@click.option(
    "--accept-keys",
    is_flag=True,
    help="Take the keys that are there, or new ones where there are none, for those of the "
    "directory; tokens and API keys made under others stop working.",
)
@click.option(
    "--from",
    "source",
    metavar="URL",
    help="Carry a service over: its database of SQLite, as in sqlite:////var/lib/tidegate/"
    "tidegate.db. Stop the service before.",
)
@click.option(
    "--to",
    "target",
    metavar="URL",
    help="Carry a service over: an empty database of PostgreSQL. The keys stay in the directory.",
)
@json_option
def migrate(
    settings: Settings, accept_keys: bool, source: str | None, target: str | None, as_json: bool
) -> None:
    """Make a data directory, or bring it to this version; safe to interrupt and run again."""
    if source or target:
        _carry(source, target, as_json=as_json)
        return
    need_directory(settings)
    need_database(settings)
    directory = settings.directory
    migrate_directory(directory, settings.store.url, accepts_keys=accept_keys)
    if settings.store.url:
        need_partitions(settings.store.url, settings.store.partitions)
    with database_of(directory, settings.store.url).connection() as connection:
        # Perhaps of a newer version, with tables that this one can use too.
        revision = current(connection)
    if as_json:
        print_json({"directory": str(directory), "revision": revision})
    else:
        console.print(f"{directory}: the database is at revision {revision}", markup=False)


def _carry(source: str | None, target: str | None, *, as_json: bool) -> None:
    if not source or not source.startswith(SQLITE):
        raise click.UsageError("`--from` is a database of SQLite: sqlite:////path/to/tidegate.db")
    if not target or not is_postgresql(target):
        raise click.UsageError("`--to` is a database of PostgreSQL: postgresql://user@host/name")
    from tidegate_server.stores.copying import copy_database
    from tidegate_server.stores.databases import shown

    # A server on the directory would go on deciding, and its decisions would stay behind.
    lock = claim(Path(source.removeprefix(SQLITE)).absolute())
    try:
        copied = copy_database(source, target, lambda name: errors.print(name, style="dim"))
    finally:
        lock.release()
    if as_json:
        print_json({"to": shown(target), "rows": copied, "revision": HEAD})
        return
    console.print(
        f"{copied} rows are in {shown(target)}; serve them with `store.url`, on the same directory"
        " or on a copy of its `keys` and `identity`",
        markup=False,
    )
