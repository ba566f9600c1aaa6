"""Options of commands about packs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.packs import Pack, PackError, bundled_pack, load_pack

if TYPE_CHECKING:
    from collections.abc import Iterable

from_option = click.option(
    "--from",
    "folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="The folder of a pack of your own; may be given several times.",
)


def packs_of(names: Iterable[str], folders: Iterable[str]) -> list[Pack]:
    """Bundled packs by their names, and packs in folders.

    Raises:
        click.UsageError: the pack doesn't exist, or two have the same name.
        PackError: a folder isn't a pack.
    """
    try:
        packs = [bundled_pack(name) for name in dict.fromkeys(names)]
    except PackError as error:
        raise click.UsageError(str(error)) from None
    packs += [load_pack(Path(folder)) for folder in folders]
    if len({each.name for each in packs}) < len(packs):
        raise click.UsageError("two packs have the same name")
    return packs
