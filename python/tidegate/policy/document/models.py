"""Documents of other models than the definitions: read by the same rules, with positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.language.tree.diagnostics import Source
from tidegate.policy.definitions.findings import refuse
from tidegate.policy.document.expected import whole_document
from tidegate.policy.document.positions import at_offset
from tidegate.policy.document.tree import UnreadableDocumentError, decode
from tidegate.policy.document.yaml_text import compose_yaml

if TYPE_CHECKING:
    import attrs

    from tidegate.policy.document.tree import Node


def parse_model(text: str | bytes, model: type[attrs.AttrsInstance]) -> tuple[Node, Source]:
    """The tree for a YAML document, and its text.

    Args:
        text: the document; bytes are UTF-8.
        model: the class of the whole document.

    Raises:
        DefinitionsError: the text cannot be read.
    """
    source: Source | None = None
    try:
        source = Source(decode(text))
        return compose_yaml(source.text, whole_document(model)), source
    except UnreadableDocumentError as error:
        raise refuse([at_offset(error.finding, source)]) from None
