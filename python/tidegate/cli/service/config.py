"""``tidegate config``: what the settings are, and what they can be."""

from __future__ import annotations

from typing import Any

import attrs
import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.service.settings import settings_options
from tidegate.config import ENVIRONMENT_PREFIX, Settings


@click.group()
def config() -> None:
    """Show the settings of the service."""


@config.command()
@settings_options
@json_option
def show(settings: Settings, as_json: bool) -> None:
    """Print every setting as file, environment and flags give it."""
    values = attrs.asdict(settings)
    if as_json:
        print_json(values)
        return
    for group, members in values.items():
        for name, value in members.items():
            console.print(f"{group}.{name}: {value!r}", markup=False)


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


def _describe() -> Any:
    groups: Any = attrs.fields(Settings)
    for group in groups:
        for each in attrs.fields(type(group.default)):
            name = f"{group.name}_{each.name}"
            yield {
                "name": f"{group.name}.{each.name}",
                "type": getattr(each.type, "__name__", str(each.type)),
                "default": each.default,
                "environment": ENVIRONMENT_PREFIX + name.upper(),
                "flag": "--" + name.replace("_", "-"),
                "help": each.metadata["typed-settings"]["help"],
            }
