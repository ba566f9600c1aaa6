"""The command group, and how failures become exit codes.

Exit codes: 0 for success, 1 for findings (a text, document or event was rejected, or a check
failed), 2 for a wrong call or setting, 130 after Ctrl-C.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import Any

import click

from tidegate.cli.commands import EXAMPLE_OF, EXAMPLES, GROUPS, PLACES, SENTENCES, SERVICE
from tidegate.errors import SettingsError, TidegateError

MAX_SENTENCE = 200
"""Characters of the help of another distribution's command in the list of commands."""
PLUGINS = "tidegate.commands"
"""The entry points by which another distribution adds commands."""


class Commands(click.Group):
    """Commands that are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names: the engine's, the service's, and those of other distributions."""
        del ctx
        return list(dict.fromkeys([*SENTENCES, *(each.name for each in _plugins())]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with a name."""
        del ctx
        place = PLACES.get(cmd_name)
        if place is not None:
            module, name = place.split(":")
            command = getattr(import_module(module), name)
        elif cmd_name in _plugins().names:
            command = _plugins()[cmd_name].load()
        else:
            return _Unavailable(cmd_name) if cmd_name in SENTENCES else None
        assert isinstance(command, click.Command)
        example = EXAMPLE_OF.get(cmd_name)
        if example is not None:
            command.epilog = f"\b\nExample:\n  {example}"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; for an unknown name, the one that was most likely meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from tidegate.language.tree.diagnostics import nearest  # not for the help

            meant = nearest(args[0], self.list_commands(ctx)) if args else None
            if meant is None:
                raise
            raise click.UsageError(f"{error.message} Did you mean `{meant}`?", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Ctrl-C ends it with the exit code that shells use for that."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(130)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what they are for, and how the first calls look."""
        with formatter.section("Examples"):
            for example in EXAMPLES:
                formatter.write_text(example)
        installed = _plugins().names
        for group, commands in GROUPS.items():
            is_missing = group in SERVICE and not installed.issuperset(commands)
            note = " (pip install 'tidegate[server]')" if is_missing else ""
            with formatter.section(group + note):
                formatter.write_dl(list(commands.items()))
        others = {name: self.get_command(ctx, name) for name in installed - SENTENCES.keys()}
        if others:
            with formatter.section("Other distributions"):
                formatter.write_dl(
                    (name, command.get_short_help_str(limit=MAX_SENTENCE))
                    for name, command in sorted(others.items())
                    if command is not None
                )


@cache
def _plugins() -> EntryPoints:
    return entry_points(group=PLUGINS)


class _Unavailable(click.Command):
    """Replaces a command of the service where that isn't installed, and accepts all arguments."""

    def __init__(self, name: str) -> None:
        self.hint = f"`tidegate {name}` needs tidegate-server: pip install 'tidegate[server]'"
        super().__init__(
            name,
            help=self.hint,
            add_help_option=False,
            context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        )

    def invoke(self, ctx: click.Context) -> None:
        """Say how to install the service.

        Raises:
            click.UsageError: always.
        """
        raise click.UsageError(self.hint, ctx)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidegate")
def tidegate() -> None:
    """Decide what to do with web traffic: allow, challenge or block."""


def main() -> None:
    """Run the command line; never returns."""
    try:
        tidegate.main(prog_name="tidegate")
    except TidegateError as error:
        _report(error)
        sys.exit(2 if isinstance(error, SettingsError) else 1)
    except BrokenPipeError:
        # The reader is gone, as with `head`; nobody is left to tell.
        sys.stderr.close()
        sys.exit(0)


def _report(error: TidegateError) -> None:
    # Imported here: they take longer to load than the help takes to print.
    from tidegate.cli.findings.report import FindingsError, print_text
    from tidegate.cli.output import errors, report_failure

    if isinstance(error, FindingsError):
        print_text(errors, error.reported)
    else:
        report_failure(error)
