"""Converts a tree to the model: every member by its shape, every finding at once.

An unreadable member is reported and replaced by a stand-in, so that the rest of the document is
checked too; a model with stand-ins is never returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from tidegate.language.parse.comments import comment_spans
from tidegate.language.tree.diagnostics import nearest, quote
from tidegate.policy.definitions import shapes
from tidegate.policy.definitions.findings import MAX_FINDINGS, Finding, SecondPlace, pointer_to
from tidegate.policy.definitions.model import (
    API_VERSION,
    DEFAULT_TENANT,
    NAMESPACE,
    Clause,
    Definitions,
    Tenant,
    derived_id,
)
from tidegate.policy.definitions.slugs import form_of_slug, slug_from_name
from tidegate.policy.document.expected import API_VERSION_MEMBER
from tidegate.policy.document.forms import LABEL, header_problem, label_problem
from tidegate.policy.document.members import (
    WANTED,
    hint_for,
    is_null,
    kind_of,
    stand_in,
    text_problem,
)
from tidegate.policy.document.positions import joins_lines
from tidegate.policy.document.tree import Mapping, Node, Ready, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Mapping as AbstractMapping

    from tidegate.language.tree.ast import Span
_LONGEST_NAME = 100
"""Longer than the name of any member."""


@attrs.frozen
class _Member:
    key: Node
    value: Node


@attrs.frozen
class Reading:
    """The result of reading a tree: the model and the findings.

    ``definitions`` is None if there were too many findings to continue, and ``stand_ins`` has the
    pointers of unreadable members.
    """

    definitions: Definitions | None
    findings: list[Finding]
    stand_ins: set[str]

    def is_stand_in(self, pointer: str) -> bool:
        """Whether a member, or something around it, could not be read."""
        while pointer:
            if pointer in self.stand_ins:
                return True
            pointer = pointer.rpartition("/")[0]
        return False


def read_tree(root: Node, text: str = "") -> Reading:
    """The definitions in a tree, with every finding about single members.

    Args:
        root: the tree.
        text: the document it was built from, if any.
    """
    reader = _Reader(text)
    try:
        definitions = reader.definitions(root)
    except _EnoughError:
        definitions = None
    return Reading(definitions, reader.findings, reader.stand_ins)


def read_model(
    root: Node, text: str, model: type[attrs.AttrsInstance], version: str
) -> tuple[Any, list[Finding]]:
    """An instance of a model that isn't of definitions, and the findings about its members.

    The instance is None where there are findings.

    Args:
        root: the tree.
        text: the document it was built from.
        model: the class of the whole document.
        version: the value of ``apiVersion``.
    """
    reader = _Reader(text)
    try:
        made = reader.whole(model, version, root)
    except _EnoughError:
        made = None
    return None if reader.findings else made, reader.findings


class _EnoughError(Exception):
    """The maximum number of findings is reached."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.findings: list[Finding] = []
        self.stand_ins: set[str] = set()
        self._namespace = str(NAMESPACE)

    def definitions(self, root: Node) -> Definitions:
        members = self._members(root, "", "a definitions document")
        self._api_version(members.pop(API_VERSION_MEMBER, None), API_VERSION)
        tenant = DEFAULT_TENANT
        if "tenant" in members and not is_null(members["tenant"].value):
            tenant = self._object(Tenant, members["tenant"].value, "/tenant")
        self._namespace = tenant.tenant_id
        made: Definitions = self._build(Definitions, members, "", ready={"tenant": tenant})
        return made

    def whole(self, model: Any, version: str, root: Node) -> Any:
        members = self._members(root, "", "an object")
        self._api_version(members.pop(API_VERSION_MEMBER, None), version)
        return self._build(model, members, "")

    def _api_version(self, member: _Member | None, version: str) -> None:
        wanted = f"write `{API_VERSION_MEMBER}: {version}`"
        if member is None:
            self._report("missing-member", f"`{API_VERSION_MEMBER}` is missing", "", hint=wanted)
        elif not isinstance(member.value, Scalar) or member.value.value != version:
            pointer = f"/{API_VERSION_MEMBER}"
            self._report("unknown-version", "unknown version of the format", pointer, hint=wanted)

    def _object(self, model: Any, node: Node, pointer: str) -> Any:
        if isinstance(node, Ready) and isinstance(node.model, model):
            return node.model
        if not isinstance(node, Mapping):
            self._wrong_type("an object", node, pointer)
            return self._stand_in(shapes.Part(model), pointer)
        return self._build(model, self._members(node, pointer, "an object"), pointer)

    def _members(self, node: Node, pointer: str, wanted: str) -> dict[str, _Member]:
        """Members by name; the first of a repeated name counts."""
        if not isinstance(node, Mapping):
            self._wrong_type(wanted, node, pointer)
            return {}
        members: dict[str, _Member] = {}
        for key, value in node.entries:
            name = str(key.value)
            if name in members:
                place = pointer_to(pointer, name)
                first = SecondPlace("first given here", place, offset=members[name].key.start)
                message = f"{quote(name)} is given twice"
                self._report("duplicate-member", message, place, at=key, second=(first,))
            else:
                members[name] = _Member(key, value)
        return members

    def _build(
        self,
        model: Any,
        members: dict[str, _Member],
        pointer: str,
        ready: dict[str, Any] | None = None,
    ) -> Any:
        """A model instance from its members, with stand-ins for unreadable ones."""
        known = shapes.members(model)
        self._refuse_unknown(members, known, pointer)
        values = dict(ready or {})
        for name, attribute in known.items():
            member = members.get(name)
            if values.get(name) is None and member is not None and not is_null(member.value):
                shape = shapes.shape_of(attribute)
                values[name] = self._value(shape, member.value, pointer_to(pointer, name))
        self._derive(model, values, pointer)
        for name, attribute in known.items():
            if values.get(name) is None:
                values.pop(name, None)
                if attribute.default is attrs.NOTHING:
                    if name != "slug":  # without a slug, the name it derives from was reported
                        self._report("missing-member", f"`{name}` is missing", pointer)
                    shape = shapes.shape_of(attribute)
                    values[name] = self._stand_in(shape, pointer_to(pointer, name))
        return model(**{known[name].name: value for name, value in values.items()})

    def _refuse_unknown(
        self, members: dict[str, _Member], known: AbstractMapping[str, Any], pointer: str
    ) -> None:
        for name in (each for each in members if each not in known):
            meant = nearest(name[:_LONGEST_NAME], known)
            self._report(
                "unknown-member",
                f"unknown member {quote(name)}",
                pointer_to(pointer, name),
                at=members[name].key,
                hint=f"did you mean `{meant}`?" if meant else "known are " + ", ".join(known),
            )

    def _derive(self, model: Any, values: dict[str, Any], pointer: str) -> None:
        """Fill in optional members: slug, id, the name of a clause."""
        if model is Clause:
            values.setdefault("name", f"clause-{int(pointer.rpartition('/')[2]) + 1}")
            return
        known = shapes.members(model)
        if "slug" not in known:
            return
        shape = shapes.shape_of(known["slug"])
        kind = shape.kind if isinstance(shape, shapes.Slug) else ""
        if "slug" not in values and values.get("name"):
            values["slug"] = slug_from_name(values["name"], kind)
            if not values["slug"]:
                hint = f"give a `slug`: {form_of_slug(kind)}"
                message = f"the name {quote(values['name'])} gives no slug"
                self._report("invalid-slug", message, pointer_to(pointer, "name"), hint=hint)
        identifier = next(name for name in known if name.endswith("_id"))
        slug = values.get("slug", "")
        if not slug:
            self.stand_ins.add(pointer_to(pointer, identifier))
        values.setdefault(identifier, derived_id(self._namespace, kind, slug))

    def _value(self, shape: shapes.Shape, node: Node, pointer: str) -> Any:
        match shape:
            case shapes.Part(type=model):
                return self._object(model, node, pointer)
            case shapes.Many():
                return self._many(shape, node, pointer)
            case shapes.Headers():
                return self._headers(shape, node, pointer)
            case shapes.Labels():
                return self._labels(shape, node, pointer)
            case shapes.Anything():
                return self._anything(node, pointer)
            case shapes.Map():
                return self._named(shape, node, pointer)
            case shapes.Boolean():
                return self._scalar(shape, node, pointer, bool)
            case shapes.Integer() | shapes.Number():
                return self._number(shape, node, pointer)
        value = self._scalar(shape, node, pointer, str)
        if value is None:
            return self._stand_in(shape, pointer)
        if isinstance(shape, shapes.Expression) and "//" in value:
            self._comments(node, value, pointer)
        problem = text_problem(shape, value)
        if problem is None:
            return value.lower() if isinstance(shape, shapes.Identifier) else value
        self._report(*problem, pointer, hint=hint_for(shape, value))
        return self._stand_in(shape, pointer)

    def _comments(self, node: Node, value: str, pointer: str) -> None:
        """Reject a comment that swallows the line below it."""
        for span in comment_spans(value):
            comment = value[span.start : span.end]
            joined = isinstance(node, Scalar) and joins_lines(node, self._text, span)
            if joined or len(comment.splitlines()) > 1:
                message = "this comment takes in the line below it, since the two are one line here"
                hint = "write the expression below `|`, which keeps its lines, instead of `>-`"
                self._report("comment-over-lines", message, pointer, hint=hint, span=span)
                return

    def _scalar(self, shape: shapes.Shape, node: Node, pointer: str, kind: type) -> Any:
        if isinstance(node, Scalar) and isinstance(node.value, kind):
            if not _has_lone_surrogate(node.value):
                return node.value
            self._report("invalid-text", "the text has a lone surrogate", pointer)
            return None
        self._wrong_type(WANTED[type(shape)], node, pointer, wants_text=kind is str)
        return None if kind is str else stand_in(shape)

    def _number(self, shape: shapes.Integer | shapes.Number, node: Node, pointer: str) -> Any:
        value = node.value if isinstance(node, Scalar) else None
        kinds = (int,) if isinstance(shape, shapes.Integer) else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds):
            self._wrong_type(WANTED[type(shape)], node, pointer)
            return self._stand_in(shape, pointer)
        if not shape.minimum <= value <= shape.maximum:
            message = f"{value} is not between {shape.minimum} and {shape.maximum}"
            self._report("out-of-range", message, pointer)
            return self._stand_in(shape, pointer)
        return value

    def _many(self, shape: shapes.Many, node: Node, pointer: str) -> tuple[Any, ...]:
        if not isinstance(node, Sequence):
            self._wrong_type("a list", node, pointer)
            return ()
        if not shape.minimum <= len(node.items) <= shape.maximum:
            allowed = f"from {shape.minimum} to {shape.maximum} may be given"
            message = f"{len(node.items)} items, but {allowed}"
            self._report("wrong-length", message, pointer)
        kept = node.items[: shape.maximum]
        values = tuple(
            self._value(shape.item, item, pointer_to(pointer, at))
            if (text := _plain(shape.item, item)) is None
            else text
            for at, item in enumerate(kept)
        )
        if shape.unique:
            self._refuse_repeats(values, pointer)
        return values

    def _refuse_repeats(self, values: tuple[Any, ...], pointer: str) -> None:
        seen: dict[Any, int] = {}
        for at, value in enumerate(values):
            if seen.setdefault(value, at) != at and value != "":
                message = f"{quote(value)} is given twice"
                first = SecondPlace("first given here", pointer_to(pointer, seen[value]))
                self._report("duplicate-item", message, pointer_to(pointer, at), second=(first,))

    def _anything(self, node: Node, pointer: str) -> Any:
        """A tree as plain data."""
        match node:
            case Mapping():
                members = self._members(node, pointer, "an object")
                return {
                    name: self._anything(each.value, pointer_to(pointer, name))
                    for name, each in members.items()
                }
            case Sequence(items=items):
                return [
                    self._anything(each, pointer_to(pointer, at)) for at, each in enumerate(items)
                ]
        return node.value

    def _named(self, shape: shapes.Map, node: Node, pointer: str) -> dict[str, Any]:
        members = self._members(node, pointer, "an object of names and values")
        if len(members) > shape.maximum:
            message = f"{len(members)} names, but at most {shape.maximum} may be given"
            self._report("wrong-length", message, pointer)
        return {
            name: self._value(shape.item, each.value, pointer_to(pointer, name))
            for name, each in members.items()
        }

    def _headers(self, shape: shapes.Headers, node: Node, pointer: str) -> dict[str, str]:
        members = self._members(node, pointer, "an object of header names and values")
        if len(members) > shape.maximum:
            message = f"{len(members)} headers, but at most {shape.maximum} may be given"
            self._report("wrong-length", message, pointer)
        headers: dict[str, str] = {}
        names: set[str] = set()
        for name, each in members.items():
            place = pointer_to(pointer, name)
            value = self._scalar(shapes.Text(), each.value, place, str)
            problem = header_problem(name, value) if value is not None else None
            if problem is None and name.lower() in names:
                problem = "given twice, in different case"
            if problem is not None:
                self._report("invalid-header", f"header {quote(name)}: {problem}", place)
            elif value is not None:
                headers[name] = value
            names.add(name.lower())
        return headers

    def _labels(self, shape: shapes.Labels, node: Node, pointer: str) -> dict[str, str]:
        members = self._members(node, pointer, "an object of names and texts")
        if len(members) > shape.maximum:
            message = f"{len(members)} labels, but at most {shape.maximum} may be given"
            self._report("wrong-length", message, pointer)
        labels: dict[str, str] = {}
        for name, each in members.items():
            place = pointer_to(pointer, name)
            problem = label_problem(name)
            if problem is not None:
                message = f"label {quote(name)}: {problem}"
                self._report("invalid-label", message, place, at=each.key)
            labels[name] = self._value(LABEL, each.value, place)
        return labels

    def _stand_in(self, shape: shapes.Shape, pointer: str) -> Any:
        self.stand_ins.add(pointer)
        return stand_in(shape)

    def _wrong_type(
        self, wanted: str, node: Node, pointer: str, *, wants_text: bool = False
    ) -> None:
        quotable = wants_text and isinstance(node, Scalar) and node.style == "plain"
        hint = "put it in quotes" if quotable else None
        self._report("wrong-type", f"expected {wanted}, found {kind_of(node)}", pointer, hint=hint)

    def _report(
        self,
        code: str,
        message: str,
        pointer: str,
        *,
        at: Node | None = None,
        hint: str | None = None,
        span: Span | None = None,
        second: tuple[SecondPlace, ...] = (),
    ) -> None:
        offset = at.start if at is not None else None
        self.findings.append(
            Finding(code, message, pointer, hint=hint, offset=offset, span=span, second=second)
        )
        if len(self.findings) >= MAX_FINDINGS:
            raise _EnoughError


def _plain(shape: shapes.Shape, node: Node) -> str | None:
    """A text with nothing to report, so that most of a million need no position."""
    if not isinstance(shape, shapes.Text) or not isinstance(node, Scalar):
        return None
    text = node.value
    if not isinstance(text, str) or _has_lone_surrogate(text):
        return None
    return text if text_problem(shape, text) is None else None


def _has_lone_surrogate(value: object) -> bool:
    return (
        isinstance(value, str)
        and not value.isascii()
        and any("\ud800" <= character <= "\udfff" for character in value)
    )
