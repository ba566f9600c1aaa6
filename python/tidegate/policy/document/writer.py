"""Converts the model to a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from tidegate.policy.definitions.model import API_VERSION, Definitions
from tidegate.policy.definitions.shapes import members


def to_document(definitions: Definitions) -> dict[str, Any]:
    """The definitions as plain data, ready for JSON or YAML.

    Members with default values are omitted; ids and slugs are always written, so that an object
    keeps them when it is renamed.
    """
    return {"apiVersion": API_VERSION, **to_members(definitions)}


def to_members(instance: attrs.AttrsInstance) -> dict[str, Any]:
    """One object of a document as plain data, without members that have default values."""
    written = {}
    for name, attribute in members(type(instance)).items():
        value = getattr(instance, attribute.name)
        if value != _default(attribute):
            written[name] = _plain(value)
    return written


def _default(attribute: attrs.Attribute[Any]) -> Any:
    factory = getattr(attribute.default, "factory", None)
    return factory() if factory else attribute.default


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return dict(value)
    return to_members(value) if attrs.has(type(value)) else value
