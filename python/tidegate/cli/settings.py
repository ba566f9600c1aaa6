"""Settings as flags, and what is wrong with them as a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typed_settings as ts
from typed_settings.exceptions import TsError

from tidegate.config import Settings, loaders
from tidegate.errors import TidegateError

F = TypeVar("F", bound=Callable[..., Any])


class SettingsError(TidegateError):
    """A setting in the file or the environment cannot be used."""

    code = "invalid-settings"


def settings_options(command: F) -> F:
    """Give a command the flags of all settings, and the settings as ``settings``.

    Raises:
        SettingsError: those of file or environment cannot be used.
    """
    try:
        decorated: F = ts.click_options(Settings, loaders(), show_envvars_in_help=True)(command)
    except (TsError, ValueError) as error:
        raise SettingsError(str(error)) from None
    return decorated
