"""The sources of settings: a file, then the environment."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import attrs
import orjson
import typed_settings as ts
import yaml
from typed_settings.loaders import Loader
from typed_settings.types import LoadedSettings, LoaderMeta, OptionList, SettingsClass

from tidegate.errors import SettingsError
from tidegate_server.settings.bounds import JsonObject
from tidegate_server.settings.checking import check_value, fields_of
from tidegate_server.settings.environment import (
    FILE_VARIABLE,
    PREFIX,
    Environment,
    home,
    variable_of,
)
from tidegate_server.settings.whole import Settings


@attrs.frozen
class _File:
    """A settings file in YAML or TOML."""

    path: Path

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> LoadedSettings:
        """The settings of the file.

        Raises:
            SettingsError: it cannot be read, or has an unknown or invalid setting.
        """
        del options
        content = self._read()
        known = dict(fields_of(settings_cls))
        for name, value in _flat(content):
            if name not in known:
                raise SettingsError(_unknown(name, list(known)), name, None, f"from {self.path}")
            check_value(name, known[name], value, f"from {self.path}")
        return LoadedSettings(content, LoaderMeta(str(self.path), self.path.parent))

    def has(self, setting: str) -> bool:
        """Whether the file sets a setting."""
        return setting in dict(_flat(self._read()))

    def _read(self) -> dict[str, Any]:
        try:
            text = self.path.read_text(encoding="utf-8")
            data = (
                tomllib.loads(text)
                if self.path.suffix == ".toml"
                else yaml.load(text, Loader=yaml.CSafeLoader)
            )
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())
            raise SettingsError(
                f"the settings file `{self.path}` cannot be read: {reason}"
            ) from None
        if not isinstance(data, dict | None):
            raise SettingsError(f"the settings file `{self.path}` must hold an object")
        return _with_texts(data or {})


def _with_texts(content: dict[Any, Any]) -> dict[Any, Any]:
    """A file's content, with a JSON text for each setting that is an object there."""
    for name, field in fields_of(Settings):
        group, member = name.split(".")
        members = content.get(group)
        if isinstance(field.validator, JsonObject) and isinstance(members, dict):
            value = members.get(member)
            if isinstance(value, dict):
                written = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
                content = {**content, group: {**members, member: written.decode()}}
    return content


@attrs.frozen
class _Section:
    """The part of a settings file that a command needs.

    Args:
        file: the whole file, of which every setting is checked.
        name: the section that the command's settings are in; None if they are in several.
    """

    file: _File
    name: str | None

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> LoadedSettings:
        """The settings of the section.

        Raises:
            SettingsError: as for the whole file.
        """
        whole = self.file(Settings, options)
        content = whole.settings if self.name is None else whole.settings.get(self.name) or {}
        known = {name.partition(".")[0] for name, _ in fields_of(settings_cls)}
        return LoadedSettings(
            {each: content[each] for each in content if each in known}, whole.meta
        )


def _flat(content: dict[Any, Any], group: str = "") -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{group}{name}.")
        else:
            yield f"{group}{name}", value


def _unknown(name: str, known: list[str]) -> str:
    members = [each for each in known if each.startswith(name + ".")]
    if members:
        return f"it is a group of settings, such as `{members[0]}`"
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    return "there is no such setting" + (f"; did you mean `{near[0]}`?" if near else "")


def _file() -> _File | None:
    """The settings file: the one in ``TIDEGATE_CONFIG``, else the default one if it exists.

    Raises:
        SettingsError: the named file doesn't exist.
    """
    named = os.environ.get(FILE_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise SettingsError(f"{FILE_VARIABLE} names `{named}`, and there is no such file")
        return _File(Path(named))
    default = home() / "config.yaml"
    return _File(default) if default.is_file() else None


def loaders() -> list[Loader]:
    """The sources of settings, in order: a file, then the environment.

    The file is the one in ``TIDEGATE_CONFIG``, else ``~/.tidegate/config.yaml`` if it exists.

    Raises:
        SettingsError: the named file doesn't exist.
    """
    file = _file()
    environment = Environment(prefix=PREFIX)
    return [environment] if file is None else [file, environment]


def remote_loaders() -> list[Loader]:
    """The sources of settings for commands that talk to a service.

    These are the section ``remote`` of the settings file, then the environment.

    Raises:
        SettingsError: the named file doesn't exist.
    """
    return partial_loaders("remote")


def partial_loaders(section: str | None = None) -> list[Loader]:
    """The sources of settings for commands that need a part of them.

    Args:
        section: of the settings file; None if the command's settings are in several.

    Raises:
        SettingsError: the named file doesn't exist.
    """
    file = _file()
    environment = Environment(prefix=PREFIX)
    return [environment] if file is None else [_Section(file, section), environment]


def where_read(setting: str) -> str:
    """The source of a setting's value if no flag sets it."""
    if variable_of(setting) in os.environ:
        return f"from {variable_of(setting)}"
    file = _file()
    if file is not None and file.has(setting):
        return f"from {file.path}"
    return "the default"


def load_settings() -> Settings:
    """The settings from the file and the environment, without flags.

    Raises:
        SettingsError: one of them is invalid.
    """
    return ts.load_settings(Settings, loaders())
