"""Settings as flags, and messages about invalid settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click
import typed_settings as ts
from click.core import ParameterSource
from typed_settings.cli_click import ClickOptionFactory
from typed_settings.loaders import Loader

from tidegate.errors import SettingsError
from tidegate_server.settings.checking import check_value, fields_of
from tidegate_server.settings.outbound import RemoteSettings
from tidegate_server.settings.sources import loaders, where_read
from tidegate_server.settings.whole import Settings

F = TypeVar("F", bound=Callable[..., Any])
_FIELDS = {
    name.replace(".", "_"): (name, field)
    for settings in (Settings, RemoteSettings)  # as `remote.url`, and as `url` alone
    for name, field in fields_of(settings)
}
"""Every setting that a flag can set, by the flag's name."""


class SettingsCommand(click.Command):
    """A command that lists its own options before the settings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Own options first, then the settings."""
        own: list[tuple[str, str]] = []
        settings: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                (settings if isinstance(parameter, _Flag) else own).append(record)
        for title, records in (("Options", own), ("Settings", settings)):
            with formatter.section(title):
                formatter.write_dl(records)


def settings_options(command: F) -> F:
    """Give a command the flags of all settings, and pass it the settings as its first argument.

    Raises:
        SettingsError: the settings from the file or environment are invalid.
    """
    return flags_of(Settings, loaders())(command)


def flags_of(
    settings: type[Any], sources: Sequence[Loader], argname: str | None = None
) -> Callable[[F], F]:
    """A decorator that gives a command the flags for a settings class.

    Args:
        settings: the class.
        sources: where its values come from without a flag.
        argname: the command's argument; the first one if left out.

    Raises:
        SettingsError: the values of the sources are invalid.
    """
    made: Callable[[F], F] = ts.click_options(
        settings,
        sources,
        argname=argname,
        show_envvars_in_help=True,
        decorator_factory=_Flags(),
    )
    return made


def unusable(setting: str, value: object, reason: str) -> SettingsError:
    """The error for a value that turned out to be unusable, with where it was read.

    Args:
        setting: the name, as in the settings file.
        value: as it was read.
        reason: the problem with the value.
    """
    name = setting.replace(".", "_")
    context = click.get_current_context(silent=True)
    is_flag = context is not None and (
        context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
    source = f"from --{name.replace('_', '-')}" if is_flag else where_read(setting)
    return SettingsError(reason, setting, value, source)


class _Flags(ClickOptionFactory):
    """Makes the flags for a settings class."""

    def get_option_decorator(self) -> Any:
        """The decorator that makes one flag."""
        return partial(click.option, cls=_Flag)


class _Flag(click.Option):
    """A flag for a setting; the environment is read together with the files."""

    def value_from_envvar(self, ctx: click.Context) -> Any | None:
        """None: the loader of the environment reads it."""
        del ctx
        return None

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value, checked.

        Raises:
            SettingsError: it is invalid.
        """
        given = self.name is not None and ctx.get_parameter_source(self.name)
        if given is ParameterSource.COMMANDLINE and not ctx.resilient_parsing:
            setting, field = _FIELDS[str(self.name)]
            check_value(setting, field, value, f"from {self.opts[0]}")
        return super().process_value(ctx, value)
