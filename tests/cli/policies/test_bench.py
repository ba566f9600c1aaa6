"""``tidegate bench``: how fast definitions decide."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.testing.policies.shop import DEFINITIONS

from tidegate.cli.main import tidegate
from tidegate.evaluation.trace import trace
from tidegate.policy.document import read_document

SAMPLE = str(resources.files("tidegate.samples") / "definitions.yaml")
TRAFFIC = str(resources.files("tidegate.samples") / "traffic.jsonl.gz")
LINE = '{"request": {"method": "GET", "path": "/", "client_ip": "192.0.2.7"}}\n'


def run(*arguments: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(tidegate, ["bench", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def report(*arguments: str | Path, code: int = 0) -> Any:
    few = ("--rounds", "2", "--count", "50")
    return json.loads(run(*few, *arguments, "--json", code=code).stdout)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A shop's definitions."""
    path = tmp_path / "shop.yaml"
    path.write_text(DEFINITIONS)
    return path


def test_figures_of_a_document() -> None:
    """Speed, state, work, and what no index helps, with a verdict."""
    done = run(SAMPLE, TRAFFIC, "--rounds", "2", "--count", "50")
    assert "1,000 events, 2 rounds" in done.stdout
    assert "state: 180 of 1,000,000 keys" in done.stdout
    assert "%  actions.claims_to_be_a_crawler.expression: " in done.stdout
    assert "no index helps policies.scraping.expression: only says what must not be" in done.stdout
    assert "at 2,000 requests/s this needs " in done.stdout


def test_units_of_work_repeat() -> None:
    """Work is counted, not timed, so two runs agree to the unit."""
    first, second = report(SAMPLE, TRAFFIC), report(SAMPLE, TRAFFIC)
    assert first["documents"][0]["costs"] == second["documents"][0]["costs"]
    assert first["documents"][0]["units"] == second["documents"][0]["units"] > 0


def test_the_cost_of_an_expression_is_that_of_its_evaluation(shop: Path, tmp_path: Path) -> None:
    """Each expression has the units of its evaluations."""
    events = tmp_path / "events.jsonl"
    events.write_text(LINE * 3)
    (document,) = report(shop, events, "--count", "2")["documents"]
    costs = {each["place"]: (each["evaluated"], each["units"]) for each in document["costs"]}
    compiled = read_document(DEFINITIONS).compiled
    record = {"request.method": "GET", "request.path": "/", "fields": {}}
    traced = trace(compiled.actions[0].expression.root, record)
    place = "actions.login_failure.expression"
    assert (document["counted"], costs[place]) == (2, (2, 2 * traced.outcome.cost))


def test_two_documents_are_measured_in_turn(shop: Path) -> None:
    """A ratio for each round compares the second document with the first."""
    found = report(SAMPLE, TRAFFIC, "--against", shop)
    assert [each["file"] for each in found["documents"]] == [SAMPLE, str(shop)]
    assert len(found["ratios"]) == 2
    first, second = found["documents"]
    wanted = [b / a for a, b in zip(first["rounds"], second["rounds"], strict=True)]
    assert found["ratios"] == pytest.approx(wanted)
    done = run(SAMPLE, TRAFFIC, "--against", shop, "--rounds", "1", "--count", "0")
    assert "times as many events a second as" in done.stdout


def test_refused_events_are_told(shop: Path, tmp_path: Path) -> None:
    """Refused lines and events aren't measured, and the exit code says so."""
    events = tmp_path / "events.jsonl"
    events.write_text(LINE + "nonsense\n" + '{"requst": {}}\n')
    done = run(shop, events, code=1)
    assert "events refused: 2" in done.stderr
    assert "1 event, " in done.stdout
    assert report(shop, events, code=1)["refused"] == 2


def test_no_events_are_a_wrong_call(shop: Path, tmp_path: Path) -> None:
    """Nothing can be measured without events."""
    events = tmp_path / "events.jsonl"
    events.write_text("nonsense\n")
    assert "there are no events to decide on" in run(shop, events, code=2).stderr


def test_the_limit_bounds_what_is_read(shop: Path) -> None:
    """Only so many events are read."""
    assert report(shop, TRAFFIC, "--limit", "10")["events"] == 10
