"""Every question at every place of a document has an answer, and none fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tidegate.lsp.analysis import Analysis, check, linted, read
from tidegate.lsp.completion import completions
from tidegate.lsp.edits import definition, fixes, formatted, references, rename, slug_at
from tidegate.lsp.hover import hover
from tidegate.lsp.text import Text

DOCUMENTS = Path(__file__).parents[1] / "documents"
FILES = [
    *sorted((DOCUMENTS / "good").iterdir()),
    *(DOCUMENTS / "bad" / name for name in ("expressions.yaml", "members.yaml", "whole.yaml")),
]


def analysed(text: str) -> Analysis:
    """All that the checker finds of a text."""
    found, parsed = read(text, None)
    if parsed is None:
        return found
    checked = check(found, parsed, None)
    return linted(checked, parsed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_every_offset_has_answers(path: Path, ending: str) -> None:
    """Completions, hovers and slugs are asked at each offset of documents, good and bad."""
    text = Text(path.read_text().replace("\n", ending))
    known = analysed(text.text)
    found = 0
    for at in range(len(text.text) + 1):
        found += len(completions(text, at, known, None).items)
        hover(text, at, known, None)
        definition(text, at, known)
    assert found or path.suffix == ".json" or "whole" in path.name
    list(fixes(text, known, text.range(0, len(text.text))))
    formatted(text)


def test_every_slug_can_be_renamed() -> None:
    """Renamed objects and references leave a document that is as valid as before."""
    text = Text((DOCUMENTS / "good/everything.yaml").read_text())
    known = analysed(text.text)
    renamed = set()
    for at in range(len(text.text)):
        slug = slug_at(text, at, known)
        if slug is None or slug.named in renamed:
            continue
        renamed.add(slug.named)
        edits = rename(text, at, "renamed", known)
        assert len(edits) == 1 + len(references(text, at, known))
        made = text
        for each in sorted(edits, key=lambda each: each.range.start, reverse=True):
            made = made.changed(lsp.TextDocumentContentChangePartial(each.range, each.new_text))
        assert analysed(made.text).compilation is not None
        assert "slug: renamed" in made.text
    assert len(renamed) == len(known.objects)


@pytest.mark.parametrize("end", range(0, 2400, 37))
def test_every_beginning_of_a_document_has_answers(end: int) -> None:
    """A document that ends anywhere is completed there, by the names of the last good one."""
    whole = (DOCUMENTS / "good/everything.yaml").read_text()
    last, _ = read(whole, None)
    text = Text(whole[:end])
    known, _ = read(text.text, last)
    assert known.objects or known.root is not None
    completions(text, len(text.text), known, None)
    hover(text, len(text.text), known, None)
