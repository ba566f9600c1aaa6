"""Alerts as objects of the control plane."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import Deciding, made
from tests.server.serving import Caller, Served
from tests.waiting import wait_until

HOOK = "https://hooks.example.com/services/T1/B2/secret"


def create(owner: Caller, tenant: str, **members: Any) -> Any:
    """A new alert."""
    answer = owner.post(f"{tenant}/alerts", {"name": "Blocks", "metric": "blocks", **members})
    assert answer.status_code == 201, answer.text
    return answer.json()


def refused(answer: Any, pointer: str) -> str:
    """The detail of a refusal with this pointer."""
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert error["pointer"] == pointer
    return str(error["detail"])


def test_members_left_out_have_the_defaults_of_the_metric(owner: Caller, tenant: str) -> None:
    """A name and a metric are enough, and null turns the comparison with the usual value off."""
    alert = create(owner, tenant)
    names = ("comparison", "threshold", "times_usual", "over_minutes", "quiet_minutes", "enabled")
    assert [alert[each] for each in names] == ["above", 100, 4, 2, 60, True]
    assert alert["firing_since"] is None
    assert create(owner, tenant, name="Other", times_usual=None)["times_usual"] is None


def test_an_alert_is_changed_at_its_revision(owner: Caller, tenant: str) -> None:
    """A change has a new revision, and one that is based on an older revision is refused."""
    path = f"{tenant}/alerts/{create(owner, tenant)['alert_id']}"
    first = owner.patch(path, {"threshold": 500}, headers={"if-match": '"1"'})
    assert (first.json()["threshold"], first.json()["revision"]) == (500, 2)
    assert first.headers["etag"] == '"2"'
    late = owner.patch(path, {"threshold": 1}, headers={"if-match": '"1"'})
    assert late.status_code == 412
    whole = owner.patch(path, {**first.json(), "name": "Renamed"})
    assert whole.json()["name"] == "Renamed"
    assert owner.delete(path).status_code == 204
    assert owner.get(path).status_code == 404


def test_the_audit_has_no_address_of_a_receiver(owner: Caller, tenant: str) -> None:
    """The host alone is in it, since the rest of the address may be a credential."""
    create(owner, tenant, destinations=[{"kind": "slack", "to": HOOK}])
    (entry,) = owner.get(f"{tenant}/audit?kind=alert").json()
    assert entry["action"] == "create"
    assert entry["after"]["destinations"] == [
        {"kind": "slack", "to": "https://hooks.example.com/…"}
    ]
    assert "signing_secrets" not in entry["after"]


def test_a_webhook_has_a_secret_of_its_own(owner: Caller, tenant: str, served: Served) -> None:
    """It is the same for the same address, and another one for another tenant."""
    other, other_id = served.owner()
    hook = {"kind": "webhook", "to": HOOK}
    first = create(owner, tenant, destinations=[hook])["signing_secrets"]
    again = create(owner, tenant, name="Again", destinations=[hook])["signing_secrets"]
    foreign = create(other, f"tenants/{other_id}", destinations=[hook])["signing_secrets"]
    assert first == again != foreign
    assert first[HOOK].startswith("whsec_")
    assert create(owner, tenant, name="None")["signing_secrets"] == {}


@pytest.mark.parametrize(
    ("kind", "to"),
    [
        ("webhook", "http://hooks.example.com/"),
        ("slack", "https://user:word@hooks.example.com/"),
        ("teams", "hooks.example.com"),
        ("webhook", "https://hooks.example.com:99999/"),
        ("webhook", "https://hooks.example.com/a b"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(
    owner: Caller, tenant: str, kind: str, to: str
) -> None:
    """The refusal points to the address."""
    body = {"name": "Bad", "metric": "blocks", "destinations": [{"kind": kind, "to": to}]}
    answer = owner.post(f"{tenant}/alerts", body)
    assert "https://" in refused(answer, "/destinations/0/to")


def test_an_alert_that_could_never_fire_is_refused(owner: Caller, tenant: str) -> None:
    """Without publishing, a mail server or a window, the refusal says what is missing."""

    def post(**members: Any) -> Any:
        return owner.post(f"{tenant}/alerts", {"name": "Bad", **members})

    assert "publish.url" in refused(post(metric="publishing_lag"), "/metric")
    mail = [{"kind": "email", "to": "ops@example.com"}]
    detail = refused(post(metric="blocks", destinations=mail), "/destinations/0/kind")
    assert "alerts.smtp_url" in detail
    refused(post(metric="daemon_silence", over_minutes=5), "/over_minutes")
    refused(post(metric="key_use", times_usual=3), "/times_usual")
    twice = [{"kind": "slack", "to": HOOK}] * 2
    refused(post(metric="blocks", destinations=twice), "/destinations/1")


def test_a_tenant_has_fifty_alerts_at_most(owner: Caller, tenant: str) -> None:
    """The next one is refused, and says to delete one."""
    for number in range(50):
        create(owner, tenant, name=f"Alert {number}")
    answer = owner.post(f"{tenant}/alerts", {"name": "One more", "metric": "blocks"})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert len(owner.get(f"{tenant}/alerts?limit=100").json()) == 50


def test_a_preview_says_when_the_past_is_not_recorded(owner: Caller, tenant: str) -> None:
    """A preview of a value of the moment doesn't claim that nothing happened."""
    for metric, recorded in (("blocks", True), ("key_use", True), ("log_unwritten", False)):
        found = made(owner.post(f"{tenant}/alerts/preview", {"metric": metric}))
        assert (found["recorded"], found["total"]) == (recorded, 0)


def test_a_preview_counts_the_use_of_keys(shop: Deciding) -> None:
    """The busiest key of a minute is compared in percent of its limit."""
    owner = shop.by("Owner")
    path = f"{shop.path}/api-keys/{shop.api_key_id}"
    made(owner.patch(path, {"rate_limit_per_minute": 100}))
    for _ in range(4):
        shop.decide()
    condition = {"metric": "key_use", "threshold": 3, "days": 1}

    def fired() -> Any:
        return made(owner.post(f"{shop.path}/alerts/preview", condition))["firings"]

    wait_until(fired, 90)
    assert 3 < fired()[0]["value"] <= 4
