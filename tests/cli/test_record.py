"""``tidegate record``: recorded decisions become tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result
from tests.server.conftest import service, shop
from tests.server.deciding import DEFINITIONS, Deciding, Service, made

from tidegate.cli.main import tidegate
from tidegate.cli.remote import RemoteError
from tidegate.testing.policies import policy_tests
from tidegate_server.cli.remote import record as command
from tidegate_server.records import recording

__all__ = ["service", "shop"]

FIVE: dict[str, Any] = {
    **DEFINITIONS,
    "entities": [
        *DEFINITIONS["entities"],
        {"name": "Session", "key_fields": ['request.cookies["sid"]']},
    ],
    "policies": [
        {
            "name": "Stuffing",
            "clauses": [
                {
                    "name": "five",
                    "actions": ["login"],
                    "entity": "address",
                    "mitigation": "refuse",
                    "window": {"duration_seconds": 60, "threshold": 5},
                }
            ],
        },
        {
            "name": "Sessions",
            "clauses": [
                {
                    "name": "addresses",
                    "entity": "session",
                    "window": {
                        "duration_seconds": 60,
                        "threshold": 2,
                        "measure": "distinct",
                        "field": "request.client_ip",
                    },
                }
            ],
        },
        {
            "name": "Tokens",
            "priority": 200,
            "expression": 'request.path == "/token"',
            "clauses": [
                {"name": "guest", "expression": 'request.headers["authorization"] == "guest"'}
            ],
        },
    ],
}


@pytest.fixture
def five(service: Service) -> Deciding:
    """A tenant that blocks an address at its fifth login."""
    return service.tenant(FIVE)


def last(shop: Deciding) -> str:
    """The id of the newest decision."""
    return str(shop.get("decisions", limit=1)[0]["decision_id"])


def record(shop: Deciding, decision: str, *arguments: str | Path, code: int = 0) -> Result:
    flags = ["--url", shop.service.base_url, "--token", shop.by("Owner").token]
    flags += ["--tenant", shop.tenant_id]
    result = CliRunner().invoke(
        tidegate,
        ["record", "--decision", decision, *map(str, arguments), *flags],
    )
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refused(shop: Deciding, *arguments: str | Path) -> str:
    result = record(shop, last(shop), *arguments, code=1)
    assert isinstance(result.exception, recording.NotRecordedError)
    return str(result.exception)


def test_a_recorded_block_becomes_a_test(five: Deciding, tmp_path: Path) -> None:
    """The test has the window's events, passes, and fails where the policy is broken."""
    five.decide("/login", "192.0.2.99")
    for _ in range(5):
        five.decide("/login")
    to, definitions = tmp_path / "tests" / "a.tidegate-test.yaml", tmp_path / "shop.yaml"
    to.parent.mkdir()
    block = last(five)
    record(five, block, "--definitions", definitions, "--to", to)
    text = to.read_text()
    assert f"# Recorded from decision {block}." in text
    assert "definitions: ../shop.yaml" in text
    assert text.count("send:") == 5
    assert text.count("client_ip:") == 1
    (test,) = policy_tests(to)
    test.check()
    broken = definitions.read_text().replace("threshold: 5", "threshold: 6")
    definitions.write_text(broken)
    (test,) = policy_tests(to)
    with pytest.raises(AssertionError, match="the window is not reached: 5 of 6 events"):
        test.check()
    # The first one is not written over, and a test that would fail is not written.
    assert "exists" in record(five, block, "--to", to, code=2).stderr
    message = refused(five, "--definitions", definitions, "--to", tmp_path / "b.yaml")
    assert "would not come to the same decision" in message
    assert not (tmp_path / "b.yaml").exists()


def test_an_active_mitigation_becomes_a_test(five: Deciding, tmp_path: Path) -> None:
    """The events that set the mitigation are part of the test."""
    for _ in range(5):
        five.decide("/login")
    five.decide("/")
    done = record(five, last(five), "--definitions", tmp_path / "shop.yaml")
    assert "reason: active-mitigation" in done.stdout
    assert done.stdout.count("send:") == 6


def test_an_allowed_request_becomes_a_test(five: Deciding, tmp_path: Path) -> None:
    """The test of a decision by which nothing fired expects just that."""
    five.decide("/shop", fields={"account": "ann"})
    done = record(five, last(five), "--definitions", tmp_path / "shop.yaml")
    assert "reason: no-match" in done.stdout
    assert "fired: []" in done.stdout


def test_events_that_come_late_keep_their_times(five: Deciding, tmp_path: Path) -> None:
    """Events in another order than their times are sent as they were received."""
    now = "2026-03-02T10:00:{:02}.5Z"
    for second in (4, 2, 0, 6, 8):
        five.decide("/login", observed_at=now.format(second))
    done = record(five, last(five), "--definitions", tmp_path / "shop.yaml")
    assert "action: block" in done.stdout
    assert "    observed_at: '2026-03-02T10:00:02.5Z'\n" in done.stdout


def test_redacted_values_are_named(five: Deciding, tmp_path: Path) -> None:
    """A hash in a key means the same as the value, and the file says so."""
    for number in (7, 8):
        five.decide("/", f"192.0.2.{number}", request={"cookies": {"sid": "secret"}})
    done = record(five, last(five), "--definitions", tmp_path / "shop.yaml")
    assert "#   request.cookies.sid\n" in done.stdout
    assert "secret" not in done.stdout
    assert "clause: addresses" in done.stdout


def test_a_test_that_could_not_mean_the_same_is_refused(five: Deciding, tmp_path: Path) -> None:
    """A hash isn't compared with a text, and no file is written."""
    five.decide("/token", request={"headers": {"authorization": "guest"}})
    message = refused(five, "--definitions", tmp_path / "shop.yaml", "--to", tmp_path / "a.yaml")
    assert message.startswith("`request.headers.authorization` is redacted")
    assert "policies.tokens.clauses[0].expression" in message
    assert list(tmp_path.iterdir()) == []


def test_too_many_events_are_refused(
    five: Deciding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test of thousands of events isn't written."""
    monkeypatch.setattr(recording, "MAX_EVENTS", 3)
    for _ in range(5):
        five.decide("/login")
    assert "more than 3 events" in refused(five, "--definitions", tmp_path / "shop.yaml")


def test_an_unknown_decision_is_refused(five: Deciding) -> None:
    """The service says that the decision doesn't exist."""
    result = record(five, str(uuid4()), code=1)
    assert isinstance(result.exception, RemoteError)


def test_changed_definitions_are_named(five: Deciding, tmp_path: Path) -> None:
    """A refusal says that the decision is of other definitions."""
    for _ in range(5):
        five.decide("/login")
    policy = five.ids("policies")["stuffing"]
    clause = made(five.by("Owner").get(f"{five.path}/policies/{policy}"))["clauses"][0]
    changed = {"clauses": [{**clause, "window": {"duration_seconds": 60, "threshold": 6}}]}
    made(five.by("Owner").patch(f"{five.path}/policies/{policy}", changed))
    assert "it was made by revision" in refused(five, "--definitions", tmp_path / "shop.yaml")


@pytest.mark.parametrize("status", ["valid", "revoked"])
def test_a_decision_by_a_proof_is_refused(
    five: Deciding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    """A test cannot show a proof, so a decision that depends on one isn't recorded."""
    five.decide("/")
    call = command.Remote.call

    def shown(remote: command.Remote, method: str, path: str) -> Any:
        answer = call(remote, method, path)
        return {**answer, "proof": {"status": status}} if "decisions/" in path else answer

    monkeypatch.setattr(command.Remote, "call", shown)
    definitions = tmp_path / "shop.yaml"
    assert f"which was {status}" in refused(five, "--definitions", definitions)
    monkeypatch.setattr(
        command.Remote, "call", lambda *arguments: _expired(call(*arguments), arguments[2])
    )
    record(five, last(five), "--definitions", definitions)


def _expired(answer: Any, path: str) -> Any:
    return {**answer, "proof": {"status": "expired"}} if "decisions/" in path else answer


def test_names_that_a_visitor_chose_stay_in_their_lines(five: Deciding, tmp_path: Path) -> None:
    """A name of a field cannot end a comment of the file."""
    name = "a_password\ntests: []\n"
    five.decide("/", fields={name: "secret"})
    done = record(five, last(five), "--definitions", tmp_path / "shop.yaml")
    assert "#   fields.a_password\\u000atests: []\\u000a\n" in done.stdout
    assert "secret" not in done.stdout
