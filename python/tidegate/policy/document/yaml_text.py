"""YAML text to a tree, and plain data to YAML text.  The only module that imports the YAML library.

Only the features that definitions need are read: one document, plain data.  Anchors, aliases and
tags are rejected, so a small text cannot expand to a large tree and no text creates an object.
Plain scalars follow YAML 1.2's core schema: ``NO`` is a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from tidegate.policy.document.counting import NodeCount
from tidegate.policy.document.expected import ANY, whole_document
from tidegate.policy.document.tree import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    Style,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as AbstractMapping

    from tidegate.policy.document.expected import Expected

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_UNFOLDED = 2**30
"""Wider than any line: a fold could turn the rest of an expression into a comment."""
_STYLES: dict[str | None, Style] = {
    None: "plain",
    "": "plain",
    "'": "single",
    '"': "double",
    "|": "literal",
    ">": "folded",
}
_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BROKEN_VALUES = ("mapping values are not allowed", "did not find expected key", "scanning a tag")
"""The library's messages when it reads a plain value as something else."""
# Longer numbers stay text, which no number member accepts.
_INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,30}|[0-9]{1,30}(?:\.[0-9]{0,30})?)(?:[eE][-+]?[0-9]{1,3})?")


def compose_yaml(text: str, wanted: Expected | None = None) -> Node:
    """The tree for a YAML text.

    Args:
        text: the text.
        wanted: the expected value, a definitions document by default.

    Raises:
        UnreadableDocumentError: it isn't YAML, uses an unsupported feature, or exceeds a limit.
    """
    try:
        return _compose(yaml.parse(text, Loader=_LOADER), wanted or whole_document())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(filter(None, (error.context, error.problem))) or "cannot be read"
        offset = mark.index if mark else None
        raise unreadable("invalid-yaml", message, offset, _quoting(message)) from None
    except yaml.reader.ReaderError as error:
        message = "a character that YAML does not allow"
        raise unreadable("invalid-yaml", message, error.position) from None
    except yaml.YAMLError as error:
        raise unreadable("invalid-yaml", str(error).lower()) from None


def _quoting(message: str) -> str | None:
    """How to quote a value that YAML reads as something else; None for other mistakes."""
    if not any(each in message for each in _BROKEN_VALUES):
        return None
    return (
        "quote it: a value that holds `: `, or begins with a quotation mark, `!`, `[` or `{`, goes"
        " in single quotes, or on the line below `>-`"
    )


class _Open:
    """A collection whose end has not been read yet."""

    def __init__(self, start: int, wanted: Expected | None, *, is_mapping: bool) -> None:
        self.start = start
        self.wanted = wanted
        """None if the collection has no place; nothing inside it is kept."""
        self.inner: Expected | None = None
        """The expected value for the last name."""
        self.is_mapping = is_mapping
        self.nodes: list[Node] = []

    @property
    def expects_key(self) -> bool:
        """Whether the next node is the name of a member."""
        return self.is_mapping and len(self.nodes) % 2 == 0

    def next(self, count: NodeCount, name: str, offset: int) -> Expected | None:
        """The expected and already counted next node; a name may be any text."""
        if self.wanted is None:
            return None
        if not self.is_mapping:
            return count.item(len(self.nodes), self.wanted, offset)
        if not self.expects_key:
            return self.inner
        self.inner = count.name(name, self.wanted, len(self.nodes) // 2, offset)
        return ANY

    def close(self, count: NodeCount, end: int) -> Node:
        if not self.is_mapping:
            return Sequence(tuple(self.nodes), self.start, end)
        keys = [_key(node) for node in self.nodes[::2]]
        entries = list(zip(keys, self.nodes[1::2], strict=True))
        if self.wanted is not None:
            count.end(entries, self.wanted, self.start)
        return Mapping(tuple(entries), self.start, end)


def _compose(events: Iterator[Any], whole: Expected) -> Node:
    count = NodeCount()
    stack: list[_Open] = []
    root: Node | None = None
    for event in events:
        node: Node
        start: int = event.start_mark.index
        around = stack[-1] if stack else None
        match event:
            case yaml.ScalarEvent():  # checked first, since lists have a million of them
                _refuse_extras(event)
                count.add(len(stack), start)
                node = _scalar(event, is_key=around is not None and around.expects_key)
                wanted = around.next(count, event.value, start) if around else whole
                if wanted is not None:
                    count.scalar(node.value, wanted, start)
            case yaml.AliasEvent():
                raise _not_offered("aliases", event)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                _refuse_extras(event)
                count.add(len(stack), start)
                is_mapping = isinstance(event, yaml.MappingStartEvent)
                wanted = around.next(count, "", start) if around else whole
                if wanted is not None and not count.collection(
                    wanted, is_object=is_mapping, offset=start
                ):
                    if around is None:  # the reader rejects a list, whatever is in it
                        return Sequence((), start, start + 1)
                    wanted = None
                stack.append(_Open(start, wanted, is_mapping=is_mapping))
                continue
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                node = stack.pop().close(count, start)
                around = stack[-1] if stack else None
            case yaml.DocumentStartEvent() if root is not None:
                raise unreadable("invalid-yaml", "a second document", start)
            case _:
                continue
        if around is None:
            root = node
        else:
            around.nodes.append(node)
    if root is None:
        raise unreadable("invalid-yaml", "the document is empty")
    return root


def _refuse_extras(event: Any) -> None:
    if event.anchor is not None:
        raise _not_offered("anchors", event)
    if event.tag is not None:
        raise _not_offered("tags", event)


def _not_offered(what: str, event: Any) -> Exception:
    return unreadable(
        "unsupported-yaml",
        f"{what} are not offered",
        event.start_mark.index,
        hint="write the value out; values used by many rules can be a named list",
    )


def _key(node: Node) -> Scalar:
    if isinstance(node, Scalar):
        return node
    raise unreadable("invalid-yaml", "a member's name must be text", node.start)


def _scalar(event: Any, *, is_key: bool) -> Scalar:
    style = _STYLES[event.style]
    value = _resolve(event.value) if style == "plain" and not is_key else event.value
    return Scalar(value, event.start_mark.index, event.end_mark.index, style)


def _resolve(text: str) -> str | int | float | bool | None:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def write_yaml(document: AbstractMapping[str, Any]) -> str:
    """Plain data as YAML text, which ``compose_yaml`` reads back unchanged.

    Args:
        document: objects, lists, texts, numbers, bools and nulls.
    """
    written: str = yaml.dump(
        document, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=_UNFOLDED
    )
    return written


class _Writer(_DUMPER):  # type: ignore[misc]
    """Writes YAML as this module reads it: without anchors, with the same idea of a text."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def text(self, text: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", text, _written_style(text))


_Writer.add_representer(str, _Writer.text)


def _written_style(text: str) -> str | None:
    """The style that preserves a text; None leaves the choice to the library."""
    lines = text.split("\n")
    if not all(each.isprintable() for each in lines):
        return '"'
    if len(lines) > 1:
        is_block = bool(lines[0]) and not any(each != each.strip() for each in lines)
        return "|" if is_block else '"'
    return None if _resolve(text) is text else "'"
