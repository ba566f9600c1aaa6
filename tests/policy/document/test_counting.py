"""Documents that are wrong in very many places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tidegate.errors import DefinitionsError
from tidegate.policy.definitions.findings import MAX_FINDINGS
from tidegate.policy.document import checks, parse_document, read_document
from tidegate.policy.document.counting import NodeCount
from tidegate.policy.document.tree import MAX_MISTAKES

MANY = 50_000
UNKNOWN = {f"member{number}": number for number in range(MANY)}
SECTIONS = ("lists", "actions", "entities", "mitigations", "policies")
WRONG: dict[str, Any] = {
    "unknown members at the top": UNKNOWN,
    "unknown members of an object": {"actions": [{"name": "a", "expression": "true", **UNKNOWN}]},
    "unknown members of the settings": {"settings": UNKNOWN},
    "an unknown member of each object": {"actions": [{"x": 1}] * MANY},
    "names of the author's choice": {"mitigations": [{"block": {"headers": UNKNOWN}}]},
    "numbers as entries": {"lists": [{"name": "l", "kind": "ip", "entries": [1] * MANY}]},
    "objects as entries": {"lists": [{"name": "l", "kind": "ip", "entries": [{}] * MANY}]},
    "numbers as clauses": {"policies": [{"name": "p", "clauses": [1] * MANY}]},
    "too many clauses": {"policies": [{"name": "p", "clauses": [{}] * MANY}]},
    "numbers as names to redact": {"settings": {"redact": [1] * MANY}},
    "origins that are none": {"settings": {"return_url_origins": ["a"] * MANY}},
    "unknown modes": {"mitigations": [{"name": "m", "mode": "x", "ttl_seconds": 1}] * MANY},
    "priorities out of range": {"policies": [{"name": "p", "priority": 10**7}] * MANY},
    **{f"numbers as {name}": {name: [1] * MANY} for name in SECTIONS},
    **{f"empty objects as {name}": {name: [{}] * MANY} for name in SECTIONS},
    **{f"nulls as {name}": {name: [None] * MANY} for name in SECTIONS},
    **{f"wrong names of {name}": {name: [{"name": 1}] * MANY} for name in SECTIONS},
}  # fmt: skip


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of nodes that were made, in a list of one."""
    made = [0]
    add = NodeCount.add

    def counted(self: NodeCount, depth: int, offset: int | None, nodes: int = 1) -> None:
        made[0] += nodes
        add(self, depth, offset, nodes)

    monkeypatch.setattr(NodeCount, "add", counted)
    return iter([made])


def refused(document: Any) -> DefinitionsError:
    """The refusal of a document."""
    with pytest.raises(DefinitionsError) as refusal:
        read_document(document)
    return refusal.value


@pytest.mark.parametrize("what", WRONG)
def test_a_document_that_is_wrong_in_very_many_places_is_read_no_further(
    what: str, nodes: Iterator[list[int]]
) -> None:
    """The reading ends at the first mistake that is too many, and says where that is."""
    (made,) = nodes
    document = {"apiVersion": "tidegate/v1", **WRONG[what]}
    for form in (json.dumps(document), document):
        made[0] = 0
        (finding,) = refused(form).diagnostics
        assert f"more than {MAX_MISTAKES:,} mistakes" in finding.message
        assert made[0] < 5 * MAX_MISTAKES
    (finding,) = refused(json.dumps(document)).diagnostics
    assert finding.line == 1
    assert finding.column


@pytest.mark.parametrize("value", [[1] * MANY, {"a": [1] * MANY}, [[[1] * MANY]]])
@pytest.mark.parametrize("member", ["policeis", "apiversion", "tenant", "settings", "lists"])
def test_a_collection_where_there_may_be_none_is_one_mistake(
    member: str, value: Any, nodes: Iterator[list[int]]
) -> None:
    """However much is in it, the finding says what is wrong, as it does for a small one."""
    if isinstance(value, dict) == (member in ("tenant", "settings")):
        value = "a" if member == "lists" else [value]
    if member == "lists" and isinstance(value, list):
        value = {"entries": value}
    (made,) = nodes
    document = {"apiVersion": "tidegate/v1", member: value}
    small = {"apiVersion": "tidegate/v1", member: type(value)()}
    for form, like in ((json.dumps(document), json.dumps(small)), (document, small)):
        made[0] = 0
        found = refused(form).diagnostics
        assert made[0] < 10
        assert [each.code for each in found] == [each.code for each in refused(like).diagnostics]


def test_a_document_of_yaml_with_very_many_unknown_members_is_read_no_further() -> None:
    """YAML is read like JSON."""
    lines = "".join(f"member{number}: 1\n" for number in range(MANY))
    (finding,) = refused(f"apiVersion: tidegate/v1\n{lines}").diagnostics
    assert (finding.code, finding.line) == ("unknown-member", MAX_MISTAKES + 2)


@pytest.mark.parametrize("text", [json.dumps([1] * MANY), "- 1\n" * MANY])
def test_a_list_is_no_document(text: str, nodes: Iterator[list[int]]) -> None:
    """It is refused at its beginning."""
    (made,) = nodes
    found = refused(text).diagnostics
    assert [(each.code, each.line) for each in found] == [("wrong-type", 1), ("missing-member", 1)]
    assert made[0] == 1


def test_a_repeated_member_counts(nodes: Iterator[list[int]]) -> None:
    """An object has at most as many members as there are names."""
    (made,) = nodes
    text = '{"apiVersion": "tidegate/v1"' + ', "revision": 1' * MANY + "}"
    (finding,) = refused(text).diagnostics
    assert finding.code == "duplicate-member"
    assert made[0] < 2 * MAX_MISTAKES


@pytest.mark.parametrize("count", [1, 150, MAX_FINDINGS, MAX_FINDINGS + 50, MAX_MISTAKES - 1])
def test_the_first_findings_are_each_shown(count: int) -> None:
    """Each has its place; where there may be more, the text says so."""
    document = json.dumps({"apiVersion": "tidegate/v1", **{f"m{n}": 1 for n in range(count)}})
    error = refused(document)
    shown = min(count, MAX_FINDINGS)
    assert [each.pointer for each in error.diagnostics] == [f"/m{n}" for n in range(shown)]
    assert str(error).endswith("ended here") == (count >= MAX_FINDINGS)


def test_entries_that_are_no_addresses_are_counted_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first are shown."""
    looked: list[str] = []
    is_range = checks.is_range

    def noted(text: str) -> bool:
        looked.append(text)
        return is_range(text)

    monkeypatch.setattr(checks, "is_range", noted)

    def last(count: int) -> str:
        entries = [f"x{number}" for number in range(count)]
        named = [{"name": "l", "kind": "ip", "entries": entries}]
        found = refused({"apiVersion": "tidegate/v1", "lists": named}).diagnostics
        return str(found[-1].message)

    assert last(20).startswith("`x19`")
    assert last(25).startswith("5 more entries")
    looked.clear()
    assert last(50_000).startswith("more than 1,000 more entries")
    assert len(looked) < 2_000


def test_objects_with_many_findings_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their expressions would tell an author nothing new."""
    monkeypatch.setattr("tidegate.policy.document.compile_all", None)
    actions = [{"name": "a", "expression": "true"}] * (MAX_FINDINGS + 1)
    error = refused({"apiVersion": "tidegate/v1", "actions": actions})
    assert len(error.diagnostics) == MAX_FINDINGS
    assert {each.code for each in error.diagnostics} == {"duplicate-name"}


def test_what_is_skipped_is_json() -> None:
    """A collection that has no place hides no fault of the text."""
    for inside, code in (
        ("[1,]", "invalid-json"),
        ("[NaN]", "invalid-json"),
        ("[" * 100_000, "document-too-deep"),
        ('{"a" 1}', "invalid-json"),
    ):
        (finding,) = refused('{"apiVersion": "tidegate/v1", "x": ' + inside + "}").diagnostics
        assert finding.code == code
        assert finding.column is not None


def test_names_of_headers_are_of_the_authors_choice() -> None:
    """However many mitigations have headers, their names are not unknown members."""
    headers = {f"x-header-{number}": "a" for number in range(20)}
    blocks = [
        {"name": f"M{number}", "mode": "Block", "ttl_seconds": 0, "block": {"headers": headers}}
        for number in range(200)
    ]
    document = {"apiVersion": "tidegate/v1", "mitigations": blocks}
    for form in (json.dumps(document), document):
        parse_document(form).read()
