"""The address databases that a command looks clients up in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tidegate.engine import Engine
from tidegate.evaluation.native import AddressDatabase

F = TypeVar("F", bound=Callable[..., Any])


def geo_option(command: F) -> F:
    """Add ``--geo``, as the argument ``databases``: paths of address databases."""
    made: F = click.option(
        "--geo",
        "databases",
        multiple=True,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Look up country and network of clients in this address database (MaxMind DB); may "
        "be given several times. Events that state `geo` keep it.",
    )(command)
    return made


def engine_of(databases: tuple[Path, ...], *arguments: Any, **options: Any) -> Engine:
    """Make an engine that looks clients up.

    Args:
        databases: paths of address databases; the first that knows an answer counts.
        arguments: of the engine; so are ``options``.

    Raises:
        click.BadParameter: a file can't be read, or isn't an address database.
        click.UsageError: the library that reads them isn't installed.
    """
    try:
        for path in databases:
            AddressDatabase(path.read_bytes())  # which checks all of it
        return Engine(*arguments, address_databases=databases, **options)
    except ImportError:
        raise click.UsageError("--geo needs `pip install tidegate[geo]`") from None
    except (OSError, ValueError) as error:
        if not databases:
            raise
        raise click.BadParameter(str(error), param_hint="'--geo'") from None
