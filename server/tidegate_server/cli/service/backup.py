"""``tidegate backup`` and ``tidegate restore``: copy a data directory, and bring it back."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate_server.cli.service.settings import SettingsCommand, settings_options
from tidegate_server.directory.backup import copy_directory
from tidegate_server.directory.verification import Verification
from tidegate_server.settings.whole import Settings


@click.command(cls=SettingsCommand)
@click.argument("directory", type=click.Path(path_type=Path))
@settings_options
@json_option
def backup(settings: Settings, directory: Path, as_json: bool) -> None:
    """Copy the data directory into DIRECTORY, next to a running server or not.

    The copy has everything that was acknowledged before the command began, and is a data directory
    itself: check it with `tidegate verify --store-directory DIRECTORY`.

    With `store.url` the database isn't copied: use PostgreSQL's own tools.
    """
    is_elsewhere = bool(settings.store.url)
    files = copy_directory(settings.directory, directory, _show, has_database=not is_elsewhere)
    if is_elsewhere:
        errors.print(
            "the database isn't in the copy: back it up with pg_basebackup and its WAL, or with"
            " `pg_dump --format=custom`",
            style="yellow",
        )
    _say(f"{settings.directory} is copied to {directory}", directory, files, as_json=as_json)


@click.command(cls=SettingsCommand)
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@settings_options
@json_option
def restore(settings: Settings, directory: Path, as_json: bool) -> None:
    """Make the data directory from the backup in DIRECTORY; it must be missing or empty.

    The backup is verified first. Exits with 1, and restores nothing, when anything in it is lost or
    damaged. With `store.url`, restore the database before.
    """
    findings = list(Verification(directory, _show, settings.store.url).findings())
    for each in findings:
        errors.print(str(each), style="red", markup=False)
    if findings:
        errors.print(f"{directory} isn't intact; nothing is restored", markup=False)
        sys.exit(1)
    files = copy_directory(
        directory, settings.directory, _show, has_database=not settings.store.url
    )
    _say(f"{directory} is restored to {settings.directory}", directory, files, as_json=as_json)


def _show(name: str) -> None:
    errors.print(name, style="dim", markup=False)


def _say(text: str, directory: Path, files: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"backup": str(directory), "files": files})
    else:
        console.print(f"{text} ({len(files)} files)", markup=False)
