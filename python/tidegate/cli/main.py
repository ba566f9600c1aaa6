"""The command group, and how failures become exit codes.

Exit codes: 0 when all is well, 1 when there are findings (a text, a document or
an event was refused, a check failed), 2 for a wrong call.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from tidegate.cli.output import report_failure
from tidegate.errors import TidegateError

COMMANDS = {
    "check": "tidegate.cli.check:check",
    "fmt": "tidegate.cli.format:format_",
    "eval": "tidegate.cli.evaluate:evaluate",
    "decide": "tidegate.cli.decide:decide",
    "explain": "tidegate.cli.explain:explain",
    "demo": "tidegate.cli.demo:demo",
    "serve": "tidegate.cli.serve:serve",
    "config": "tidegate.cli.config:config",
    "healthcheck": "tidegate.cli.healthcheck:healthcheck",
    "migrate": "tidegate.cli.migrate:migrate",
    "verify": "tidegate.cli.verify:verify",
    "operator": "tidegate.cli.operator:operator",
    "apply": "tidegate.cli.apply:apply",
    "export": "tidegate.cli.export:export",
}
"""Each command's module, imported when the command is called: the engine's commands work without
the libraries of the server."""


class Commands(click.Group):
    """Commands that are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        del ctx
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, name = place.split(":")
        try:
            command = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("tidegate"):
                raise
            return _unavailable(cmd_name, error.name)
        assert isinstance(command, click.Command)
        return command


def _unavailable(name: str, missing: str) -> click.Command:
    """Stands for a command whose libraries are not installed."""
    hint = f"`tidegate {name}` needs `{missing}`: pip install 'tidegate[server]'"

    def refuse() -> None:
        raise click.UsageError(hint)

    return click.Command(
        name, callback=refuse, help=hint, context_settings={"ignore_unknown_options": True}
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidegate")
def tidegate() -> None:
    """Decide what to do with web traffic: allow, challenge or block."""


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
