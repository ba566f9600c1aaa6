"""Changes objects in the text of a document, and leaves the rest of the text as it is.

YAML libraries that write a tree again lose comments and layout. So only the lines of objects that
changed are written, and the result is read again and compared with the intended document.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from tidegate.errors import DefinitionsError
from tidegate.packs.labels import VERSION_LABEL
from tidegate.packs.objects import SECTIONS, slug_of
from tidegate.packs.pack import PackError
from tidegate.policy.document import parse_document
from tidegate.policy.document.plain_data import to_python
from tidegate.policy.document.tree import Mapping, Scalar, Sequence, find
from tidegate.policy.document.yaml_text import write_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as AbstractMapping

    from tidegate.policy.document.tree import Node

_COMMENT = re.compile(r"(?:^|(?<=\s))#", re.MULTILINE)
_HEADER = re.compile(r"[|>][-+0-9]*[ \t]+#")
_ITEM = re.compile(r"([ \t]*)-[ \t]+")


@attrs.frozen
class _Edit:
    """A part of the text and its replacement."""

    start: int
    end: int
    text: str


def edit(text: str, after: AbstractMapping[str, Any], *, drop_comments: bool = False) -> str:
    """The text of a document with other objects.

    Args:
        text: the document.
        after: the intended document.
        drop_comments: whether comments may be lost where lines are written again.

    Raises:
        DefinitionsError: the text cannot be read.
        PackError: comments would be lost.
    """
    if text.lstrip()[:1] == "{":
        return json.dumps(after, indent=2, ensure_ascii=False) + "\n"
    root = parse_document(text).root
    edits = list(_edits(text, root, after))
    lost = [line for each in edits for line in _comments(text, root, each.start, each.end)]
    edited = _applied(text, edits)
    if not _says(edited, after):
        lost, edited = _comments(text, root, 0, len(text)), write_yaml(after)
    if lost and not drop_comments:
        lines = ", ".join(map(str, lost[:10])) + (", …" if len(lost) > 10 else "")
        raise PackError(
            f"this would lose the comments in these lines: {lines}; --drop-comments drops them"
        )
    return edited


def _says(text: str, wanted: AbstractMapping[str, Any]) -> bool:
    """Whether a text is a document; sections without objects count as left out."""
    try:
        found = to_python(parse_document(text).root)
    except DefinitionsError:
        return False
    return _without_empty(found) == _without_empty(wanted)


def _without_empty(document: AbstractMapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value or name not in SECTIONS}


def _edits(text: str, root: Node, after: AbstractMapping[str, Any]) -> Iterator[_Edit]:
    nodes = {key.value: value for key, value in _entries(root)}
    missing: list[str] = []
    for section in SECTIONS:
        wanted = {slug_of(section, each): each for each in after.get(section) or ()}
        node = nodes.get(section)
        items = node.items if isinstance(node, Sequence) else ()
        if not items:
            if wanted and section not in nodes:
                missing.append(f"\n{section}:\n" + _items(list(wanted.values()), 2))
            elif wanted and node is not None:
                end = _end(text, node)
                yield _Edit(_start(node), end, "\n" + _items(list(wanted.values()), 2).rstrip("\n"))
            continue
        yield from _of_section(text, section, items, wanted)
    if missing:
        gap = "" if text.endswith("\n") or not text else "\n"
        yield _Edit(len(text), len(text), gap + "".join(missing))


def _of_section(
    text: str, section: str, items: tuple[Node, ...], wanted: dict[str, Any]
) -> Iterator[_Edit]:
    """The edits of a section that has objects."""
    present = {slug_of(section, found): found for found in map(to_python, items)}
    nodes = dict(zip(present, items, strict=True))
    spans = dict(zip(present, (_span(text, each) for each in items), strict=True))
    first, _ = next(iter(spans.values()))
    dash = _ITEM.match(text, first)
    indent = len(dash[1]) if dash else 0
    behind: dict[str | None, list[Any]] = {None: []}
    anchor: str | None = None
    for slug, each in wanted.items():
        if slug in present:
            anchor = slug
            behind[anchor] = []
        else:
            behind[anchor].append(each)
    yield _Edit(first, first, _items(behind[None], indent))
    for slug, (start, end) in spans.items():
        changed = [wanted[slug]] if slug in wanted else []
        version = _version(nodes[slug], present[slug], wanted.get(slug))
        if version is not None:
            yield version
        elif changed != [present[slug]]:
            yield _Edit(start, end, _items(changed, indent))
        gap = "" if text[:end].endswith("\n") else "\n"
        new = _items(behind.get(slug, []), indent)
        yield _Edit(end, end, gap + new if new else "")


def _version(item: Node, before: Any, after: Any) -> _Edit | None:
    """The edit of an object in which nothing but the label with a pack's version changes."""
    node = find(item, f"/labels/{VERSION_LABEL}")
    version = ((after or {}).get("labels") or {}).get(VERSION_LABEL)
    if not isinstance(node, Scalar) or version is None or after == before:
        return None
    if {**before, "labels": {**before["labels"], VERSION_LABEL: version}} != after:
        return None
    return _Edit(_start(node), node.end or 0, json.dumps(version))


def _items(objects: list[Any], indent: int) -> str:
    if not objects:
        return ""
    written = write_yaml({"_": objects}).partition("\n")[2]
    first = len(written) - len(written.lstrip())
    lines = written.splitlines(keepends=True)
    return "".join(" " * indent + line[first:] if line.strip() else line for line in lines)


def _span(text: str, item: Node) -> tuple[int, int]:
    """The lines of an item of a list, from its dash on."""
    start = text.rfind("\n", 0, _start(item)) + 1
    end = text.find("\n", _end(text, item))
    return start, len(text) if end < 0 else end + 1


def _start(node: Node) -> int:
    return node.start or 0


def _end(text: str, node: Node) -> int:
    """Where a node ends, without the comments and blank lines behind it."""
    if isinstance(node, Scalar):
        end = node.end or 0
        while node.style in ("literal", "folded") and end and text[end - 1] in " \n":
            end -= 1
        return end
    if text[_start(node) : _start(node) + 1] in ("{", "["):
        return (node.end or 0) + 1
    return max((_end(text, each) for each in _inside(node)), default=_start(node))


def _inside(node: Node) -> Iterator[Node]:
    if isinstance(node, Sequence):
        yield from node.items
    for key, value in _entries(node):
        yield key
        yield value


def _entries(node: Node) -> tuple[tuple[Scalar, Node], ...]:
    return node.entries if isinstance(node, Mapping) else ()


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    for each in _inside(node):
        yield from _scalars(each)


def _comments(text: str, root: Node, start: int, end: int) -> list[int]:
    """The lines with comments in a part of a text."""
    if start == end:
        return []
    masked = list(text)
    for each in _scalars(root):
        first, last = each.start or 0, _end(text, each)
        is_block = each.style in ("literal", "folded")
        header = _HEADER.match(text, first) if is_block else None
        masked[first:last] = "x" * (last - first)
        if header is not None:
            masked[header.end() - 2 : header.end()] = " #"
    found = _COMMENT.finditer("".join(masked), start, end)
    return [text.count("\n", 0, each.start()) + 1 for each in found]


def _applied(text: str, edits: list[_Edit]) -> str:
    ordered = sorted(edits, key=lambda each: each.start)
    # From the end on; of two at the same place, the later one comes behind the earlier one.
    for each in reversed(ordered):
        text = text[: each.start] + each.text + text[each.end :]
    return text
