"""Single members checked against their shapes: faults and replacements."""

from __future__ import annotations

from typing import Any

import attrs

from tidegate.errors import EvaluationError
from tidegate.functions.addresses import parse_range
from tidegate.functions.time import parse_timestamp
from tidegate.language.tree.diagnostics import nearest, quote
from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.slugs import form_of_slug, is_slug
from tidegate.policy.document.forms import (
    identifier_problem,
    origin_problem,
    secure_url_problem,
    url_problem,
)
from tidegate.policy.document.tree import Mapping, Node, Scalar, Sequence

STAND_IN_ID = "00000000-0000-0000-0000-000000000000"


def text_problem(shape: shapes.Shape, text: str) -> tuple[str, str] | None:
    """Why a text does not fit a shape, as code and message; None if it fits."""
    message: str | None = None
    match shape:
        case shapes.Text():
            return _plain_text_problem(shape, text)
        case shapes.Choice(values=values) if text not in values:
            return "unknown-value", f"unknown value {quote(text)}, known are {', '.join(values)}"
        case shapes.Slug(kind=kind) if not is_slug(text, kind):
            return "invalid-slug", f"{quote(text)} is no slug: {form_of_slug(kind)}"
        case shapes.Expression() if not text.strip():
            return "empty-expression", "the expression is empty"
        case shapes.Network() if parse_range(text) is None:
            return "invalid-address", f"{quote(text)} is no address and no network"
        case shapes.Moment() if not _is_moment(text):
            return "invalid-time", f"{quote(text)} isn't a time such as `2026-11-28T14:00:00Z`"
        case shapes.Identifier():
            message = identifier_problem(text)
        case shapes.Origin():
            message = origin_problem(text)
        case shapes.UrlTemplate():
            message = url_problem(text)
        case shapes.SecureUrl():
            message = secure_url_problem(text)
    if message is None:
        return None
    code = "invalid-identifier" if isinstance(shape, shapes.Identifier) else "invalid-url"
    return code, f"{quote(text)} is {message}"


def _is_moment(text: str) -> bool:
    try:
        parse_timestamp(text)
    except EvaluationError:
        return False
    return True


def _plain_text_problem(shape: shapes.Text, text: str) -> tuple[str, str] | None:
    if len(text) < shape.minimum:
        return "empty-text", "the text is empty"
    if len(text) > shape.maximum:
        return "too-long", f"{len(text)} characters, at most {shape.maximum} may be given"
    allowed = "\n\t" if shape.multiline else ""
    if shape.printable and not all(each.isprintable() or each in allowed for each in text):
        return "invalid-text", "the text has a control character"
    return None


def hint_for(shape: shapes.Shape, text: str) -> str | None:
    """How to fix a text that does not fit."""
    if isinstance(shape, shapes.Choice):
        meant = nearest(text, shape.values) or nearest(text.capitalize(), shape.values)
        return f"did you mean `{meant}`?" if meant else None
    return None


def is_null(node: Node) -> bool:
    """Whether a member was left empty, which means the same as omitting it."""
    return isinstance(node, Scalar) and node.value is None


WANTED: dict[type, str] = {
    shapes.Text: "text",
    shapes.Identifier: "a UUID in quotes",
    shapes.Slug: "a slug",
    shapes.Boolean: "`true` or `false`",
    shapes.Integer: "an integer",
    shapes.Number: "a number",
    shapes.Choice: "text",
    shapes.Expression: "the text of an expression",
    shapes.Reference: "the slug of an object",
    shapes.Network: "an address or network as text",
    shapes.Moment: "a time as text",
    shapes.Origin: "an origin as text",
    shapes.UrlTemplate: "a URL as text",
    shapes.SecureUrl: "a URL as text",
}


def kind_of(node: Node) -> str:
    """The kind of a node, for messages."""
    match node:
        case Mapping():
            return "an object"
        case Sequence():
            return "a list"
        case Scalar(value=bool()):
            return "a bool"
        case Scalar(value=int() | float()):
            return "a number"
        case Scalar(value=None):
            return "nothing"
    return "text"


def stand_in(shape: shapes.Shape) -> Any:
    """A value of the right type for an unreadable member."""
    match shape:
        case shapes.Boolean():
            return False
        case shapes.Integer(minimum=minimum) | shapes.Number(minimum=minimum):
            return minimum
        case shapes.Many():
            return ()
        case shapes.Map():
            return {}
        case shapes.Anything():
            return None
        case shapes.Identifier():
            return STAND_IN_ID
        case shapes.Choice(values=values):
            return values[0]
        case shapes.Part(type=model):
            return _stand_in_object(model)
    return ""


def _stand_in_object(model: Any) -> Any:
    required = {
        name: stand_in(shapes.shape_of(attribute))
        for name, attribute in shapes.members(model).items()
        if attribute.default is attrs.NOTHING
    }
    return model(**required)
