"""Definitions from a document's text, and from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate import DefinitionsError, Engine, load_definitions, parse_definitions

YAML = """\
apiVersion: tidegate/v1
mitigations: [{name: Größe, slug: grosse, mode: Block}]
policies: [{name: All, clauses: [{mitigation: grosse}]}]
"""
JSON = (
    '{"apiVersion":"tidegate/v1","mitigations":[{"name":"Größe","slug":"grosse","mode":"Block"}],'
    '"policies":[{"name":"All","clauses":[{"mitigation":"grosse"}]}]}'
)


@pytest.mark.parametrize("text", [YAML, JSON], ids=["yaml", "json"])
def test_text_and_bytes_are_the_same_as_the_file(tmp_path: Path, text: str) -> None:
    """A document that comes from elsewhere needs no file, and decides as one in a file does."""
    path = tmp_path / "definitions.yaml"
    path.write_text(text, encoding="utf-8")
    definitions = load_definitions(path)
    assert [each.name for each in definitions.mitigations] == ["Größe"]
    for form in (text, text.encode()):
        assert parse_definitions(form) == definitions
    assert Engine(parse_definitions(text)).decide({"request": {"path": "/"}}).action.type == "block"


def test_a_refused_text_says_where() -> None:
    """The findings have line and column of the text, as those about a file have."""
    for form in (YAML + "polices: []\n", (YAML + "polices: []\n").encode()):
        with pytest.raises(DefinitionsError) as refused:
            parse_definitions(form)
        (finding,) = refused.value.diagnostics
        assert (finding.line, finding.column) == (4, 1)
        assert "did you mean `policies`" in str(refused.value)


def test_bytes_that_are_no_text_are_refused() -> None:
    """Bytes are UTF-8; others are a finding and no other error."""
    with pytest.raises(DefinitionsError):
        parse_definitions(b"apiVersion: \xff")
