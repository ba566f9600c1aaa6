"""Decisions that daemons forward, under ids that they chose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.server.deciding import Deciding, Service, deciding, made
from uuid_utils import uuid7


@pytest.fixture(scope="module")
def service(process: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service that daemons follow."""
    with deciding(tmp_path_factory.mktemp("forwarded")) as started:
        yield started


def event(number: int, decision_id: str, **more: str) -> dict[str, Any]:
    """A decision as a daemon forwards it, with further members of its line."""
    line = {
        "decision_id": decision_id,
        "source": None,
        "endpoint": "runtime",
        "revision": 1,
        "duration_us": 5,
        "answer": {"action": {"type": "allow"}, "reason": "no-match"},
        "record": {
            "action": {"type": "allow"},
            "reason": "no-match",
            "policy": None,
            "clause": None,
            "mitigation": None,
            "entities": [],
            "matched_actions": [],
            "fired": [],
            "errors": {},
        },
        "effects": [],
        "event": {"request": {"path": "/forwarded"}},
        **more,
    }
    index = [
        str(uuid4()), decision_id, 1, None, None, None, 1_700_000_000_000_000_000,
        "allow", "no-match", None, "/forwarded", "", [], [],
    ]  # fmt: skip
    return {"number": number, "line": line, "index": index}


def forward(shop: Deciding, *ids: str, **more: str) -> Any:
    """The answer to a batch of a new daemon of a tenant."""
    key = made(
        shop.by("Owner").post(f"{shop.path}/api-keys", {"name": str(uuid4()), "can_sync": True})
    )["key"]
    events = [event(number, each, **more) for number, each in enumerate(ids, 1)]
    batch = {"daemon_id": str(uuid4()), "spool_id": str(uuid4()), "events": events}
    answer = shop.service.http.post(
        "/api/v1/sync/events", json=batch, headers={"x-service-api-key": key}
    )
    return made(answer)


def test_a_forwarded_decision_keeps_its_trace(service: Service) -> None:
    """The trace of the call at the daemon is in the service's record; other text is refused."""
    shop, decision_id, trace_id = service.tenant(), str(uuid7()), "4bf92f3577b34da6a3ce929d0e0e4736"
    assert forward(shop, decision_id, trace_id=trace_id)["recorded"] == 1
    assert shop.get(f"decisions/{decision_id}")["trace_id"] == trace_id
    assert forward(shop, str(uuid7()), trace_id="<script>")["recorded"] == 0


def test_an_id_of_another_tenant_is_refused(service: Service) -> None:
    """The id of another tenant's decision would lead to this one, in a challenge or a message."""
    victim, hostile = service.tenant(), service.tenant()
    theirs = victim.decide("/")["decision_id"]
    own = str(uuid7())
    taken = forward(hostile, theirs, own)
    assert (taken["acknowledged"], taken["recorded"]) == (2, 1)
    assert [each["number"] for each in taken["refused"]] == [1]
    assert [each["decision_id"] for each in hostile.get("decisions")] == [own]
    assert victim.get(f"decisions/{theirs}")["event"]["request"]["path"] == "/"


def test_a_forwarded_id_is_not_free_either(service: Service) -> None:
    """Two tenants' daemons cannot both have an id."""
    first, second, decision_id = service.tenant(), service.tenant(), str(uuid7())
    assert forward(first, decision_id)["recorded"] == 1
    assert forward(second, decision_id)["recorded"] == 0


@pytest.mark.parametrize("far", [UUID(int=0), UUID(int=2**128 - 1)])
def test_a_batch_that_spans_much_is_taken_up_to_where_its_time_jumps(
    service: Service, far: UUID
) -> None:
    """A row of the log holds ids of a minute; what follows is sent again, and nothing is lost."""
    shop, near = service.tenant(), [str(uuid7()) for _ in range(3)]
    taken = forward(shop, *near[:2], str(far), near[2])
    assert (taken["acknowledged"], taken["recorded"], taken["refused"]) == (2, 2, [])
    assert {each["decision_id"] for each in shop.get("decisions")} == {*near[:2]}
    assert forward(shop, str(far), near[2])["acknowledged"] == 1
