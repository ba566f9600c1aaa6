"""Documents with many members that no object has."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tidegate.errors import DefinitionsError
from tidegate.policy.document import parse_document, read_document
from tidegate.policy.document.tree import MAX_UNKNOWN

UNKNOWN = {f"member{number}": number for number in range(500_000)}
DOCUMENTS: dict[str, Any] = {
    "at the top": UNKNOWN,
    "in an object": {"actions": [{"name": "a", "expression": "true", **UNKNOWN}]},
    "in the settings": {"settings": UNKNOWN},
    "one in each of many objects": {"actions": [{"x": 1}] * 300_000},
    "among names of the author's choice": {"mitigations": [{"block": {"headers": UNKNOWN}}]},
}


def refused(document: Any) -> DefinitionsError:
    """The refusal of a document, which comes in less than a second of this process."""
    started = time.process_time()
    with pytest.raises(DefinitionsError) as refusal:
        read_document(document)
    assert time.process_time() - started < 1.0
    return refusal.value


@pytest.mark.parametrize("where", DOCUMENTS)
def test_a_document_with_very_many_unknown_members_is_refused_at_once(where: str) -> None:
    """The reading ends with their number and the place of the first that is too many."""
    document = {"apiVersion": "tidegate/v1", **DOCUMENTS[where]}
    for form in (json.dumps(document), document):
        (finding,) = refused(form).diagnostics
        assert finding.code == "unknown-member"
        assert f"{MAX_UNKNOWN:,}" in finding.message
    (finding,) = refused(json.dumps(document)).diagnostics
    assert finding.line == 1
    assert finding.column


def test_a_document_of_yaml_with_very_many_unknown_members_is_refused_at_once() -> None:
    """YAML is read no further either."""
    lines = "".join(f"member{number}: 1\n" for number in range(500_000))
    (finding,) = refused(f"apiVersion: tidegate/v1\n{lines}").diagnostics
    assert (finding.code, finding.line) == ("unknown-member", MAX_UNKNOWN + 2)


def test_a_few_unknown_members_are_each_found() -> None:
    """Each has its place and a hint."""
    document = json.dumps({"apiVersion": "tidegate/v1", **{f"m{n}": 1 for n in range(150)}})
    found = refused(document).diagnostics
    assert [each.pointer for each in found] == [f"/m{number}" for number in range(150)]


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
