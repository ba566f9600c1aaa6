"""The environment as a source of settings, and the folder it names."""

from __future__ import annotations

import os
from pathlib import Path

import typed_settings as ts
from typed_settings.types import LoadedSettings, OptionList, SettingsClass

from tidegate_server.settings.checking import check_value, fields_of

PREFIX = "TIDEGATE_"
FILE_VARIABLE = "TIDEGATE_CONFIG"
HOME_VARIABLE = "TIDEGATE_HOME"
DEFAULT_DIRECTORY = "~/.tidegate"


class Environment(ts.EnvLoader):
    """Settings from the environment, checked as they are read."""

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> LoadedSettings:
        """The settings of the environment.

        Raises:
            SettingsError: one of them is invalid.
        """
        for name, field in fields_of(settings_cls):
            variable = variable_of(name)
            if variable in os.environ:
                check_value(name, field, os.environ[variable], f"from {variable}")
        return super().__call__(settings_cls, options)


def variable_of(setting: str) -> str:
    """The environment variable for a setting."""
    return PREFIX + setting.replace(".", "_").upper()


def home() -> Path:
    """The absolute path of this user's folder: ``TIDEGATE_HOME`` if set, else ``~/.tidegate``."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_DIRECTORY).expanduser().absolute()
