"""A test is written from a recorded decision, or it is said why that can't be done."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import attrs
import httpx2
import pytest
from tests.server.deciding import DEFINITIONS, Deciding, deciding, made

from tidegate.functions.time import parse_moment
from tidegate.policy.document.yaml_text import write_yaml
from tidegate.testing.policies import policy_tests
from tidegate_server.stores import retention
from tidegate_server.stores.sqlite import SqliteStore

DAY = 86_400


def asked(shop: Deciding, decision: dict[str, Any], role: str = "Analyst") -> httpx2.Response:
    """The answer to a request for the test of a decision."""
    return shop.by(role).get(f"{shop.path}/decisions/{decision['decision_id']}/test")


def logins(shop: Deciding, count: int = 3) -> dict[str, Any]:
    """The last decision on some logins of one address."""
    return [shop.decide("/login") for _ in range(count)][-1]


def refusal(shop: Deciding, decision: dict[str, Any]) -> str:
    """Why a decision isn't made a test."""
    answer = asked(shop, decision)
    assert (answer.status_code, answer.json()["code"]) == (409, "not-recorded")
    return str(answer.json()["detail"])


def test_the_test_passes_with_the_export_and_fails_once_the_policy_is_broken(
    shop: Deciding, tmp_path: Path
) -> None:
    """`tidegate test` reads the answer as it is, next to the tenant's export."""
    block = logins(shop)
    written = made(asked(shop, block))
    assert written["file"] == f"decision-{block['decision_id']}.tidegate-test.yaml"
    assert written["revision"] == shop.get("")["definition_revision"]
    export = shop.get("definitions")
    (tmp_path / written["definitions"]).write_text(write_yaml(export))
    file = tmp_path / written["file"]
    file.write_text(written["text"])
    (test,) = policy_tests(file)
    test.check()
    export["policies"][0]["clauses"][0]["window"]["threshold"] = 4
    (tmp_path / written["definitions"]).write_text(write_yaml(export))
    (test,) = policy_tests(file)
    with pytest.raises(AssertionError, match="the window is not reached: 3 of 4 events"):
        test.check()


def test_a_decision_by_changed_definitions_is_refused_with_its_revision(shop: Deciding) -> None:
    """The refusal has the revision that decided, and what comes of the event now."""
    block = logins(shop)
    policy = shop.ids("policies")["stuffing"]
    made(shop.by("Owner").patch(f"{shop.path}/policies/{policy}", {"status": "draft"}))
    detail = refusal(shop, block)
    assert "it was made by revision" in detail
    assert "expected block" in detail


def test_a_hash_that_a_policy_reads_is_refused_by_its_name(shop: Deciding) -> None:
    """A secret is kept as a hash, and a test with it could not mean the same."""
    action = {"name": "Weak", "expression": 'fields["password"] == "hunter2"'}
    made(shop.by("Owner").post(f"{shop.path}/actions", action))
    detail = refusal(shop, shop.decide("/login", fields={"password": "hunter2"}))
    assert detail.startswith("`fields.password` is redacted in the records")
    assert "actions.weak.expression" in detail


def test_only_members_who_read_events_get_one(shop: Deciding) -> None:
    """A test has the events of visitors: Analysts and above; an unknown decision isn't found."""
    decision = shop.decide()
    found = {role: asked(shop, decision, role).status_code for role in ("Viewer", "Stranger")}
    assert found == {"Viewer": 403, "Stranger": 404}
    assert asked(shop, {"decision_id": str(uuid4())}).status_code == 404


def day_long() -> dict[str, Any]:
    """Definitions with a window as long as events are kept."""
    (stuffing, watch) = DEFINITIONS["policies"]
    (three,) = stuffing["clauses"]
    window = {"duration_seconds": DAY, "threshold": 3}
    clauses = [{**three, "window": window}]
    policies = [{**stuffing, "clauses": clauses}, watch]
    return {**DEFINITIONS, "policies": policies, "settings": {"retention_days": 1}}


def forget(directory: Path, tenant_id: str, before: str) -> None:
    """Delete a tenant's decisions before a time, as retention does."""
    store = SqliteStore(f"sqlite:///{directory / 'tidegate.db'}")
    tenant, limit = UUID(tenant_id), parse_moment(before).nanoseconds
    end = retention.END_OF_TIME_NS
    try:
        deleted = store.write(lambda to: retention.prune(to, tenant, limit, end)).result()
    finally:
        store.close()
    assert deleted == 2


def damage_first(directory: Path, tenant_id: str) -> int:
    """Damage the first record of a tenant; return its number."""
    with sqlite3.connect(directory / "tidegate.db") as connection:
        (row,) = connection.execute(
            "UPDATE decision_log SET body = zeroblob(length(body)) WHERE first_seq ="
            " (SELECT min(first_seq) FROM decision_log WHERE tenant_id = ?) RETURNING first_seq",
            (UUID(tenant_id).bytes,),
        )
    connection.close()
    return int(row[0])


def test_deleted_and_damaged_events_are_said(tmp_path: Path, process: None) -> None:
    """Where an event of the window is gone, the refusal says why; a damaged one has its number."""
    directory = tmp_path / "data"
    with deciding(directory) as service:
        shop, other = service.tenant(day_long()), service.tenant()
        block, damaged = logins(shop), logins(other)
        made(asked(shop, block))
        made(asked(other, damaged))
        received = shop.get(f"decisions/{block['decision_id']}")["received_at"]
    forget(directory, shop.tenant_id, received)
    number = damage_first(directory, other.tenant_id)
    with deciding(directory) as service:
        shop, other = (attrs.evolve(each, service=service) for each in (shop, other))
        assert "events before it may have been deleted by retention" in refusal(shop, block)
        answer = asked(other, damaged)
        assert (answer.status_code, answer.json()["code"]) == (500, "damaged-records")
        assert f"records {number} to {number}" in answer.json()["detail"]
