"""``credentials.xml`` and ``runtime.xml``: one element with texts in it, and nothing else.

A document type is rejected before the parser sees it: entities are never expanded, and no other
file or address is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tidegate.errors import TidegateError
from tidegate_server.daemon import private

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 64 * 1024
MAX_CHARACTERS = 4_096
"""Characters of one text."""
_VISIBLE = re.compile(r"[\x20-\x7e]*")
_DECLARATION = re.compile(r'<\?xml version="1\.0"(?: encoding="(?i:utf-8)")?\s*\?>')


class XmlFileError(TidegateError):
    """A file is malformed; the message says what is wrong."""

    code = "invalid-xml-file"


def parse(content: bytes, root: str, names: Sequence[str]) -> dict[str, str]:
    """The texts in a document.

    Args:
        content: UTF-8 without a byte order mark.
        root: name of the element.
        names: allowed elements in it, each at most once.

    Raises:
        XmlFileError: it is anything else.
    """
    if len(content) > MAX_BYTES:
        raise XmlFileError(f"more than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise XmlFileError("it is no UTF-8") from None
    if text.startswith("\ufeff"):
        raise XmlFileError("it begins with a byte order mark")
    declared = _DECLARATION.match(text)
    rest = text[declared.end() :] if declared else text
    # Our texts never contain these, which rules out comments, processing instructions and types at
    # once.
    if "<!" in rest or "<?" in rest:
        raise XmlFileError("document types, entities, comments and instructions are not allowed")
    if rest.count("<") > 4 * (len(names) + 1):
        raise XmlFileError("it has more elements than it may have")
    try:
        element = ElementTree.fromstring(rest)  # noqa: S314 - what is dangerous was refused
    except (ElementTree.ParseError, ValueError) as error:
        raise XmlFileError(f"it is no XML: {error}") from None
    if element.tag != root or element.attrib or (element.text or "").strip():
        raise XmlFileError(f"it has to be one element `{root}` without attributes")
    found: dict[str, str] = {}
    for child in element:
        if child.tag not in names or child.attrib or len(child) or (child.tail or "").strip():
            raise XmlFileError(f"`{child.tag}` is not one of {', '.join(names)}, or not plain text")
        if child.tag in found:
            raise XmlFileError(f"`{child.tag}` is there twice")
        value = (child.text or "").strip(" ")
        if len(value) > MAX_CHARACTERS or not _VISIBLE.fullmatch(value):
            raise XmlFileError(f"`{child.tag}` has to be visible ASCII text")
        found[child.tag] = value
    return found


def read(path: Path, root: str, names: Sequence[str]) -> dict[str, str] | None:
    """The texts in a file; None if it doesn't exist.

    Raises:
        XmlFileError: it is malformed.
        PrivateFileError: it cannot be trusted.
    """
    content = private.read(path, MAX_BYTES)
    if content is None:
        return None
    try:
        return parse(content, root, names)
    except XmlFileError as error:
        raise XmlFileError(f"`{path}`: {error}") from None


def write(path: Path, root: str, values: Mapping[str, str]) -> None:
    """Write texts to a file.

    Raises:
        OSError: it cannot be written.
    """
    lines = [f"  <{name}>{escape(value)}</{name}>\n" for name, value in values.items()]
    document = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root}>\n{"".join(lines)}</{root}>\n'
    private.write(path, document.encode())
