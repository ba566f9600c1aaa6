"""Checks settings as they are read, so that a message can name the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import attrs
import typed_settings as ts

from tidegate.errors import SettingsError


def fields_of(settings: type[Any], group: str = "") -> Iterator[tuple[str, attrs.Attribute[Any]]]:
    """Every setting of a class, with its name as in the settings file."""
    for field in attrs.fields(attrs.resolve_types(settings)):
        if field.type is not None and attrs.has(field.type):
            yield from fields_of(field.type, f"{group}{field.name}.")
        else:
            yield group + field.name, field


def check_value(setting: str, field: attrs.Attribute[Any], value: object, source: str) -> None:
    """Check a value that was read.

    Args:
        setting: the name, as in the settings file.
        field: the setting.
        value: as it was read, before it is converted.
        source: where it was read, for the message.

    Raises:
        SettingsError: it has the wrong type, isn't one of the choices, or is out of bounds.
    """
    try:
        converted = _converted(field, value)
        if field.validator is not None:
            field.validator(None, field, converted)
    except ValueError as error:
        # Secrets have their own representation.
        shown = None if callable(field.repr) else value
        raise SettingsError(str(error), setting, shown, source) from None


def _converted(field: attrs.Attribute[Any], value: object) -> Any:
    kind: Any = field.type
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if value not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return value
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
    is_simple = isinstance(value, str | int | float)
    if not is_simple or (kind is int and isinstance(value, bool | float)):
        raise ValueError(f"it must be {wanted}")
    try:
        return ts.default_converter().structure(value, kind)
    except (TypeError, ValueError):
        raise ValueError(f"it must be {wanted}") from None
