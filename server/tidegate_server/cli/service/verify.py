"""``tidegate verify``: check that everything in a data directory is intact."""

from __future__ import annotations

import sys
import time

import attrs
import click

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate_server.cli.service.settings import SettingsCommand, settings_options
from tidegate_server.directory.verification import Verification
from tidegate_server.settings.whole import Settings

PROGRESS_SECONDS = 2.0


@click.command(cls=SettingsCommand)
@settings_options
@json_option
def verify(settings: Settings, as_json: bool) -> None:
    """Read all of the data directory and compare it with its checksums, also while a server runs.

    Exits with 1 when anything is lost or damaged.
    """
    shown_at = time.monotonic()

    def progress(what: str) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= PROGRESS_SECONDS:
            shown_at = time.monotonic()
            errors.print(what, style="dim", markup=False)

    made = Verification(settings.directory, progress, settings.store.url)
    findings = list(made.findings())
    if as_json:
        document = {
            "directory": str(settings.directory),
            "decisions": made.decisions,
            "known": made.known,
            "findings": [attrs.asdict(each) for each in findings],
        }
        print_json(document)
    else:
        for line in made.known:
            console.print(f"known: {line}", markup=False)
        for each in findings:
            console.print(str(each), style="red", markup=False)
        verdict = f"{len(findings)} findings" if findings else "all is what was written"
        console.print(
            f"{settings.directory}: {made.decisions} decisions read; {verdict}", markup=False
        )
    sys.exit(1 if findings else 0)
