"""Expressions that were checked for an earlier set of definitions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import DefinitionsError
from tidegate.policy.definitions.bundle import bundle
from tidegate.policy.document import read_document

CONDITIONS = (
    'request.path == "/a"',
    "actions.probe && true",
    "actions . probe || actions.crawl",
    'request.client_ip.inList("scanners")',
    'inList (request.host, "hosts")',
    'request.host.containsAny ("hosts")',
    "entity.event_count > 3",
    "request.path",
    "1 +",
    'request.headers.exists(actions, actions == "x")',
)


def document(
    conditions: list[str],
    actions: list[str],
    lists: list[str],
    *,
    on_entity: bool = True,
    kind: str = "string",
) -> dict[str, Any]:
    """A policy for each condition."""
    clause = {"entity": "address", "mitigation": "refuse"} if on_entity else {}
    return {
        "apiVersion": "tidegate/v1",
        "actions": [{"name": name, "expression": 'request.path == "/b"'} for name in actions],
        "entities": [{"name": "Address", "key_fields": ["request.client_ip"]}],
        "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 60}],
        "lists": [{"name": name, "kind": kind, "entries": ["::1"]} for name in lists],
        "policies": [
            {"name": f"Policy {number}", "clauses": [{**clause, "expression": text}]}
            for number, text in enumerate(conditions)
        ],
    }


DOCUMENTS = st.builds(
    document,
    st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=4),
    st.lists(st.sampled_from(("probe", "crawl", "other")), unique=True),
    st.lists(st.sampled_from(("scanners", "hosts")), unique=True),
    on_entity=st.booleans(),
    kind=st.sampled_from(("string", "ip")),
)
FIT = document(
    [CONDITIONS[0], CONDITIONS[1], CONDITIONS[3], CONDITIONS[6]], ["probe"], ["scanners"]
)


def outcome(content: dict[str, Any], before: Any = None) -> tuple[Any, ...]:
    """The result of reading: the live definitions and findings, or the refusal."""
    try:
        made = read_document(content, before)
    except DefinitionsError as error:
        return ("refused", error.diagnostics)
    return bundle(made.compiled), made.findings


@given(DOCUMENTS, DOCUMENTS)
def test_what_was_read_before_changes_nothing(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    """A document is read to the same definitions and findings, whatever was read before."""
    try:
        before = read_document(first)
    except DefinitionsError:
        before = read_document(FIT)
    assert outcome(second, before) == outcome(second)


def test_an_expression_is_not_checked_again() -> None:
    """The checked expressions of unchanged texts are those of the set before."""
    first = read_document(FIT)
    longer = {**FIT, "policies": [*FIT["policies"], {"name": "New", "clauses": [{}]}]}
    second = read_document(longer, first)
    for old, new in zip(first.compiled.policies, second.compiled.policies, strict=False):
        assert new.clauses[0].expression is old.clauses[0].expression


@pytest.mark.parametrize("gone", ["actions", "lists"])
def test_a_name_that_is_gone_is_found(gone: str) -> None:
    """An expression that passed before is refused when what it names is not there any more."""
    before = read_document(FIT)
    with pytest.raises(DefinitionsError):
        read_document({**FIT, gone: []}, before)


def test_what_is_not_used_any_more_is_let_go() -> None:
    """A set keeps its own expressions only, and not those of every set before it."""
    first = read_document(document(["true", "false"], [], []))
    second = read_document(document(["true"], [], []), first)
    third = read_document(document(["true", "false"], [], []), second)
    dropped, made = (each.compiled.policies[1].clauses[0].expression for each in (first, third))
    assert made is not dropped
    assert made.root == dropped.root  # the same, and made anew
