"""Where a cursor is in a document, broken or not."""

from __future__ import annotations

import pytest
from tests.lsp.documents import SHOP

from tidegate.lsp.place import place_at
from tidegate.lsp.text import Text

CLAUSE = ("policies", "*", "clauses", "*")
PLACES = [
    ("  - na|me: Offices", ("lists", "*"), False, "na"),
    ("    kind: i|p", ("lists", "*", "kind"), False, "i"),
    ("entries: [198.51|.100.0/24]", ("lists", "*", "entries", "*"), False, "198.51"),
    ("      actions.log|in\n", ("policies", "*", "expression"), False, "actions.log"),
    ('inList("off|ices")\n', ("policies", "*", "expression"), False, 'inList("off'),
    ("entity.event_c|ount", (*CLAUSE, "expression"), False, "entity.event_c"),
    ("actions: [log|in]", (*CLAUSE, "actions", "*"), False, "log"),
    ("entity: acc|ount\n", (*CLAUSE, "entity"), False, "acc"),
    ("duration_seconds: 6|0", (*CLAUSE, "window", "duration_seconds"), False, "6"),
    ("60, thres|hold: 3", (*CLAUSE, "window"), True, "thres"),
    ("key_fields: ['fields[\"acc|", ("entities", "*", "key_fields", "*"), False, 'fields["acc'),
]


@pytest.mark.parametrize(("marked", "path", "is_key", "text"), PLACES)
@pytest.mark.parametrize("broken", [False, True])
def test_a_place_is_found(
    marked: str, path: tuple[str, ...], is_key: bool, text: str, broken: bool
) -> None:
    """The path, and the text up to the cursor, are the same where nothing follows the cursor."""
    before, _, after = marked.partition("|")
    at = SHOP.index(before + after) + len(before)
    document = SHOP[:at] if broken else SHOP
    found = place_at(Text(document), at)
    assert (found.path, found.is_key) == (path, is_key)
    assert found.text.endswith(text)


STYLES = [
    ("expression: |\n      a ==\n        b|", "a ==\n  b", "block"),
    ("expression: >-\n      a: b\n      && c|", "a: b\n&& c", "block"),
    ("expression: 'it''s == x|", "it's == x", "single"),
    ('expression: "a == \\"b\\u0063\\"|', 'a == "bc"', "double"),
    ("expression: a &&\n      b|", "a && b", "plain"),
    ("expression: |\r\n      a\r\n      b|", "a\nb", "block"),
    ("expression: '\U0001f600' == 𝒙|", None, "single"),
]


@pytest.mark.parametrize(("written", "value", "style"), STYLES)
def test_a_value_is_read_as_yaml_reads_it(written: str, value: str | None, style: str) -> None:
    """Block, quoted and plain scalars give the expression that the engine would get."""
    head = "policies:\n  - name: a\n    "
    document = head + written.replace("|", "\0", written.count("|") - 1).replace("|", "")
    document = document.replace("\0", "|")
    found = place_at(Text(document), len(document))
    assert found.path == ("policies", "*", "expression")
    assert found.style == style
    assert value is None or found.text == value


def test_lists_may_begin_at_the_column_of_their_member() -> None:
    """YAML lets the dashes of a list stand below its name."""
    document = "policies:\n- name: a\n  clauses:\n  - entity: "
    assert place_at(Text(document), len(document)).path == (*CLAUSE, "entity")


def test_members_that_an_object_has_are_known() -> None:
    """Those above and below the cursor count, of the same object alone."""
    at = SHOP.index("        entity: account")
    document = SHOP[:at] + "        \n" + SHOP[at:]
    found = place_at(Text(document), at + 8)
    assert found.siblings == {"name", "expression", "actions", "entity", "mitigation", "window"}


def test_json_has_places_too() -> None:
    """The brackets and quotes of JSON say where the cursor is."""
    document = '{"policies": [{"name": "a, b", "clauses": [{"entity": "acc'
    found = place_at(Text(document), len(document))
    assert (found.path, found.text) == ((*CLAUSE, "entity"), "acc")


@pytest.mark.parametrize("end", range(0, len(SHOP), 3))
def test_no_beginning_of_a_document_fails(end: int) -> None:
    """A document cut anywhere has a place at its end, and at its middle."""
    text = Text(SHOP[:end])
    place_at(text, end)
    place_at(text, end // 2)
