"""The documents of tests/documents: some must load, some must be refused, and how."""

from __future__ import annotations

from pathlib import Path

import attrs
import orjson
import pytest
import yaml

from tidegate.definitions import load_compiled, load_definitions
from tidegate.errors import DefinitionsError
from tidegate.policy.definitions.model import Block, Definitions, Mitigation, Tenant
from tidegate.policy.document import compile_definitions, read_document, to_document, tree

DOCUMENTS = Path(__file__).parents[2] / "documents"
GOOD = sorted((DOCUMENTS / "good").iterdir())
BAD = sorted(path for path in (DOCUMENTS / "bad").iterdir() if path.suffix != ".expected")
TENANT = Tenant(tenant_id="0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e", name="T", slug="t")


def name_of(path: Path) -> str:
    return path.name


def findings(document: object) -> list[tuple[str, str]]:
    """Code and pointer of everything wrong with a document."""
    with pytest.raises(DefinitionsError) as caught:
        read_document(document)  # type: ignore[arg-type]
    return [(finding.code, finding.pointer) for finding in caught.value.diagnostics]


@pytest.mark.parametrize("path", GOOD, ids=name_of)
def test_good_documents_load(path: Path) -> None:
    """A good document has no finding at all."""
    assert load_compiled(path).findings == ()


@pytest.mark.parametrize("path", GOOD, ids=name_of)
def test_a_document_survives_the_way_out_and_in(path: Path) -> None:
    """Definitions written as plain data, as JSON and as YAML are the same definitions again."""
    definitions = load_definitions(path)
    document = to_document(definitions)
    assert load_definitions(document) == definitions
    assert read_document(orjson.dumps(document)).compiled.source == definitions
    assert read_document(yaml.safe_dump(document)).compiled.source == definitions


@pytest.mark.parametrize("path", BAD, ids=name_of)
def test_bad_documents_are_refused_with_every_finding(path: Path) -> None:
    """All mistakes are reported at once, each with its code, place and pointer."""
    with pytest.raises(DefinitionsError) as caught:
        load_definitions(path)
    found = [
        f"{each.line}:{each.column} {each.code} {each.pointer}".rstrip()
        for each in caught.value.diagnostics
    ]
    assert found == path.with_name(path.name + ".expected").read_text().splitlines()


@pytest.mark.parametrize("path", BAD, ids=name_of)
def test_messages_follow_the_house_style(path: Path) -> None:
    """Messages begin in lower case or with what the user wrote, and have no final stop."""
    with pytest.raises(DefinitionsError) as caught:
        load_definitions(path)
    for each in caught.value.diagnostics:
        assert not each.message[0].isupper()
        assert not each.message.endswith(".")
        assert each.message in str(caught.value)


def test_the_same_mistakes_are_found_in_plain_data() -> None:
    """A mapping is checked by the same rules; its findings have pointers but no lines."""
    document = yaml.safe_load((DOCUMENTS / "bad" / "whole.yaml").read_text())
    expected = (DOCUMENTS / "bad" / "whole.yaml.expected").read_text().splitlines()
    assert sorted(findings(document)) == sorted(tuple(line.split(" ", 2)[1:]) for line in expected)


def test_a_finding_carries_the_line_with_a_caret() -> None:
    """The refusal shows the offending text, marked."""
    with pytest.raises(DefinitionsError) as caught:
        load_definitions(DOCUMENTS / "bad" / "expressions.yaml")
    assert "13:12: error: unknown field `nope`" in str(caught.value)
    assert "      && nope\n             ^^^^" in str(caught.value)


def test_yaml_words_that_look_like_bools_are_text() -> None:
    """`NO`, `on` and `1e3x` are texts; `true` and `12` are not."""
    entries = "[NO, on, yes, 0o7, 12:30:00, 2026-01-01]"
    lists = f"[{{name: L, kind: string, entries: {entries}}}]"
    text = f"apiVersion: tidegate/v1\ntenant: {{name: T}}\nlists: {lists}"
    (named,) = read_document(text).compiled.source.lists
    assert named.entries == ("NO", "on", "yes", "0o7", "12:30:00", "2026-01-01")


def test_json_with_tabs_and_surrogate_pairs_is_json() -> None:
    """A document that begins with a brace is read as JSON, which YAML is not quite."""
    compiled = load_compiled(DOCUMENTS / "good" / "plain.json").compiled
    assert compiled.source.tenant.name == "\N{GRINNING FACE} Smile"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "- " * 5_000,
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "{" * 100_000,
        "? " * 5_000,
        "\x00",
        "a: 'unfinished",
        "9" * 100_000,
        '{"revision": ' + "9" * 100_000 + "}",
        "%YAML 9.9\n---\na: 1",
        b"\xff\xfe",
        "\ufeff",
        "",
    ],
    ids=range(14),
)
def test_hostile_texts_are_refused_quickly(text: str | bytes) -> None:
    """Depth, aliases, numbers and encodings are refused before they cost anything."""
    with pytest.raises(DefinitionsError):
        read_document(text)


def test_an_enormous_document_is_refused() -> None:
    """Size is bounded before anything is read."""
    assert findings(b" " * (tree.MAX_BYTES + 1)) == [("document-too-large", "")]


@pytest.mark.parametrize(
    "document",
    ["lists: [" + "0," * 99 + "]", '{"lists": [' + "0," * 99 + "0]}", {"lists": [0] * 99}],
)
def test_too_many_values_are_refused(document: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of values is bounded whatever their size."""
    monkeypatch.setattr(tree, "MAX_NODES", 100)
    assert findings(document)[0][0] == "document-too-large"


@pytest.mark.parametrize("rest", ["", ", [not, read", "]]] {"])
def test_a_list_that_is_too_long_is_refused_before_the_rest_is_read(
    rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reading ends at the first item that is too many, whatever follows."""
    monkeypatch.setattr(tree, "MAX_ITEMS", 100)
    for start in ("lists: [", '{"lists": ['):
        assert findings(start + "0, " * 100 + "0" + rest) == [("document-too-large", "")]
    assert findings({"lists": [0] * 101}) == [("document-too-large", "")]


@pytest.mark.parametrize("value", [object(), b"x", {1: 2}, {"tenant": {"name": {1, 2}}}])
def test_plain_data_that_no_document_can_hold_is_refused(value: object) -> None:
    """Only texts, numbers, bools, null, lists and mappings with text keys make a document."""
    document = value if isinstance(value, dict) else {"tenant": value}
    assert findings(document)[0][0] == "wrong-type"


def test_definitions_made_by_hand_are_checked_when_used() -> None:
    """The model's bounds hold for instances that never were a document."""
    mitigation = Mitigation(
        mitigation_id=TENANT.tenant_id,
        name="M",
        slug="m",
        mode="Block",
        block=Block(status_code=200, headers={"a b": "c"}),
    )
    with pytest.raises(DefinitionsError) as caught:
        compile_definitions(Definitions(tenant=TENANT, mitigations=(mitigation,)))
    assert [each.pointer for each in caught.value.diagnostics] == [
        "/mitigations/0/block/status_code",
        "/mitigations/0/block/headers/a b",
    ]


def test_a_changed_copy_of_loaded_definitions_is_checked_again() -> None:
    """A changed copy of checked definitions is checked again."""
    definitions = load_definitions(DOCUMENTS / "good" / "everything.yaml")
    assert compile_definitions(definitions).source is definitions
    broken = attrs.evolve(definitions, actions=())
    with pytest.raises(DefinitionsError, match="no such object in `actions`"):
        compile_definitions(broken)


def test_ids_are_derived_from_slugs() -> None:
    """A document without ids gives the same ids whenever it is read, others for another tenant."""
    document = {
        "apiVersion": "tidegate/v1",
        "tenant": {"name": "T"},
        "actions": [{"name": "A", "expression": "true"}],
    }
    first, again = load_definitions(document), load_definitions(document)
    other = load_definitions({**document, "tenant": {"name": "U"}})
    assert first.actions[0].action_id == again.actions[0].action_id != other.actions[0].action_id


def test_repeated_list_entries_are_a_warning() -> None:
    """Repeated entries of a list give a warning, not an error."""
    document = {
        "apiVersion": "tidegate/v1",
        "tenant": {"name": "T"},
        "lists": [{"name": "L", "kind": "string", "entries": ["a", "b", "a"]}],
    }
    (finding,) = read_document(document).findings
    assert (finding.code, finding.severity) == ("duplicate-entries", "warning")


def test_many_bad_entries_are_summed_up() -> None:
    """A list of a hundred thousand wrong entries does not fill the screen."""
    document = {
        "apiVersion": "tidegate/v1",
        "tenant": {"name": "T"},
        "lists": [{"name": "L", "kind": "ip", "entries": ["x"] * 50 + ["y"]}],
    }
    assert len([code for code, _ in findings(document) if code == "invalid-address"]) == 21


@pytest.mark.parametrize(
    "document",
    [
        {f"member{number}": 0 for number in range(50_000)},
        {"lists": [0] * 50_000},
        {"actions": [{"name": f"a{n}", "expression": "nope"} for n in range(2_000)]},
        {"policies": [{"name": "p", "clauses": [{"entity": f"e{n}"} for n in range(50)]}] * 400},
    ],
    ids=["unknown", "wrong", "expressions", "references"],
)
def test_finding_stops_when_enough_was_found(document: dict[str, object]) -> None:
    """A document of nothing but mistakes costs at most as much as its first few hundred."""
    assert len(findings(document)) < 1_000
