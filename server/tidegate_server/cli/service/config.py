"""``tidegate config``: the settings and their possible values."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, get_args

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate_server.cli.service.settings import SettingsCommand, settings_options
from tidegate_server.settings.checking import fields_of
from tidegate_server.settings.environment import variable_of
from tidegate_server.settings.whole import Settings


@click.group()
def config() -> None:
    """Show the settings of the service."""


@config.command(cls=SettingsCommand)
@settings_options
@json_option
def show(settings: Settings, as_json: bool) -> None:
    """Print every setting as file, environment and flags give it."""
    values = dict(_values(settings))
    if as_json:
        print_json(_grouped(values))
        return
    for name, value in values.items():
        console.print(f"{name}: {value!r}", markup=False)


def _values(settings: Settings) -> Iterator[tuple[str, Any]]:
    """Every setting's value, with secrets hidden."""
    for name, field in fields_of(Settings):
        value = attrgetter(name)(settings)
        yield name, "concealed" if value and callable(field.repr) else value


def _grouped(values: dict[str, Any]) -> dict[str, dict[str, Any]]:
    groups: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        group, member = name.split(".")
        groups.setdefault(group, {})[member] = value
    return groups


@config.command()
@json_option
def schema(as_json: bool) -> None:
    """Print every setting's name, type, default and meaning."""
    found = list(_describe())
    if as_json:
        print_json(found)
        return
    for each in found:
        console.print(f"{each['name']} ({each['type']}, {each['default']!r})", markup=False)
        console.print(f"    {each['environment']}, {each['flag']}", markup=False)
        console.print(f"    {each['help']}", markup=False)


def _describe() -> Iterator[dict[str, Any]]:
    for name, field in fields_of(Settings):
        choices = get_args(field.type)
        yield {
            "name": name,
            "type": " | ".join(choices) or getattr(field.type, "__name__", str(field.type)),
            "default": field.default,
            "environment": variable_of(name),
            "flag": "--" + name.replace("_", "-").replace(".", "-"),
            "help": field.metadata["typed-settings"]["help"],
        }
