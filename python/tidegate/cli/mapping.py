"""``tidegate mapping``: map names in a log to members of an event."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

import click
import yaml

from tidegate.cli.inputs.json_logs import read_object
from tidegate.cli.inputs.mapping import Mapping, guessed
from tidegate.cli.inputs.opening import open_events
from tidegate.cli.inputs.prefixes import readings
from tidegate.cli.inputs.tables import objects
from tidegate.cli.output import errors
from tidegate.errors import EventError

_READ = 200
"""Lines used to guess a mapping."""
_NEEDED = (("request.client_ip",), ("request.target", "request.line"), ("observed_at",))


@click.group()
def mapping() -> None:
    """Mappings for logs in JSON and CSV."""


@mapping.command()
@click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
)
def guess(file: Path) -> None:
    """Print the mapping that the first lines of FILE suggest, to be checked and given to
    --mapping."""
    with open_events(str(file)) as stream:
        lines = [line.decode("utf-8", "replace").strip() for line in islice(stream, _READ)]
    found = guessed(_entries([line for line in lines if line]))
    click.echo(yaml.safe_dump(_document(found), sort_keys=False), nl=False)
    missing = [names for names in _NEEDED if not any(name in found for name in names)]
    for names in missing:
        errors.print(
            f"error: nothing in the log looks like {' or '.join(f'`{each}`' for each in names)};"
            " add its name by hand",
            style="red",
            markup=False,
        )
    sys.exit(1 if missing else 0)


def _entries(lines: list[str]) -> list[dict[str, Any]]:
    found = [entry for line in lines if (entry := _entry(line)) is not None]
    return found if found or not lines else objects(lines)


def _entry(line: str) -> dict[str, Any] | None:
    for text in readings(line):
        try:
            return read_object(text)
        except EventError:
            continue
    return None


def _document(found: Mapping) -> dict[str, str]:
    return {member: names[0] for member, names in found.items()}
