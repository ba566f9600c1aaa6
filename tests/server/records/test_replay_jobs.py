"""Replay jobs: drafts over recorded events, and the decisions that come out otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import attrs
import orjson
import pytest
from tests.server.deciding import DEFINITIONS, Deciding, deciding, made
from tests.store_contract.examples import TENANT, done, tenant

from tidegate_server.control.app import Application
from tidegate_server.engines.comparison import Outcomes
from tidegate_server.engines.replay import Draft, Replays, bounded, warm_up_ns
from tidegate_server.engines.serving import TenantEngine
from tidegate_server.http.ids import new_id
from tidegate_server.operators.keys import KEY_BYTES, Keys
from tidegate_server.records.decisions import find
from tidegate_server.records.replayed import made_again
from tidegate_server.stores.databases import migrate
from tidegate_server.stores.decision_log import lines, log, replay_jobs
from tidegate_server.stores.decision_log.decisions import Clock
from tidegate_server.stores.decision_log.lines import LogBlock
from tidegate_server.stores.objects import tenants
from tidegate_server.stores.sqlite import SqliteStore

WAIT_SECONDS = 30
HOUR = timedelta(hours=1)


def period() -> dict[str, str]:
    now = datetime.now(UTC)
    return {"since": (now - HOUR).isoformat(), "until": (now + HOUR).isoformat()}


def replay(shop: Deciding, **draft: Any) -> dict[str, Any]:
    """A job, once it is over."""
    job = made(shop.by("Analyst").post(f"{shop.path}/replay-jobs", {**period(), **draft}))
    until = time.monotonic() + WAIT_SECONDS
    while job["status"] in ("queued", "running"):
        assert time.monotonic() < until
        time.sleep(0.02)
        job = shop.get(f"replay-jobs/{job['replay_job_id']}")
    return dict(job)


def stricter(threshold: int) -> dict[str, Any]:
    """The definitions with another threshold."""
    policy = DEFINITIONS["policies"][0]
    window = {"duration_seconds": 60, "threshold": threshold}
    clause = {**policy["clauses"][0], "window": window}
    return {**DEFINITIONS, "policies": [{**policy, "clauses": [clause]}]}


@pytest.fixture
def busy(shop: Deciding) -> list[dict[str, Any]]:
    """Four logins, of which the last two are blocked, and one look at what is watched."""
    return [*(shop.decide("/login") for _ in range(4)), shop.decide("/watched", "192.0.2.8")]


def test_the_saved_definitions_decide_the_same_again(
    shop: Deciding, busy: list[dict[str, Any]]
) -> None:
    """The saved definitions, replayed from an empty state in event time, decide alike."""
    job = replay(shop, policy_id=shop.ids("policies")["stuffing"])
    assert (job["status"], job["error"], job["progress"]) == ("done", None, len(busy))
    result = job["result"]
    assert result["recorded"] == result["replayed"] == {"allow": 3, "challenge": 0, "block": 2}
    assert (result["events"], result["different"], result["skipped"]) == (5, 0, 0)
    assert result["policies"] == [
        {"policy": "stuffing", "recorded": 2, "replayed": 2},
        {"policy": "watch", "recorded": 1, "replayed": 1},
    ]
    assert shop.get(f"replay-jobs/{job['replay_job_id']}/differences") == []
    assert len(shop.get("decisions")) == len(busy)


def test_nothing_but_a_period_replays_what_is_saved(
    shop: Deciding, busy: list[dict[str, Any]]
) -> None:
    """Without a draft the saved definitions run as they are, as the schema says."""
    job = replay(shop)
    assert (job["status"], job["policy_id"], job["time"]) == ("done", None, "observed")
    assert (job["result"]["events"], job["result"]["different"]) == (len(busy), 0)


def test_a_period_means_when_events_were_observed(shop: Deciding) -> None:
    """An event of last week that was sent today is replayed for last week, as results count it."""
    # Within one bucket of the timeline, whatever the time is now.
    week_ago = (datetime.now(UTC) - timedelta(days=7)).replace(minute=30, second=0)
    for address in ("192.0.2.7", "192.0.2.8"):
        shop.decide("/login", address)
    for second in range(3):
        shop.decide("/login", observed_at=(week_ago + timedelta(seconds=second)).isoformat())
    then = {"since": (week_ago - HOUR).isoformat(), "until": (week_ago + HOUR).isoformat()}
    late = replay(shop, **then)
    assert (late["status"], late["progress"]) == ("done", late["total"])
    assert late["result"]["events"] == 3
    assert late["result"]["different"] == 0
    (timeline,) = [each for each in shop.get("results/timeline", **then) if each["total"]]
    assert late["result"]["recorded"] == {
        each: timeline[each] for each in ("allow", "challenge", "block")
    }
    assert replay(shop)["result"]["events"] == 2
    assert replay(shop, time="received")["result"]["events"] == 5
    assert replay(shop, time="received", **then)["result"]["events"] == 0


def test_a_draft_shows_what_it_decides_otherwise(
    shop: Deciding, busy: list[dict[str, Any]]
) -> None:
    """A lower threshold blocks one login more; a deleted policy no longer fires."""
    job = replay(shop, definitions=stricter(2))
    result = job["result"]
    assert result["replayed"] == {"allow": 2, "challenge": 0, "block": 3}
    assert result["policies"][1] == {"policy": "watch", "recorded": 1, "replayed": 0}
    assert (result["different"], result["differences_listed"]) == (1, 1)
    (difference,) = shop.get(f"replay-jobs/{job['replay_job_id']}/differences")
    assert difference["decision_id"] == busy[1]["decision_id"]
    assert difference["recorded"]["action"] == "allow"
    assert difference["replayed"] == {
        "action": "block",
        "reason": "policy",
        "policy": "stuffing",
        "clause": "three",
        "mitigation": "refuse",
    }
    one = f"replay-jobs/{job['replay_job_id']}/differences"
    assert shop.get(one, decision_id=busy[1]["decision_id"]) == [difference]
    assert shop.get(one, decision_id=busy[0]["decision_id"]) == []
    place = f"replay-jobs/{job['replay_job_id']}/differences/summary"
    groups = {"path": "/login", "policy": "stuffing", "action": "allow to block", "country": None}
    for by, value in groups.items():
        found = shop.get(place, role="Analyst", by=by)
        assert (found["counted"], found["complete"]) == (1, True)
        assert found["outcomes"] == [{"recorded": "allow", "replayed": "block", "count": 1}]
        (group,) = found["groups"]
        assert (group["value"], group["count"], group["stricter"]) == (value, 1, 1)
        assert group["example"] == busy[1]["decision_id"]
    (group,) = shop.get(place, by="entity")["groups"]
    assert group["label"].startswith("a")


def test_what_a_draft_decides_is_explained(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """The replayed side has the trace of the draft, over the state that the draft made."""
    job = replay(shop, definitions=stricter(2))
    place = f"replay-jobs/{job['replay_job_id']}/differences"
    differs = f"{place}/{busy[1]['decision_id']}/explain"
    found = shop.get(differs, role="Analyst")
    assert (found["reproduced"], found["because"], found["earlier_entries"]) == (True, [], 1)
    assert (found["recorded"]["action"]["type"], found["decision"]["action"]["type"]) == (
        "allow",
        "block",
    )
    (policy,) = found["trace"]["policies"]
    (clause,) = policy["clauses"]
    assert (clause["fired"], clause["window"]["threshold"], clause["window"]["value"]) == (
        True,
        2,
        2,
    )
    same = shop.get(f"{place}/{busy[0]['decision_id']}/explain")
    assert (same["reproduced"], same["decision"]["action"]["type"]) == (True, "allow")
    missing = shop.by("Analyst").get(f"{shop.path}/{place}/{uuid4()}/explain")
    assert missing.status_code == 404


def test_one_policy_can_be_changed(shop: Deciding, busy: list[dict[str, Any]]) -> None:
    """The rest stays as it is saved; the pages of what differs join."""
    assert busy
    policies, actions = shop.ids("policies"), shop.ids("actions")
    draft = {
        "name": "Stuffing",
        "clauses": [
            {
                "name": "all",
                "action_ids": [actions["login"]],
                "mitigation_id": shop.ids("mitigations")["prove"],
            }
        ],
    }
    job = replay(shop, policy_id=policies["stuffing"], policy=draft)
    assert job["policy_id"] == policies["stuffing"]
    assert job["result"]["replayed"] == {"allow": 1, "challenge": 4, "block": 0}
    path = f"/api/v1/{shop.path}/replay-jobs/{job['replay_job_id']}/differences?limit=3"
    seen: list[str] = []
    while path:
        answer = shop.by("Analyst").get(path)
        seen += [each["decision_id"] for each in made(answer)]
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert seen == [each["decision_id"] for each in busy[:4]]


@pytest.mark.parametrize(
    ("draft", "code", "pointer"),
    [
        ({"policy": {"name": "x", "clauses": [{}]}}, "invalid-request", "/policy_id"),
        (
            {"definitions": {}, "policy": {"name": "x", "clauses": [{}]}},
            "invalid-request",
            "/policy",
        ),
        ({"definitions": {}, "policy_id": str(UUID(int=7))}, "invalid-request", "/policy_id"),
        ({"time": "sent"}, "invalid-request", "/time"),
        ({"definitions": {}}, "invalid-definitions", "/definitions"),
        (
            {
                "definitions": {
                    "apiVersion": "tidegate/v1",
                    "actions": [{"name": "A", "expression": "x"}],
                }
            },
            "invalid-definitions",
            "/definitions/actions/0/expression",
        ),
        (
            {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
            "invalid-request",
            "/until",
        ),
    ],
)
def test_a_wrong_draft_is_refused(
    shop: Deciding, draft: dict[str, Any], code: str, pointer: str
) -> None:
    """A wrong draft is refused at once, with a pointer into the body."""
    answer = shop.by("Analyst").post(f"{shop.path}/replay-jobs", {**period(), **draft})
    assert answer.status_code == 422
    assert answer.json()["code"] == code
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert shop.get("replay-jobs") == []


CHANGED_BY_RUNNING = {"status", "progress", "result", "started_at", "finished_at"}


def test_jobs_are_audited(shop: Deciding) -> None:
    """The audit trail says who ran a job."""
    job = replay(shop, definitions=stricter(2))
    newest = shop.get("audit", kind="replay-job")
    assert [(each["action"], each["object_id"]) for each in newest] == [
        ("create", job["replay_job_id"])
    ]
    created = newest[0]["after"]
    assert {name for name in job if job[name] != created[name]} <= CHANGED_BY_RUNNING
    assert newest[0]["actor_name"]
    missing = shop.by("Owner").get(f"{shop.path}/replay-jobs/{uuid4()}")
    assert missing.status_code == 404


def test_an_interrupted_job_says_so(
    tmp_path_factory: pytest.TempPathFactory, process: None
) -> None:
    """A job interrupted by a restart has failed, and says so."""
    directory = tmp_path_factory.mktemp("interrupted")
    with deciding(directory) as service:
        shop = service.tenant()
    store = SqliteStore(f"sqlite:///{directory / 'tidegate.db'}")
    job = waiting(UUID(shop.tenant_id))
    done(store.write(lambda c: replay_jobs.create(c, job)))
    store.close()
    with deciding(directory) as again:
        shop.service = again
        found = shop.get(f"replay-jobs/{job.job_id}")
    assert found["status"] == "failed"
    assert "stopped" in found["error"]


def test_a_job_that_kept_no_draft_says_so(
    tmp_path_factory: pytest.TempPathFactory, process: None
) -> None:
    """A job of an earlier version has no trace, and the reason is said."""
    directory = tmp_path_factory.mktemp("earlier")
    with deciding(directory) as service:
        shop = service.tenant()
        decision_id = UUID(shop.decide("/login")["decision_id"])
    store = SqliteStore(f"sqlite:///{directory / 'tidegate.db'}")
    job = waiting(UUID(shop.tenant_id))
    done(store.write(lambda c: replay_jobs.create(c, job)))
    name = (job.tenant_id, job.job_id)
    done(store.write(lambda c: replay_jobs.start(c, *name, START_NS)))
    found = replay_jobs.Difference(ordinal=0, decision_id=decision_id, recorded={}, replayed={})
    done(store.write(lambda c: replay_jobs.advance(c, *name, 1, [found], START_NS)))
    store.close()
    with deciding(directory) as again:
        shop.service = again
        answer = shop.get(f"replay-jobs/{job.job_id}/differences/{decision_id}/explain")
    assert (answer["reproduced"], answer["trace"]) == (False, None)
    assert answer["because"] == ["the draft of an older job is not kept: run it again"]


# --- the worker by itself ----------------------------------------------------------------------

DOCUMENT = {**stricter(3), "tenant": {"tenant_id": str(TENANT), "name": "Shop"}}
START_NS = 1_760_000_000_000_000_000
SECOND_NS = 1_000_000_000
LOGIN = b'{"request":{"path":"/login","client_ip":"192.0.2.7"}}'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store with a tenant."""
    url = f"sqlite:///{tmp_path / 'data' / 'tidegate.db'}"
    migrate(url)
    made_store = SqliteStore(url)
    done(made_store.write(lambda connection: tenants.create(connection, tenant())))
    yield made_store
    made_store.close()


def moment(seconds: int) -> str:
    """A number of seconds after the start, as events state times."""
    return datetime.fromtimestamp(START_NS // SECOND_NS + seconds, UTC).isoformat()


def waiting(tenant_id: UUID = TENANT) -> replay_jobs.ReplayJob:
    request = {"since_ns": 0, "until_ns": 1, "policy_id": None, "total": 0}
    return replay_jobs.ReplayJob(
        job_id=new_id(),
        tenant_id=tenant_id,
        request=request,
        actor="ann",
        created_at_ns=START_NS,
        updated_at_ns=START_NS,
    )


def record(store: SqliteStore, *events: tuple[int, bytes]) -> list[str]:
    """Decide and record events, each after some seconds; their ids."""
    engine = TenantEngine(DOCUMENT)
    entries, ids = [], []
    for number, (seconds, event) in enumerate(events):
        at = START_NS + seconds * SECOND_NS
        decision_id = str(UUID(int=(at // 1_000_000) << 80 | 7 << 76 | 2 << 62 | number))
        served = engine.serve(event, at, decision_id)
        line = lines.encode_line(
            decision_id, at, None, b"null", "runtime", None, 1, 1,
            served.answer, served.record, served.effects, event,
        )  # fmt: skip
        index = lines.encode_index(
            str(TENANT), decision_id, at, None, None, served.observed_at, served.action,
            served.reason, None, None, served.entity_ids, [], [],
        )  # fmt: skip
        entries.append(LogBlock.of_one(TENANT, UUID(decision_id), at, line, index))
        ids.append(decision_id)
    done(store.append(entries))
    store.index_now()
    return ids


def replaying(store: SqliteStore) -> Replays:
    """Jobs that run in this process."""
    key = bytes(range(KEY_BYTES))
    keys = Keys(**{each.name: key for each in attrs.fields(Keys)})
    application = Application(store=store, keys=keys)
    return Replays(store, lambda job: job(application))


def drafted(document: dict[str, Any], from_ns: int, to_ns: int, clock: Clock = "received") -> Draft:
    content = orjson.dumps(document)
    return Draft(tenant_id=TENANT, document=content, from_ns=from_ns, to_ns=to_ns, clock=clock)


def run(
    store: SqliteStore,
    seconds: tuple[int, int],
    document: dict[str, Any] = DOCUMENT,
    clock: Clock = "received",
) -> replay_jobs.ReplayJob:
    """A job over a time, once it is over."""
    job = waiting()
    done(store.write(lambda c: replay_jobs.create(c, job)))
    replays = replaying(store)
    from_ns, to_ns = (START_NS + each * SECOND_NS for each in seconds)
    replays.submit(job.job_id, drafted(document, from_ns, to_ns, clock))
    until = time.monotonic() + WAIT_SECONDS
    while True:
        with store.read() as connection:
            found = replay_jobs.find(connection, TENANT, job.job_id)
        if found.status in replay_jobs.ENDED:
            replays.close()
            return found
        assert time.monotonic() < until
        time.sleep(0.01)


def test_events_before_the_period_warm_the_windows(store: SqliteStore) -> None:
    """The third login within a minute is the only one asked for, and it is blocked."""
    record(store, (0, LOGIN), (1, LOGIN), (2, LOGIN), (3, LOGIN))
    job = run(store, (2, 3))
    assert job.result is not None
    assert job.result["events"] == 1
    assert job.result["replayed"] == {"allow": 0, "challenge": 0, "block": 1}
    assert job.result["different"] == 0


@pytest.mark.parametrize(
    ("most", "ran", "action", "because"),
    [
        (2, 2, "block", []),
        (
            1,
            1,
            "allow",
            ["the draft ran over 1 entries before the decision; the replay began earlier"],
        ),
    ],
)
def test_a_decision_is_made_again_over_so_many_entries(
    store: SqliteStore, most: int, ran: int, action: str, because: list[str]
) -> None:
    """The third login is blocked again; with one entry before it, it is not, and the reason is
    said."""
    (*_, third) = record(store, (0, LOGIN), (1, LOGIN), (2, LOGIN))
    draft = drafted(DOCUMENT, START_NS, START_NS + 3 * SECOND_NS)
    with store.read() as connection:
        found, logged = find(connection, TENANT, UUID(third))
        explanation, *rest = made_again(connection, draft, None, found.seq, logged, most)
    assert explanation is not None
    assert (explanation.decision.action.type, rest) == (action, [ran, because])


def test_late_events_of_a_period_are_replayed_with_what_warms_their_windows(
    store: SqliteStore,
) -> None:
    """Observed a minute before they were received, the third login is still the one blocked.

    Events received between them stay in their order, and none of them counts.
    """
    late = [
        LOGIN[:-1] + b',"observed_at":"%s"}' % moment(seconds).encode() for seconds in (0, 1, 2)
    ]
    other = LOGIN.replace(b"192.0.2.7", b"192.0.2.8")
    record(store, (0, other), (600, late[0]), (601, late[1]), (602, other), (603, late[2]))
    job = run(store, (2, 3), clock="observed")
    assert job.result is not None
    assert job.result["replayed"] == {"allow": 0, "challenge": 0, "block": 1}
    assert (job.result["events"], job.result["different"], job.progress) == (1, 0, 5)


def test_events_that_a_draft_refuses_are_skipped(store: SqliteStore) -> None:
    """Events that a draft refuses are counted and not decided."""
    ids = record(store, (0, LOGIN), (1, LOGIN))
    with store.read() as connection:
        first = log.read(connection, 1)
    line = first.line.replace(LOGIN, b'{"request":{"path":7}}').replace(
        ids[0].encode(), str(new_id()).encode()
    )
    at = START_NS + 2 * SECOND_NS
    moved = UUID(int=(at // 1_000_000) << 80 | 7 << 76 | 2 << 62)
    index = lines.encode_index(
        str(TENANT), str(moved), at, None, None, at,
        "allow", "no-match", None, None, [], [], [],
    )  # fmt: skip
    line = line.replace(b'"received_at":%d' % START_NS, b'"received_at":%d' % at)
    done(store.append([LogBlock.of_one(TENANT, moved, at, line, index)]))
    store.index_now()
    job = run(store, (0, 60))
    assert job.result is not None
    assert (job.result["events"], job.result["skipped"]) == (3, 1)


def test_a_cancelled_job_does_not_go_on(store: SqliteStore) -> None:
    """A cancelled job stays cancelled, without a result."""
    record(store, (0, LOGIN))
    job = waiting()
    done(store.write(lambda c: replay_jobs.create(c, job)))
    done(store.write(lambda c: replay_jobs.cancel(c, TENANT, job.job_id, START_NS)))
    replays = replaying(store)
    replays.submit(job.job_id, drafted(DOCUMENT, 0, 2 * START_NS))
    after = run(store, (0, 60))
    replays.close()
    assert after.status == "done"
    with store.read() as connection:
        assert replay_jobs.find(connection, TENANT, job.job_id).status == "cancelled"


def test_a_job_that_cannot_go_on_says_why(store: SqliteStore) -> None:
    """A draft that does not compile after all, a damaged log."""
    record(store, (0, LOGIN))
    job = run(store, (0, 60), {"apiVersion": "tidegate/v2"})
    assert job.status == "failed"
    assert job.error


def test_what_a_replay_holds_is_bounded() -> None:
    """Entities, whatever the settings say; and how far it looks back."""
    assert bounded({"settings": {"max_keys": 10_000_000}})["settings"]["max_keys"] == 250_000
    assert bounded({"settings": {"max_keys": 10}})["settings"]["max_keys"] == 10
    assert bounded({})["settings"]["max_keys"] == 250_000
    assert warm_up_ns(TenantEngine(DOCUMENT).definitions) == 600 * SECOND_NS
    empty = {"apiVersion": "tidegate/v1", "tenant": DOCUMENT["tenant"]}
    assert warm_up_ns(TenantEngine(empty).definitions) == 0


def test_differences_past_the_bound_are_only_counted() -> None:
    """Only the first differences are listed, all are counted."""
    outcomes = Outcomes(2)
    allowed = {"action": {"type": "allow"}, "reason": "no-match", "fired": []}
    allowed |= {"policy": None, "clause": None, "mitigation": None}
    blocked = {**allowed, "action": {"type": "block"}, "policy": "p"}
    for number in range(3):
        outcomes.add(UUID(int=number), allowed, blocked)
    result = outcomes.result(0)
    assert (result["different"], result["differences_listed"]) == (3, 2)
    assert [each.ordinal for each in outcomes.take_differences()] == [0, 1]
    assert outcomes.take_differences() == []
    assert orjson.dumps(result)
