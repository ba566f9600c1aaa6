"""The recorded traffic that an expression, or the draft of a policy, matches."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import DEFINITIONS, Deciding, Service, made

SECRET = "hunter2"


@pytest.fixture(scope="module")
def busy(service: Service) -> Deciding:
    """A shop with eight decisions, of which two are blocked and one fails an expression."""
    shop = service.tenant()
    for _ in range(3):
        shop.decide("/login", fields={"password": SECRET, "account": "ann"})
    shop.decide("/shop?q=1", request={"method": "POST", "user_agent": "curl/8"})
    shop.decide("/shop/cart", "192.0.2.8")
    shop.decide("/watched", "192.0.2.8")
    shop.decide("/", "192.0.2.9", fields={"count": "no number"})
    shop.decide("/", "198.51.100.7")
    return shop


def ask(shop: Deciding, place: str, body: Any, role: str = "Analyst") -> Any:
    return made(shop.by(role).post(f"{shop.path}/{place}", body))


def refused(shop: Deciding, place: str, body: Any) -> Any:
    answer = shop.by("Analyst").post(f"{shop.path}/{place}", body)
    assert answer.status_code == 422, answer.text
    return answer.json()


def test_matches_are_counted_with_what_was_answered(busy: Deciding) -> None:
    """A match answers how many events it looked at and matched, entities, outcomes, steps of time
    and samples, the newest first."""
    found = ask(busy, "traffic/match", {"expression": 'request.path == "/login"'})
    assert (found["looked_at"], found["complete"], found["matched"]) == (8, True, 3)
    assert found["since"] <= found["until"]
    assert {each["definition"]: each["count"] for each in found["entities"]} == {
        "account": 1,
        "address": 1,
    }
    outcomes = {(each["recorded"], each["draft"]): each["count"] for each in found["outcomes"]}
    assert outcomes == {("allow", None): 2, ("block", None): 1}
    assert sum(each["looked_at"] for each in found["timeline"]) == 8
    assert sum(each["matched"] for each in found["timeline"]) == 3
    assert [each["action"] for each in found["samples"]] == ["block", "allow", "allow"]
    assert found["samples"][0]["clause"] == "three"


def test_a_match_reads_actions_and_lists_of_the_tenant(busy: Deciding) -> None:
    """An expression may name actions, which are recognised as they are now, and lists."""
    for text, count in (
        ("actions.login", 3),
        ("!actions.login", 5),
        ('request.client_ip.inList("offices")', 1),
        ('request.method == "POST" && !actions.login', 1),
    ):
        found = ask(busy, "traffic/match", {"expression": text, "samples": 0})
        assert (found["matched"], found["samples"]) == (count, []), text


def test_an_expression_that_fails_is_counted_by_its_error(busy: Deciding) -> None:
    """Events for which an expression fails are counted by the code of the error."""
    text = 'fields["count"] != "" && int(fields["count"]) > 3'
    found = ask(busy, "traffic/match", {"expression": text})
    assert found["matched"] == 0
    assert [each["count"] for each in found["errors"]] == [1]


def test_only_the_newest_or_those_of_a_time_are_looked_at(busy: Deciding) -> None:
    """The number of events and their time bound what is looked at."""
    newest = ask(busy, "traffic/match", {"newest": 2})
    assert (newest["looked_at"], newest["matched"], newest["complete"]) == (2, 2, True)
    at = newest["samples"][0]["observed_at"]
    assert ask(busy, "traffic/match", {"since": at})["looked_at"] >= 1
    past = ask(busy, "traffic/match", {"until": "2020-01-01T00:00:00Z"})
    assert (past["looked_at"], past["since"], past["timeline"]) == (0, None, [])
    cut = ask(busy, "traffic/match", {"since": "2020-01-01T00:00:00Z", "newest": 2})
    assert (cut["looked_at"], cut["complete"]) == (2, False)


def test_the_draft_of_a_policy_is_tried_over_events_in_their_order(busy: Deciding) -> None:
    """A draft answers how often each clause fired, for how many entities, and what would be
    answered in place of what was."""
    clause = {
        "name": "two",
        "action_ids": [busy.ids("actions")["login"]],
        "entity_definition_id": busy.ids("entity-definitions")["address"],
        "mitigation_id": busy.ids("mitigations")["prove"],
        "window": {"duration_seconds": 60, "threshold": 2},
    }
    policy = {"name": "Two", "expression": 'request.path.startsWith("/lo")', "clauses": [clause]}
    found = ask(busy, "traffic/match", {"policy": policy, "by": ["request.path"]})
    assert (found["looked_at"], found["in_scope"], found["matched"]) == (8, 3, 2)
    assert found["clauses"] == [{"clause": "two", "fired": 2, "entities": 1}]
    outcomes = {(each["recorded"], each["draft"]): each["count"] for each in found["outcomes"]}
    assert outcomes == {("allow", "challenge"): 1, ("block", "challenge"): 1}
    assert [each["value"] for each in found["by"][0]["values"]] == ["/login"]


def test_a_bad_expression_or_draft_is_refused_at_its_place(busy: Deciding) -> None:
    """A finding has its place in the body, and in the text."""
    (error,) = refused(busy, "traffic/match", {"expression": "request.pth == 1"})["errors"]
    assert (error["pointer"], error["line"]) == ("/expression", 1)
    (error,) = refused(busy, "traffic/facets", {"fields": ["request.path", "1 +"]})["errors"]
    assert error["pointer"] == "/fields/1"
    policy = {"name": "Bad", "clauses": [{"name": "a", "expression": "request.pth"}]}
    (error, *_) = refused(busy, "traffic/match", {"policy": policy})["errors"]
    assert error["pointer"] == "/policy/clauses/0/expression"
    both = {"policy": {"name": "A", "clauses": [{"name": "a"}]}, "expression": "true"}
    assert refused(busy, "traffic/match", both)["code"] == "invalid-request"


def test_values_are_counted_the_most_frequent_first(busy: Deciding) -> None:
    """Facets have the most frequent values, with the text that compares with each."""
    fields = ["request.path", "derived.ip_version", "actions.login"]
    found = ask(busy, "traffic/facets", {"fields": fields, "top": 2})
    assert (found["looked_at"], found["matched"], found["complete"]) == (8, 8, True)
    paths, versions, logins = found["facets"]
    assert paths["distinct"] == 5
    assert paths["values"] == [
        {"value": "/login", "literal": '"/login"', "count": 3},
        {"value": "/", "literal": '"/"', "count": 2},
    ]
    assert versions["values"] == [{"value": 4, "literal": "4", "count": 8}]
    assert logins["values"][0] == {"value": False, "literal": "false", "count": 5}
    narrowed = {"fields": ["request.method"], "expression": 'request.raw_path.startsWith("/shop?")'}
    assert ask(busy, "traffic/facets", narrowed)["facets"][0]["values"][0]["value"] == "POST"


def test_secrets_are_counted_by_their_hashes_and_cannot_be_guessed(service: Service) -> None:
    """Values that the tenant's names make secrets now are hashes for every expression, also those
    of events that were recorded before."""
    shop = service.tenant()
    shop.decide("/login", fields={"nickname": SECRET, "password": SECRET})
    path = f"{shop.path}/definitions"
    document = made(shop.by("Owner").get(path))
    document["settings"] = {"redact": ["password", "nickname"]}
    made(shop.by("Owner").request("PUT", path, json=document))
    for name in ("nickname", "password"):
        text = f'fields["{name}"]'
        (facet,) = ask(shop, "traffic/facets", {"fields": [text]})["facets"]
        (value,) = facet["values"]
        assert value["value"].startswith("hmac:")
        assert value["literal"] is None
        guessed = ask(shop, "traffic/match", {"expression": f'{text} == "{SECRET}"'})
        assert guessed["matched"] == 0
        search = {"expression": f'{text}.startsWith("h") && {text}.size() == {len(SECRET)}'}
        assert ask(shop, "decisions/search", search)["decisions"] == []


def test_a_viewer_sees_no_traffic(busy: Deciding) -> None:
    """Looking at traffic needs the role of an Analyst."""
    for place, body in (
        ("traffic/match", {}),
        ("traffic/facets", {"fields": ["request.path"]}),
        ("decisions/search", {}),
    ):
        assert busy.by("Viewer").post(f"{busy.path}/{place}", body).status_code == 403


def found(shop: Deciding, **body: Any) -> list[str]:
    return [each["path"] for each in ask(shop, "decisions/search", body)["decisions"]]


def test_decisions_are_found_by_what_is_in_their_events(busy: Deciding) -> None:
    """A search finds decisions by address, method, prefix of the path, clause, mode, errors and an
    expression, the newest first."""
    assert len(found(busy)) == 8
    assert found(busy, client_ip="192.0.2.8") == ["/watched", "/shop/cart"]
    assert found(busy, client_ip="198.51.100.0/24") == ["/"]
    assert found(busy, method="post") == ["/shop"]
    assert found(busy, path_prefix="/shop") == ["/shop/cart", "/shop"]
    assert found(busy, clause="any") == ["/watched"]
    assert found(busy, mode="Block") == ["/shop", "/login"]
    assert found(busy, errors=True) == ["/"]
    assert found(busy, expression="actions.login", action="block") == ["/login"]
    assert found(busy, expression="actions.login", limit=2) == ["/login", "/login"]
    assert found(busy, path_prefix="/nowhere") == []
    (error,) = refused(busy, "decisions/search", {"client_ip": "here"})["errors"]
    assert error["pointer"] == "/client_ip"


def test_traffic_is_read_with_the_address_behind_a_trusted_proxy(service: Service) -> None:
    """A search by address, an expression, facets and the health of a key read the address that
    rules saw, not that of the proxy."""
    definitions = {**DEFINITIONS, "settings": {"trusted_proxies": ["10.0.0.0/8"]}}
    shop = service.tenant(definitions)
    for host in range(3):
        shop.decide(f"/{host}", f"203.0.113.{host}, 10.0.0.1")
    assert found(shop, client_ip="203.0.113.1") == ["/1"]
    assert found(shop, client_ip="10.0.0.1") == []
    matching = {"expression": 'derived.client_network == "203.0.113.2/32"'}
    assert ask(shop, "traffic/match", matching)["matched"] == 1
    (facet,) = ask(shop, "traffic/facets", {"fields": ["request.client_ip"]})["facets"]
    assert {each["value"] for each in facet["values"]} == {f"203.0.113.{each}" for each in range(3)}
    address = shop.ids("entity-definitions")["address"]
    assert shop.get(f"entity-definitions/{address}/health", role="Analyst")["distinct"] == 3


def test_pages_of_a_search_join_under_the_same_body(busy: Deciding) -> None:
    """A cursor leads on in the same search, and is refused in another."""
    body: dict[str, Any] = {"expression": "true", "limit": 3}
    seen: list[str] = []
    cursor = None
    while True:
        page = ask(busy, "decisions/search", {**body, "cursor": cursor})
        seen += [each["decision_id"] for each in page["decisions"]]
        cursor = page["cursor"]
        if cursor is None:
            break
        assert page["searched_back_to"] is not None
        other = {"expression": "!false", "limit": 3, "cursor": cursor}
        assert refused(busy, "decisions/search", other)["code"] == "invalid-request"
    assert seen == [each["decision_id"] for each in busy.get("decisions")]


def test_rows_say_what_the_request_was_and_which_clause_fired(busy: Deciding) -> None:
    """Rows of decisions have method, address, agent, clause and mode, in every list of them."""
    (row,) = busy.get("decisions", path="/shop")
    assert (row["method"], row["client_ip"], row["user_agent"]) == ("POST", "192.0.2.7", "curl/8")
    assert (row["clause"], row["mode"], row["action"]) == ("three", "Block", "block")
    (watched,) = busy.get("decisions", path="/watched")
    assert (watched["clause"], watched["mode"], watched["action"]) == ("any", "Monitor", "allow")
    assert busy.get("decisions", path="/shop/cart")[0]["mode"] is None
