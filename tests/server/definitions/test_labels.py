"""Labels of definitions over HTTP: kept, replaced as a whole, exported, and bounded."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import made
from tests.server.serving import Caller

KINDS: dict[str, dict[str, Any]] = {
    "lists": {"name": "Labelled", "kind": "ip"},
    "actions": {"name": "Labelled", "expression": "true"},
    "entity-definitions": {"name": "Labelled", "key_fields": ["request.client_ip"]},
    "mitigations": {"name": "Labelled", "mode": "Block"},
    "policies": {"name": "Labelled", "clauses": [{"name": "one"}]},
}
LABELS = {"team": "accounts", "example.org/ticket-no_1": ""}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_stay_until_they_are_replaced(owner: Caller, tenant: str, kind: str) -> None:
    """Another change keeps them, and a change of labels replaces all of them."""
    saved = made(owner.post(f"{tenant}/{kind}", {**KINDS[kind], "labels": LABELS}))
    assert saved["labels"] == LABELS
    (member,) = (name for name in saved if name.endswith("_id") and name != "tenant_id")
    place = f"{tenant}/{kind}/{saved[member]}"
    assert made(owner.patch(place, {"description": "Another"}))["labels"] == LABELS
    listed = made(owner.get(f"{tenant}/{kind}?limit=500"))
    assert LABELS in [each["labels"] for each in listed]
    document = made(owner.get(f"{tenant}/definitions"))
    again = made(owner.request("PUT", f"{tenant}/definitions", json=document))
    assert again["changes"] == []
    assert made(owner.patch(place, {"labels": {"a": "b"}}))["labels"] == {"a": "b"}
    assert made(owner.patch(place, {"labels": {}}))["labels"] == {}
    newest = made(owner.get(f"{tenant}/audit?limit=1"))[0]
    assert (newest["before"]["labels"], newest["after"]["labels"]) == ({"a": "b"}, {})


@pytest.mark.parametrize(
    "labels",
    [
        {"-a": "x"},
        {"a" * 64: "x"},
        {"a b": "x"},
        {"": "x"},
        {"constructor": "x"},
        {"a": "x" * 201},
        {"a": "two\nlines"},
        {"a": None},
        {"a": 1},
        ["a"],
        {f"a{number}": "x" for number in range(17)},
    ],
    ids=lambda labels: str(labels)[:20],
)
def test_labels_out_of_bounds_are_refused(owner: Caller, tenant: str, labels: Any) -> None:
    """The problem leads to the labels, over every way in."""
    answer = owner.post(f"{tenant}/actions", {**KINDS["actions"], "labels": labels})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"].startswith("/labels")
    document = made(owner.get(f"{tenant}/definitions"))
    document["actions"] = [{**KINDS["actions"], "labels": labels}]
    whole = owner.request("PUT", f"{tenant}/definitions", json=document)
    assert whole.status_code == 422
    assert whole.json()["errors"][0]["pointer"].startswith("/actions/0/labels")
