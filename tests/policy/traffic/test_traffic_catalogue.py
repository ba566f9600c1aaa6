"""The findings from traffic: each bad document of the page has its code, each good one has none."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from tests.policy.lint.test_catalogue import EXAMPLE, PAGE, SECTION, side

from tidegate.engine import Engine
from tidegate.policy.document import read_document
from tidegate.policy.traffic.doctor import KeyDoctor
from tidegate.policy.traffic.trial import Trial

EVENTS = 1_000
START, SECOND = 1_800_000_000 * 1_000_000_000, 1_000_000_000


def event(number: int) -> dict[str, Any]:
    """An event of the traffic that the page describes."""
    account = number // 10
    fields = {
        "account": f"a{account}",
        "request": f"r{number}",
        "ticket": f"t{number - (number % 3 == 2)}",
        "office": f"o{account // 6}",
        "status": "200",
    }
    request: dict[str, Any] = {
        "method": "GET",
        "path": f"/page/{number % 7}",
        "client_ip": f"198.51.100.{account}",
        "user_agent": f"Mozilla/{account}",
    }
    if number % 20 == 9:
        request |= {"method": "POST", "path": "/login"}
        fields["status"] = "401"
    elif number % 20 == 19:
        request |= {
            "method": "POST",
            "path": "/api/cart",
            "headers": {"accept": "application/json"},
        }
        fields["status"] = "-"
    if number < 20:
        fields["plan"] = "free"
    return {"request": request, "fields": fields}


TRAFFIC = [orjson.dumps(event(number)) for number in range(EVENTS)]


def codes(text: str, events: int = EVENTS) -> set[str]:
    """The codes of what the traffic shows about a document."""
    compilation = read_document(text)
    trial, doctor = Trial(compilation), KeyDoctor(compilation.compiled)
    engine = Engine(trial.definitions)
    for number, each in enumerate(TRAFFIC[:events]):
        time = START + number * SECOND
        trial.add(each, engine.decide(each, time))
        doctor.see(each, time)
    return {each.code for each in trial.findings(doctor.reports())}


def examples() -> list[tuple[str, str, str]]:
    traffic = PAGE.read_text().partition("## Findings from traffic")[2]
    return [
        (code, side(example, "-"), side(example, "+"))
        for code, text in SECTION.findall(traffic)
        for example in EXAMPLE.findall(text)
    ]


@pytest.mark.parametrize(("code", "bad", "good"), examples(), ids=[each[0] for each in examples()])
def test_traffic_shows_exactly_the_finding_of_a_bad_document(
    code: str, bad: str, good: str
) -> None:
    """The documents of the page show what each code is about."""
    assert codes(bad) == {code}
    assert codes(good) == set()


def test_every_finding_from_traffic_has_documents() -> None:
    """Each code of the two sections has an example."""
    text = PAGE.read_text().partition("## Findings from traffic")[2]
    assert {code for code, _, _ in examples()} == set(
        re.findall(r"^### `(.*)`", text, re.MULTILINE)
    )
    assert len(examples()) == 12


def test_few_events_are_not_judged() -> None:
    """Less than 100 events say only that they are too few."""
    never = 'apiVersion: tidegate/v1\nactions: [{name: A, expression: request.path == "/no"}]'
    assert codes(never, 99) == {"too-few-events"}
    assert codes(never, 100) == {"never-matched"}


def test_a_clause_behind_another_answer_is_still_watched() -> None:
    """A clause is examined by its own tests, whatever answers before it."""
    text = """
apiVersion: tidegate/v1
policies:
  - name: Both
    clauses:
      - {name: all, expression: request.path.startsWith("/"), final: true}
      - {name: pages, expression: request.path.startsWith("/page/")}
"""
    assert codes(text) == set()
