"""Challenges that would go wrong are said when they are saved, by what was recorded lately."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.deciding import Deciding, Service, deciding, made

CANNOT, NOWHERE = "challenge-not-answerable", "challenge-not-reachable"
TRAFFIC: list[tuple[str, dict[str, Any]]] = [
    ("/", {}),
    ("/login", {"method": "POST"}),
    ("/api/cart", {"headers": {"accept": "application/json"}}),
    ("/hooks/pay", {"method": "POST"}),
    ("/feed.xml", {}),
    ("/healthz", {}),
    ("/.well-known/acme-challenge/x", {}),
    ("/api/cart", {"method": "OPTIONS", "headers": {"access-control-request-method": "PUT"}}),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[Service]:
    """A service whose address is public, as far as it knows."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        settings = {"server_port": str(free.getsockname()[1])}
    settings["server_public_url"] = "https://gate.example.com"
    with deciding(tmp_path_factory.mktemp("public"), **settings) as found:
        yield found


@pytest.fixture
def busy(shop: Deciding) -> Deciding:
    """A tenant with all kinds of callers in its log."""
    for path, request in TRAFFIC:
        shop.decide(path, request=request)
    shop.decide("/", address="203.0.113.9")
    return shop


def policy(shop: Deciding, **members: Any) -> dict[str, Any]:
    """A policy that challenges everything, or something."""
    clause = {"name": "one", "mitigation_id": shop.ids("mitigations")["prove"]}
    return {"name": "Prove it", "clauses": [clause], **members}


def said(answer: Any, code: str = CANNOT) -> str:
    """The warnings of a code."""
    return " ".join(each["detail"] for each in answer.get("warnings", ()) if each["code"] == code)


def test_a_new_policy_is_tried_on_recent_events(busy: Deciding) -> None:
    """Every kind of caller that cannot answer is counted, with samples; browsers are not."""
    answer = made(busy.by("Owner").post(f"{busy.path}/policies", policy(busy)))
    found = said(answer)
    for kind, sample in (
        ("other methods than GET", "POST /login"),
        ("calls for JSON", "GET /api/cart"),
        ("webhooks", "POST /hooks/pay"),
        ("feed readers", "GET /feed.xml"),
        ("health checks", "GET /healthz"),
        ("ACME validations", "GET /.well-known/acme-challenge/x"),
        ("preflights", "OPTIONS /api/cart"),
    ):
        assert "of 9 recent requests that the policy would challenge, 1 are of callers" in found
        assert f"{kind}, such as `{sample}`" in found
    assert "`GET /`" not in found
    assert said(answer, NOWHERE) == ""


def test_a_scope_that_leaves_programs_out_is_not_warned_of(busy: Deciding) -> None:
    """The policy's own expression decides what would be challenged."""
    body = policy(busy, expression='request.path == "/"')
    assert said(made(busy.by("Owner").post(f"{busy.path}/policies", body))) == ""


def test_a_draft_is_warned_of_when_it_is_saved_and_when_it_becomes_active(busy: Deciding) -> None:
    """A window does not hide what would be challenged once it is reached."""
    entity = busy.ids("entity-definitions")["address"]
    window = {"duration_seconds": 60, "threshold": 50}
    body = policy(busy, status="draft")
    body["clauses"][0] |= {"entity_definition_id": entity, "window": window}
    draft = made(busy.by("Owner").post(f"{busy.path}/policies", body))
    assert "health checks" in said(draft)
    path = f"{busy.path}/policies/{draft['policy_id']}"
    active = made(busy.by("Owner").patch(path, {"status": "active"}))
    assert "health checks" in said(active)
    for change in ({"status": "retired"}, {"enabled": False, "status": "active"}):
        assert said(made(busy.by("Owner").patch(path, change))) == ""


def test_networks_of_a_list_are_counted(busy: Deciding) -> None:
    """The list `no-challenge` names them."""
    machines = {"name": "no-challenge", "kind": "ip", "entries": ["203.0.113.0/24"]}
    made(busy.by("Owner").post(f"{busy.path}/lists", machines))
    answer = made(busy.by("Owner").post(f"{busy.path}/policies", policy(busy)))
    assert "networks of the list `no-challenge`, such as `GET /`" in said(answer)


def test_policies_that_do_not_challenge_are_not_warned_of(busy: Deciding) -> None:
    """A Block answers programs as it answers browsers."""
    clause = {"name": "one", "mitigation_id": busy.ids("mitigations")["refuse"]}
    body = {"name": "No", "clauses": [clause], "status": "draft"}
    assert "warnings" not in made(busy.by("Owner").post(f"{busy.path}/policies", body))


def test_a_document_is_warned_of_with_places(busy: Deciding) -> None:
    """A whole document says which of its policies; what stays the same is not tried again."""
    document = busy.get("definitions")
    clause = {"name": "one", "mitigation": "prove"}
    document["policies"].append({"name": "Prove it", "clauses": [clause]})
    where = f"{busy.path}/definitions"
    answer = made(busy.by("Owner").request("PUT", where, json=document))
    found = [each for each in answer["warnings"] if each["code"] == CANNOT]
    assert {each["pointer"] for each in found} == {"/policies/2/clauses"}
    again = made(busy.by("Owner").request("PUT", where, json=busy.get("definitions")))
    assert said(again) == ""


def test_a_simulation_shows_the_same(busy: Deciding) -> None:
    """Trying a draft on one event says what recent events would meet."""
    made(busy.by("Owner").post(f"{busy.path}/policies", policy(busy, status="draft")))
    policy_id = busy.ids("policies")["prove-it"]
    event = {"request": {"path": "/", "client_ip": "192.0.2.7"}}
    answer = made(
        busy.by("Analyst").post(f"{busy.path}/policies/{policy_id}/simulate", {"event": event})
    )
    assert "webhooks" in said(answer)


def test_what_is_saved_has_the_warnings_of_its_challenges(busy: Deciding) -> None:
    """The findings of an active policy and of a draft are those of their writes; a Viewer, who may
    not read requests, has none of them; what is retired has none."""
    owner = busy.by("Owner")
    saved = [
        made(owner.post(f"{busy.path}/policies", policy(busy, name=name, status=status)))
        for name, status in (("Now", "active"), ("Later", "draft"))
    ]
    found = {each["id"]: each for each in busy.get("definitions/findings", role="Analyst")}
    for each in saved:
        assert "health checks" in said(each)
        about = found[each["policy_id"]]
        assert (about["kind"], about["name"]) == ("policy", each["name"])
        assert about["warnings"] == each["warnings"]
    for each in busy.get("definitions/findings", role="Viewer"):
        assert said(each) == ""
    made(owner.patch(f"{busy.path}/policies/{saved[0]['policy_id']}", {"status": "retired"}))
    left = {each["id"] for each in busy.get("definitions/findings") if said(each)}
    assert left == {saved[1]["policy_id"]}


def test_the_log_of_nothing_warns_of_nothing(shop: Deciding) -> None:
    """A tenant without events gets no warning about them."""
    assert said(made(shop.by("Owner").post(f"{shop.path}/policies", policy(shop)))) == ""


def test_a_challenge_without_a_way_back_is_said_until_it_has_one(shop: Deciding) -> None:
    """The policy's warning names the mitigation, and an origin or a template ends it."""
    owner, where = shop.by("Owner"), f"{shop.path}/policies"
    answer = made(owner.post(where, policy(shop)))
    assert "`prove`" in said(answer, "challenge-without-return")
    found = {each["id"]: each for each in shop.get("definitions/findings", role="Analyst")}
    assert "`prove`" in said(found[answer["policy_id"]], "challenge-without-return")
    made(owner.patch(shop.path, {"settings": {"return_url_origins": ["https://shop.example"]}}))
    again = made(owner.patch(f"{where}/{answer['policy_id']}", {"description": "again"}))
    assert said(again, "challenge-without-return") == ""
    made(owner.patch(shop.path, {"settings": {"return_url_origins": []}}))
    challenge = {"challenge": {"default_return_url_template": "https://shop.example/"}}
    made(owner.patch(f"{shop.path}/mitigations/{shop.ids('mitigations')['prove']}", challenge))
    again = made(owner.patch(f"{where}/{answer['policy_id']}", {"description": "and again"}))
    assert said(again, "challenge-without-return") == ""


def test_a_template_outside_of_the_origins_is_refused(shop: Deciding) -> None:
    """A template outside the origins is refused with a mitigation, a new list of origins, and a
    document."""
    owner, where = shop.by("Owner"), f"{shop.path}/mitigations"
    listed = {"settings": {"return_url_origins": ["https://shop.example"]}}
    made(owner.patch(shop.path, listed))

    def body(name: str, template: str) -> dict[str, Any]:
        challenge = {"default_return_url_template": template}
        return {"name": name, "mode": "Challenge", "challenge": challenge}

    made(owner.post(where, body("Own", "https://shop.example/back")))
    refused = owner.post(where, body("Foreign", "https://evil.example/"))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-definitions")
    [error] = refused.json()["errors"]
    assert error["pointer"] == "/challenge/default_return_url_template"
    moved = owner.patch(shop.path, {"settings": {"return_url_origins": ["https://other.example"]}})
    assert (moved.status_code, moved.json()["code"]) == (422, "invalid-request")
    assert moved.json()["errors"][0]["pointer"] == "/settings/return_url_origins"
    assert shop.get("")["settings"]["return_url_origins"] == ["https://shop.example"]
    document = shop.get("definitions")
    document["settings"]["return_url_origins"] = ["https://other.example"]
    whole = owner.request("PUT", f"{shop.path}/definitions", json=document)
    assert whole.status_code == 422
    assert whole.json()["errors"][0]["pointer"].endswith("/challenge/default_return_url_template")
    made(owner.patch(shop.path, {"settings": {"return_url_origins": []}}))
    made(owner.post(where, body("Foreign", "https://evil.example/")))


def test_an_address_that_no_visitor_reaches_is_warned_of(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str], process: None
) -> None:
    """A warning comes when a policy that challenges is saved, and at the next start."""
    directory = tmp_path_factory.mktemp("loopback")
    with deciding(directory) as service:
        shop = service.tenant()
        answer = made(shop.by("Owner").post(f"{shop.path}/policies", policy(shop)))
        assert "127.0.0.1" in said(answer, NOWHERE)
    capfd.readouterr()
    with deciding(directory):
        pass
    assert "challenges lead visitors nowhere" in capfd.readouterr().err
