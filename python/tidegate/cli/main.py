"""The command group, and how failures become exit codes.

Exit codes: 0 when all is well, 1 when there are findings (a text, a document or
an event was refused, a check failed), 2 for a wrong call.
"""

from __future__ import annotations

import sys

import click

from tidegate.cli.check import check
from tidegate.cli.decide import decide
from tidegate.cli.demo import demo
from tidegate.cli.evaluate import evaluate
from tidegate.cli.explain import explain
from tidegate.cli.format import format_
from tidegate.cli.output import report_failure
from tidegate.errors import TidegateError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidegate")
def tidegate() -> None:
    """Decide what to do with web traffic: allow, challenge or block."""


for command in (check, format_, evaluate, decide, explain, demo):
    tidegate.add_command(command)


def main() -> None:
    """Run the command line; never returns."""
    try:
        tidegate.main(prog_name="tidegate")
    except TidegateError as error:
        report_failure(error)
        sys.exit(1)
    except BrokenPipeError:
        # The reader went away, as `head` does; there is nobody left to tell.
        sys.stderr.close()
        sys.exit(0)
