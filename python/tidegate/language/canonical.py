"""Writes and reads the canonical form of a checked expression: see docs/canonical-tree.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tidegate.language.check.checker import CheckedExpression
from tidegate.language.check.estimate import estimate
from tidegate.language.check.references import references_of
from tidegate.language.parse.parser import parse
from tidegate.language.tree.form import (
    VERSION,
    envelope,
    node_from_json,
    read_string,
    refuse_tree,
)
from tidegate.language.tree.schema import Schema
from tidegate.limits import DEFAULT, Limits
from tidegate.types import parse_type

_MAX_BYTES = 4 * 1024 * 1024
"""Far more than the tree of the longest expression needs."""


def to_json(expression: CheckedExpression) -> dict[str, Any]:
    """The envelope of a checked expression: version, text, type and tree."""
    return envelope(expression.text, expression.type, expression.root)


def from_json(data: Mapping[str, Any] | bytes, limits: Limits = DEFAULT) -> CheckedExpression:
    """The checked expression in an envelope.

    An envelope has no field declarations, so the shape of the tree is checked but not its typing;
    warnings are not kept.

    Raises:
        ExpressionError: the data isn't a well-formed envelope (code ``invalid-canonical-tree``), or
            its text does not parse.
    """
    envelope = _read(data)
    version = envelope.get("version")
    if version != VERSION or isinstance(version, bool):
        refuse_tree(f"`version` must be {VERSION}")
    text = read_string(envelope, "text")
    tree = parse(text, limits)
    try:
        kind = parse_type(read_string(envelope, "type"))
    except ValueError as error:
        refuse_tree(str(error))
    root = node_from_json(envelope.get("root"), limits, len(text))
    cost = estimate(root, Schema.empty(), limits)
    return CheckedExpression(text, tree, root, kind, references_of(root), cost)


def _read(data: Mapping[str, Any] | bytes) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return dict(data)
    if len(data) > _MAX_BYTES:
        refuse_tree(f"the envelope is longer than {_MAX_BYTES} bytes")
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        refuse_tree(f"no JSON: {error}")
    if not isinstance(found, dict):
        refuse_tree("the envelope must be an object")
    return found
