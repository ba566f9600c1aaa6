"""Settings as flags, and what is wrong with them as a message."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import typed_settings as ts
from typed_settings.exceptions import InvalidSettingsError, TsError

from tidegate.config import Settings, loaders
from tidegate.errors import TidegateError

F = TypeVar("F", bound=Callable[..., Any])


class SettingsError(TidegateError):
    """A setting in the file or the environment cannot be used."""

    code = "invalid-settings"


def settings_options(command: F) -> F:
    """Give a command the flags of all settings, and the settings as ``settings``.

    Raises:
        SettingsError: those of file or environment cannot be used; the command raises it, too.
    """
    try:
        decorated: F = ts.click_options(Settings, loaders(), show_envvars_in_help=True)(command)
    except (TsError, ValueError) as error:
        raise SettingsError(str(error)) from None

    @wraps(decorated)
    def told(*arguments: Any, **options: Any) -> Any:
        try:
            return decorated(*arguments, **options)
        except InvalidSettingsError as error:
            # Some messages go on with all that the validator knows of the attribute.
            reasons = (str(each).partition(", Attribute(")[0] for each in error.exceptions)
            raise SettingsError("; ".join(reasons)) from None

    return cast(F, told)
