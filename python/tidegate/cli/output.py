"""Output shared by all commands."""

from __future__ import annotations

import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console

from tidegate.errors import TidegateError
from tidegate.functions.time import duration_text, timestamp_text
from tidegate.values import Duration, OptionalValue, Timestamp

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
evaluator_option = click.option(
    "--evaluator",
    type=click.Choice(["native", "reference"]),
    default="native",
    show_default=True,
    help="The Rust evaluator, or the Python definition it is held to.",
)


def counted(number: int, noun: str) -> str:
    """A number and a noun, in the plural where it needs it."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_json(document: Any) -> None:
    """One JSON document and a newline on standard output."""
    sys.stdout.write(to_json(document) + "\n")


def print_text(document: bytes) -> None:
    """The text of a JSON document and a newline on standard output."""
    sys.stdout.write(document.decode() + "\n")


def to_json(document: Any) -> str:
    """JSON text; language values that JSON lacks are written as ``string()`` writes them."""
    return orjson.dumps(document, default=_beyond_json, option=orjson.OPT_NON_STR_KEYS).decode()


def _beyond_json(value: Any) -> Any:
    match value:
        case Timestamp():
            return timestamp_text(value)
        case Duration():
            return duration_text(value)
        case bytes():
            return b64encode(value).decode()
        case OptionalValue():
            return [value.content] if value.is_present else []
    return str(value)


def write_file(path: Path, content: bytes) -> None:
    """Write a file that the user named.

    Raises:
        click.UsageError: it cannot be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.UsageError(f"`{path}` cannot be written: {error.strerror}") from None


def say_if_terminal(expected: str) -> None:
    """Say that standard input is read, if somebody has to type it.

    Args:
        expected: the noun for what is read.
    """
    if sys.stdin.isatty():
        errors.print(f"reading {expected} from the terminal; Ctrl-D ends it", markup=False)


def report_failure(error: TidegateError) -> None:
    """Print a rejection to standard error, without interpreting markup in it."""
    errors.print(f"error: {error}", style="red", markup=False)
