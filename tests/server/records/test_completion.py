"""Completions at a place of an expression that is being written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.deciding import Deciding, Service, made


@pytest.fixture(scope="module")
def typed(service: Service) -> Deciding:
    """A shop whose traffic has a captured field."""
    shop = service.tenant()
    shop.decide("/", fields={"tier": "gold"}, request={"headers": {"x-app": "web"}})
    return shop


def complete(shop: Deciding, text: str, **body: Any) -> tuple[str, dict[str, Any]]:
    """The replaced range, and the completions by the text they insert."""
    where = f"{shop.path}/expressions/complete"
    asked = {"expression": text, "position": len(text), **body}
    found = made(shop.by("Viewer").post(where, asked))
    return text[found["start"] :], {each["insert"]: each for each in found["completions"]}


def test_fields_actions_and_functions_complete_a_name(typed: Deciding) -> None:
    """A begun name is completed by fields, actions and functions that begin so."""
    replaced, found = complete(typed, "true && request.pa")
    assert replaced == "request.pa"
    assert found["request.path"]["type"] == "string"
    assert complete(typed, "!actions.")[1].keys() == {"actions.login", "actions.many"}
    assert complete(typed, "cid")[1]["cidr("]["kind"] == "function"
    assert "entity.event_count" not in complete(typed, "entity")[1]
    assert "entity.event_count" in complete(typed, "entity", entity=True)[1]


@pytest.mark.parametrize(
    "text",
    [
        "request.path.starts",
        'fields["tier"].starts',
        "request.path.lowerAscii().starts",
        '!"a.b".starts',
        '(request.path == "(" && source.starts',
    ],
)
def test_members_of_the_type_before_a_dot_are_offered(typed: Deciding, text: str) -> None:
    """After a value and a dot come the functions of its type, and no others."""
    replaced, found = complete(typed, text)
    assert replaced == "starts"
    assert "startsWith(" in found
    assert not any(each.startswith("request") for each in found)
    assert "startsWith(" not in complete(typed, "derived.asn.starts")[1]


def test_captured_names_and_lists_are_offered_as_text_that_compiles(typed: Deciding) -> None:
    """A map is completed by the names that traffic has, with their share of events, and `inList` by
    the lists of the tenant."""
    replaced, found = complete(typed, "true && fields[")
    assert replaced == "fields["
    assert found["fields.tier"]["fill_rate"] == 1
    assert complete(typed, "fields.ti")[1]["tier"]["label"] == "fields.tier"
    assert 'request.headers["x-app"]' in complete(typed, 'request.headers["x-')[1]
    replaced, found = complete(typed, 'request.client_ip.inList("of')
    assert (replaced, set(found)) == ('"of', {'"offices"'})


@pytest.mark.parametrize("text", ["", "((((", '"', "a.b.c.", ").", '].x["', "1 + ", "é.", "...."])
def test_an_unfinished_text_is_no_error(typed: Deciding, text: str) -> None:
    """Whatever is written, the answer is a list of completions."""
    assert isinstance(complete(typed, text)[1], dict)
    assert isinstance(complete(typed, text, position=9_999)[1], dict)
