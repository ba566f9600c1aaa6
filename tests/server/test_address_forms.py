"""Every form of an address through command, middleware and service, read as the library does."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.address_forms import AddressForm, address_forms
from tests.server.deciding import Deciding, Service, made

from tidegate.cli.main import tidegate
from tidegate.edge.request_view import RequestView
from tidegate.engine import Engine

PROXY = "10.0.0.1"
ENTITY = {
    "name": "Client",
    "match_expression": "true",
    "on_missing_key": "blank",
    "key_fields": ["request.client_ip", "derived.client_ip_problem"],
}


def by_trust() -> list[tuple[tuple[str, ...], list[AddressForm]]]:
    """The forms by the trusted proxies that they need."""
    forms = sorted(address_forms(), key=lambda form: form.trusted)
    return [(trusted, list(each)) for trusted, each in groupby(forms, lambda form: form.trusted)]


def document(trusted: tuple[str, ...]) -> dict[str, Any]:
    """Definitions by which each form is a key."""
    return {
        "apiVersion": "tidegate/v1",
        "settings": {"trusted_proxies": list(trusted)},
        "entities": [ENTITY],
    }


def expected(form: AddressForm) -> list[str]:
    return [form.address, form.problem]


@pytest.mark.parametrize(("trusted", "forms"), by_trust(), ids=str)
def test_the_command_reads_every_form(
    tmp_path: Path, trusted: tuple[str, ...], forms: list[AddressForm]
) -> None:
    """``decide`` has the key of each form, and warns of the problems with their number."""
    definitions, events = tmp_path / "d.json", tmp_path / "e.jsonl"
    definitions.write_text(json.dumps(document(trusted)))
    events.write_text("".join(json.dumps({"request": form.request}) + "\n" for form in forms))
    done = CliRunner().invoke(tidegate, ["decide", str(definitions), str(events), "--json"])
    keys = [json.loads(line)["entities"][0]["key"] for line in done.stdout.splitlines()]
    assert keys == [expected(form) for form in forms]
    noted = Counter(form.problem for form in forms if form.problem not in ("", "absent"))
    said = " ".join(done.stderr.split())
    for problem, number in noted.items():
        assert f"events without an address of the client: {number};" in said
        assert f"({problem}; " in said


def behind_middleware(form: AddressForm) -> list[str]:
    """The reading of a form where a middleware finds the client.

    It reads the header only if a trusted proxy is the other end, and then passes on an address or
    an empty text.
    """
    if form.forwarded_for is None:
        return ["", "empty"] if form.client_ip is None else expected(form)
    if form.problem == "only-proxies":
        return [PROXY, ""]
    return ["", "empty"] if form.problem else expected(form)


IN_MIDDLEWARE = [form for form in address_forms() if form.forwarded_for is None or form.trusted]
"""Without trusted proxies a middleware reads no header."""


@pytest.mark.parametrize("form", IN_MIDDLEWARE, ids=str)
def test_middleware_reads_every_form(form: AddressForm) -> None:
    """The view that every middleware has of a request gives the same client, or none."""
    view = RequestView.of(form.trusted, "https://shop.example")
    chain = form.forwarded_for
    headers = [("host", "shop.example")]
    visit = view.visit(
        method="GET",
        scheme="https",
        path="/",
        query="",
        headers=headers if chain is None else [*headers, ("x-forwarded-for", chain)],
        peer=(form.client_ip or "") if chain is None else PROXY,
    )
    decision = Engine(document(form.trusted)).decide(visit.event())
    assert list(decision.entities[0].key) == behind_middleware(form)


def figures(service: Service) -> Counter[str]:
    """The problems that the service has counted."""
    found: Counter[str] = Counter()
    for line in service.http.get("/metrics").text.splitlines():
        if line.startswith("tidegate_unreadable_client_addresses_total{"):
            problem = line.partition('problem="')[2].partition('"')[0]
            found[problem] = int(float(line.split()[-1]))
    return found


def ask(shop: Deciding, form: AddressForm) -> dict[str, Any]:
    answer = shop.service.http.post(
        "/api/v1/runtime/mitigation",
        json={"request": form.request},
        headers={"x-service-api-key": shop.key},
    )
    found: dict[str, Any] = made(answer)
    return found


def test_the_service_reads_every_form(service: Service) -> None:
    """Each decision has the key of its form, and the service counts the problems."""
    before, noted = figures(service), Counter[str]()
    for trusted, forms in by_trust():
        shop = service.tenant(document(trusted))
        for form in forms:
            decision_id = ask(shop, form)["decision_id"]
            if form.problem not in ("", "absent"):
                noted[form.problem] += 1
            found = shop.get(f"decisions/{decision_id}")
            assert found["entities"][0]["key"] == expected(form), str(form)
            has_problem = form.problem not in ("", "absent")
            assert found["client_ip_problem"] == (form.problem if has_problem else None)
            assert found["client_ip"] == (form.address or None), str(form)
            (row,) = shop.get("decisions", limit=1)
            assert (row["decision_id"], row["client_ip"]) == (decision_id, found["client_ip"])
    assert figures(service) - before == noted


def test_an_unreadable_address_is_explained(shop: Deciding) -> None:
    """The explanation of a decision says why it has no address, and that it was made so."""
    (form, *_) = [each for each in address_forms() if each.problem == "not-an-address"]
    explained = shop.get(f"decisions/{ask(shop, form)['decision_id']}/explain")
    assert explained["reproduced"], explained["because"]
    assert "no address of the client: the client isn't an address" in explained["text"]
