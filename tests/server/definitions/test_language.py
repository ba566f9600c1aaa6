"""The calls of an editor about the language: its tables, and the types in a text."""

from __future__ import annotations

from typing import Any

from tests.server.deciding import Deciding, made

from tidegate.functions import FUNCTIONS


def check(shop: Deciding, **body: Any) -> Any:
    return made(shop.by("Viewer").post(f"{shop.path}/expressions/check", body))


def test_the_language_is_what_the_checker_reads(shop: Deciding) -> None:
    """Every function of the checker is there with its signatures and a sentence, and a caller who
    has the answer need not read it again."""
    answer = shop.by("Viewer").get(f"{shop.path}/language")
    language = made(answer)
    assert len(language["functions"]) == len(FUNCTIONS)
    named = {(each["name"], each["overloads"][0]["receiver"]) for each in language["functions"]}
    assert {("startsWith", "string"), ("cidr", None)} <= named
    (starts,) = (each for each in language["functions"] if each["name"] == "startsWith")
    assert starts["overloads"][0]["signature"] == "string.startsWith(string) -> bool"
    assert "startsWith" in starts["description"]
    assert not starts["is_operator"]
    assert "exists" in {each["name"] for each in language["macros"]}
    assert "request.path" in {each["name"] for each in language["fields"]}
    assert language["limits"]["cost"] > 0
    known = {"if-none-match": answer.headers["etag"]}
    assert shop.by("Viewer").get(f"{shop.path}/language", headers=known).status_code == 304


def test_a_check_answers_the_type_of_each_part(shop: Deciding) -> None:
    """With `types` each part has its place and type, also in a text that does not check."""
    text = 'request.path.size() > 3 && request.headers["a"] == "b"'
    report = check(shop, expression=text, types=True)
    types = {text[each["start"] : each["end"]]: each["type"] for each in report["nodes"]}
    assert types["request.path"] == "string"
    assert types["request.path.size()"] == "int"
    assert types["request.headers"] == "map(string, string)"
    assert types[text] == "bool"
    broken = check(shop, expression="request.path == request.nothing", types=True)
    assert not broken["ok"]
    assert broken["nodes"]
    assert check(shop, expression="1 +", types=True)["nodes"] == []
    assert check(shop, expression=text)["nodes"] == []


def test_policies_are_put_into_an_order_in_one_change(shop: Deciding) -> None:
    """All priorities change at once, those that are not named follow, and a stale order is
    refused."""
    admin, path = shop.by("Admin"), f"{shop.path}/policies/order"
    revision = shop.get("")["definition_revision"]
    ids = shop.ids("policies")
    wanted = {"policy_ids": [ids["watch"]]}
    stale = admin.request("POST", path, json=wanted, headers={"if-match": f'"{revision - 1}"'})
    assert stale.status_code == 412
    fresh = {"if-match": f'"{revision}"'}
    answer = admin.request("POST", path, json=wanted, headers=fresh)
    ordered = made(answer)
    assert [each["policy_id"] for each in ordered] == [ids["watch"], ids["stuffing"]]
    assert [each["priority"] for each in ordered] == [10, 20]
    assert answer.headers["etag"] == f'"{revision + 1}"'
    assert shop.get("")["definition_revision"] == revision + 1
    assert made(admin.post(path, wanted)) == ordered
    assert shop.get("")["definition_revision"] == revision + 1
    for policy_ids in ([shop.tenant_id], [ids["watch"], ids["watch"]]):
        assert admin.post(path, {"policy_ids": policy_ids}).status_code == 422
    assert shop.by("Analyst").post(path, wanted).status_code == 403
