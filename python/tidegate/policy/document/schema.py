"""The definitions document as a JSON Schema, derived from its members' shapes."""

from __future__ import annotations

from typing import Any

import attrs

from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.model import API_VERSION, Clause, Definitions
from tidegate.policy.document.forms import LABEL, LABEL_NAME


def document_schema() -> dict[str, Any]:
    """The schema of a whole document.

    A document that does not fit is rejected; one that fits may be rejected for other reasons, such
    as an expression that does not compile.
    """
    return schema_of(Definitions, API_VERSION)


def schema_of(model: type[attrs.AttrsInstance], version: str) -> dict[str, Any]:
    """The schema of a whole document of another kind.

    Args:
        model: the document's members.
        version: the value of ``apiVersion``.
    """
    schema = _object(model)
    schema["properties"] = {"apiVersion": {"const": version}, **schema["properties"]}
    schema["required"] = ["apiVersion", *schema["required"]]
    return schema


def _object(model: type[attrs.AttrsInstance]) -> dict[str, Any]:
    known = shapes.members(model)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, attribute in known.items():
        is_required = attribute.default is attrs.NOTHING and not _is_derived(model, name)
        properties[name] = _schema(shapes.shape_of(attribute), may_be_null=not is_required)
        if is_required:
            required.append(name)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _is_derived(model: type[attrs.AttrsInstance], name: str) -> bool:
    """Whether an omitted member is generated: a slug, an id, the name of a clause."""
    return name == "slug" or name.endswith("_id") or (model is Clause and name == "name")


def _schema(shape: shapes.Shape, *, may_be_null: bool) -> dict[str, Any]:
    """The schema of one member; null means the same as omitting it."""
    found = _shown(shape)
    if may_be_null:
        return {"anyOf": [found, {"type": "null"}]}
    return found


def _shown(shape: shapes.Shape) -> dict[str, Any]:
    match shape:
        case shapes.Part(type=model):
            return _object(model)
        case shapes.Labels(maximum=maximum):
            return {
                "type": "object",
                "propertyNames": {"pattern": f"^{LABEL_NAME}$"},
                "additionalProperties": _shown(LABEL),
                "maxProperties": maximum,
            }
        case shapes.Many(item=item, minimum=minimum, maximum=maximum, unique=is_unique):
            return {
                "type": "array",
                "items": _shown(item),
                "minItems": minimum,
                "maxItems": maximum,
                "uniqueItems": is_unique,
            }
        case shapes.Headers(maximum=maximum):
            values = {"type": "string"}
            return {"type": "object", "additionalProperties": values, "maxProperties": maximum}
        case shapes.Map(item=item, maximum=maximum):
            free = _shown(item)
            return {"type": "object", "additionalProperties": free, "maxProperties": maximum}
        case shapes.Anything():
            return {}
        case shapes.Boolean():
            return {"type": "boolean"}
        case shapes.Integer(minimum=least, maximum=most):
            return {"type": "integer", "minimum": least, "maximum": most}
        case shapes.Number(minimum=lowest, maximum=highest):
            return {"type": "number", "minimum": lowest, "maximum": highest}
        case shapes.Text(minimum=shortest, maximum=longest):
            return {"type": "string", "minLength": shortest, "maxLength": longest}
        case shapes.Choice(values=choices):
            return {"type": "string", "enum": list(choices)}
        case shapes.Identifier():
            return {"type": "string", "format": "uuid"}
        case shapes.Expression(purpose=purpose):
            return {"type": "string", "minLength": 1, "description": f"expression: {purpose}"}
    return {"type": "string"}
