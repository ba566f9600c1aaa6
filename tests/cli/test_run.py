"""``decide``, ``eval`` and ``explain`` over many events."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tidegate.cli.main import tidegate

DEFINITIONS = str(resources.files("tidegate.samples") / "definitions.yaml")
LINE = (
    '198.51.100.9 - - [02/Mar/2026:10:00:{second:02} +0000] "POST /account/login HTTP/1.1" 401 12'
    ' "-" "curl/8"\n'
)
GUESSING = """\
apiVersion: tidegate/v1
actions:
  - name: Failed login
    expression: request.path == "/account/login" && fields["status"] == "401"
entities:
  - {name: Address, key_fields: [request.client_ip]}
mitigations:
  - {name: Refuse, mode: Block}
policies:
  - name: Guessing
    clauses:
      - {name: five, actions: [failed_login], entity: address, mitigation: refuse,
         window: {duration_seconds: 60, threshold: 5}}
"""


@pytest.fixture
def guessing(tmp_path: Path) -> str:
    path = tmp_path / "guessing.yaml"
    path.write_text(GUESSING)
    return str(path)


@pytest.fixture
def log(tmp_path: Path) -> str:
    """An access log with seven failed logins, and half a line."""
    path = tmp_path / "access.log"
    lines = [LINE.format(second=second) for second in range(7)]
    path.write_text("".join([*lines[:3], lines[3][20:], *lines[3:]]))
    return str(path)


@pytest.fixture
def events(tmp_path: Path) -> Callable[[bytes], str]:
    """Makes a file of events."""

    def make(content: bytes) -> str:
        path = tmp_path / "events.jsonl"
        path.write_bytes(content)
        return str(path)

    return make


def run(*arguments: str) -> Result:
    return CliRunner().invoke(tidegate, list(arguments))


def test_an_access_log_is_decided(guessing: str, log: str) -> None:
    """The fifth failure in the log blocks; the half line is counted, with its number."""
    done = run("decide", guessing, log, "--summary", "--json")
    summary = json.loads(done.stdout)
    assert summary["outcomes"] == {"allow": 4, "challenge": 0, "block": 3}
    assert summary["refused"] == {"unreadable-line": 1}
    assert "line 4: error[unreadable-line]: " in done.stderr
    assert done.exit_code == 1


def test_a_form_can_be_named(guessing: str, log: str) -> None:
    """Every line is read in the form that the option names."""
    done = run("decide", guessing, log, "--input", "caddy", "--summary", "--json")
    assert json.loads(done.stdout)["refused"] == {"unreadable-line": 8}


def test_eval_and_explain_read_logs_too(guessing: str, log: str) -> None:
    """The three commands share one reader."""
    done = run("eval", "request.path", log)
    assert done.stdout == '"/account/login"\n' * 7
    explained = run("explain", guessing, log, "--line", "6")
    assert explained.exit_code == 0
    assert "5 of 5 events in 60 s" in explained.stdout
    assert run("explain", guessing, log, "--line", "4").exit_code == 1


def test_many_refusals_in_a_row_end_a_command(events: Callable[[bytes], str]) -> None:
    """A file of another form is noticed after twenty lines, and what was meant is said."""
    done = run("decide", DEFINITIONS, events(b"nonsense\n" * 500), "--summary", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["refused"] == {"invalid-event": 20}
    assert "20 lines in a row were refused, up to line 20" in done.stderr
    going_on = run(
        "decide", DEFINITIONS, events(b"nonsense\n" * 50), "--summary", "--json",
        "--max-refusals", "0",
    )  # fmt: skip
    assert json.loads(going_on.stdout)["refused"] == {"invalid-event": 50}


def test_a_summary_shows_the_first_refused_lines_and_counts_the_others(
    events: Callable[[bytes], str],
) -> None:
    """Thousands of odd lines leave the summary on the screen; without a summary all are shown."""
    lines = events(b'nonsense\n{"request": {"path": "/"}}\n' * 15)
    done = run("decide", DEFINITIONS, lines, "--summary")
    assert done.stderr.count("error[invalid-event]: ") == 11
    assert "error[invalid-event]: 5 more lines\n" in done.stderr
    whole = run("decide", DEFINITIONS, lines)
    assert whole.stderr.count("error[invalid-event]: ") == 15
    assert "more lines" not in whole.stderr


def test_refusals_between_good_lines_end_nothing(events: Callable[[bytes], str]) -> None:
    """Only many refusals without a good line between them end the run."""
    done = run(
        "eval", "1 == 1", events((b"nonsense\n" * 19 + b'{"fields":{"n":"1"}}\n') * 3), "--json"
    )
    assert done.stdout.count('"value":true') == 3


def test_errors_of_eval_are_on_standard_error_with_their_line(
    events: Callable[[bytes], str],
) -> None:
    """Standard output has values alone."""
    file = events(b'{"fields":{"n":"4"}}\n{"fields":{"n":""}}\n')
    done = run("eval", 'int(fields["n"])', file)
    assert done.stdout == "4\n"
    assert done.stderr.startswith("line 2: error[invalid_argument]: ")


def test_figures_tell_the_engine_from_the_whole(events: Callable[[bytes], str]) -> None:
    """Events a second are of the engine's time, which is part of the whole."""
    file = events(b'{"fields":{"n":"1"}}\n' * 100)
    for command in (["decide", DEFINITIONS], ["eval", "1 == 1"]):
        summary = json.loads(run(*command, file, "--summary", "--json").stdout)
        assert summary["events"] == 100
        assert summary["events_per_second"] > 0
        assert summary["engine_seconds"] <= summary["seconds"]


def test_ctrl_c_prints_what_was_counted(process: None) -> None:
    """A wait for input ends with the summary and exit code 130."""
    command = [sys.executable, "-m", "tidegate", "decide", DEFINITIONS, "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"fields":{"n":"1"}}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["line"] == 1
        process.send_signal(signal.SIGINT)
        rest, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert b"stopped after 1 decisions" in rest + stderr


def test_definitions_and_events_are_not_both_standard_input() -> None:
    """A wrong call, and not a wait."""
    done = run("decide", "-")
    assert done.exit_code == 2
    assert "cannot both be standard input" in done.stderr


def test_a_block_shows_its_request(guessing: str, log: str) -> None:
    """A block has address, method and path; --only prints decisions of that outcome alone."""
    done = run("decide", guessing, log, "--only", "block")
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(line.endswith("198.51.100.9 POST /account/login") for line in lines)
    assert run("decide", guessing, log, "--only", "block", "--summary").exit_code == 2


def test_a_summary_names_the_busiest(guessing: str, log: str) -> None:
    """The summary has the addresses and paths of each policy, and the span of time."""
    summary = json.loads(run("decide", guessing, log, "--summary", "--json").stdout)
    (policy,) = summary["policies"]
    assert policy["addresses"] == [{"value": "198.51.100.9", "events": 3}]
    assert policy["paths"] == [{"value": "/account/login", "events": 3}]
    assert (summary["first_at"], summary["last_at"]) == (
        "2026-03-02T10:00:00Z", "2026-03-02T10:00:06Z",
    )  # fmt: skip
    text = run("decide", guessing, log, "--summary").stdout
    assert "from 2026-03-02T10:00:00Z to 2026-03-02T10:00:06Z" in text
    assert "198.51.100.9" in text


def test_a_log_that_goes_back_in_time_is_warned_about(guessing: str, tmp_path: Path) -> None:
    """Windows count wrongly over such a log, and the command says so; files are merged."""
    old, new = tmp_path / "access.log.1", tmp_path / "access.log"
    old.write_text(LINE.format(second=1))
    new.write_text(LINE.format(second=50))
    joined = tmp_path / "joined.log"
    joined.write_text(new.read_text() + old.read_text())
    assert "the time goes back at 1 lines" in run("decide", guessing, str(joined)).stderr
    assert run("decide", guessing, str(joined), "--sort").stderr == ""
    assert run("decide", guessing, str(new), str(old)).stderr == ""


def test_eval_is_quick(events: Callable[[bytes], str]) -> None:
    """Events are read natively: 20,000 take at most a second of processor."""
    file = events(
        b'{"request":{"path":"/a","client_ip":"192.0.2.7"},"fields":{"n":"1"}}\n' * 20_000
    )
    started = time.process_time()
    done = run("eval", 'request.path == "/a"', file)
    assert time.process_time() - started < 1.0
    assert done.stdout.count("true\n") == 20_000


def test_a_mapping_is_guessed(guessing: str, tmp_path: Path) -> None:
    """The names of a log in JSON or CSV suggest a mapping, which --mapping then takes."""
    log = tmp_path / "app.log"
    entry = {"when": "x", "ts": 1_772_445_600.5, "client": {"address": "192.0.2.7"}, "verb": "GET",
             "url": "/account/login", "ua": "x", "http": {"status_code": 401}}  # fmt: skip
    log.write_text((json.dumps(entry) + "\n") * 5)
    done = run("mapping", "guess", str(log))
    assert done.exit_code == 0, done.stderr
    assert "request.client_ip: client.address\n" in done.stdout
    assert "fields.status: http.status_code\n" in done.stdout
    file = tmp_path / "mapping.yaml"
    file.write_text(done.stdout)
    decided = run("decide", guessing, str(log), "--mapping", str(file), "--summary", "--json")
    assert json.loads(decided.stdout)["outcomes"]["block"] == 1
    assert run("mapping", "guess", DEFINITIONS).exit_code == 1


USE = """\
apiVersion: tidegate/v1
actions:
  - {name: Never, expression: 'fields["status"] == "402"'}
entities:
  - {name: Address, key_fields: [derived.client_network]}
  - {name: Account, key_fields: ['fields["account"]']}
  - {name: Bots, match_expression: derived.is_bot, key_fields: [request.user_agent]}
mitigations:
  - {name: Refuse, mode: Block}
policies:
  - {name: Accounts, clauses: [{entity: account, mitigation: refuse}]}
  - {name: Nothing, clauses: [{actions: [never], mitigation: refuse}]}
  - {name: Draft, status: draft, clauses: [{entity: address, mitigation: refuse}]}
  - {name: Bots, clauses: [{entity: bots, mitigation: refuse}]}
  - {name: Others, clauses: [{entity: address, expression: request.path == "/b"}]}
"""


def requests(*members: dict[str, object]) -> bytes:
    return b"".join(json.dumps({"request": each}).encode() + b"\n" for each in members)


def test_the_summary_says_to_how_many_events_a_definition_did_not_apply(
    events: Callable[[bytes], str], tmp_path: Path
) -> None:
    """Each entity definition has its events and why it was left out, and policies that stopped."""
    path = tmp_path / "use.yaml"
    path.write_text(USE)
    lines = requests(
        {"path": "/a", "client_ip": "192.0.2.7:443", "user_agent": "Googlebot/2.1"},
        {"path": "/a", "client_ip": "unknown", "user_agent": "x"},
        {"path": "/a", "user_agent": "x"},
    )
    done = CliRunner().invoke(tidegate, ["decide", str(path), events(lines), "--summary", "--json"])
    made = json.loads(done.stdout)
    of_address, of_account, of_bots = made["entities"]
    assert (of_address["applied"], of_address["not_applied"]) == (1, 2)
    assert {each["reason"]: each["events"] for each in of_address["why"]} == {
        "`derived.client_network` is empty (not-an-address)": 1,
        "`derived.client_network` is empty (absent)": 1,
    }
    assert of_account["why"] == [{"reason": '`fields["account"]` is empty', "events": 3}]
    assert of_bots["why"] == [{"reason": "the match expression is false", "events": 2}]
    assert made["could_not_fire"] == [
        {"policy": "draft", "because": "its status is `draft`"},
        {
            "policy": "accounts",
            "because": 'entity `account` applied to no event (`fields["account"]` is empty)',
        },
        {
            "policy": "nothing",
            "because": "action `never` matched no event (it reads `fields.status`)",
        },
    ]
    assert made["client_ip_problems"] == {"not-an-address": 1}
    assert "events without an address of the client: 1;" in done.stderr
    assert "not-an-address; the first event is line 2" in " ".join(done.stderr.split())
    shown = CliRunner().invoke(tidegate, ["decide", str(path), events(lines), "--summary"]).stdout
    assert "policy accounts could not fire: entity `account` applied to no event (" in shown


SCOPED = """\
apiVersion: tidegate/v1
lists:
  - {name: Offices, kind: ip, entries: [198.51.100.0/24]}
actions:
  - {name: Login, expression: request.path == "/login"}
  - {name: Posted, expression: request.method == "POST"}
entities:
  - {name: Address, key_fields: [derived.client_network]}
mitigations:
  - {name: Refuse, mode: Block}
policies:
  - {name: Elsewhere, expression: request.host == "other.example", clauses: [{name: any}]}
  - {name: Offices, expression: 'request.client_ip.inList("offices")', clauses: [{name: any}]}
  - {name: Failing, expression: 'int(request.headers["x"]) > 1', clauses: [{name: any}]}
  - {name: Of action, expression: actions.posted && actions.login, clauses: [{name: any}]}
  - name: Apart
    expression: request.path == "/a"
    clauses: [{name: both, actions: [login], entity: address}]
  - {name: Never together, clauses: [{name: two, actions: [login, posted]}]}
  - name: Late
    expression: request.path == "/last"
    clauses: [{entity: address, mitigation: refuse, window: {duration_seconds: 9, threshold: 5}}]
  - name: Condition
    expression: request.path == "/a"
    clauses: [{name: none, expression: request.method == "PUT"}]
"""


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_a_policy_whose_scope_never_held_could_not_fire(
    events: Callable[[bytes], str], tmp_path: Path, evaluator: str
) -> None:
    """A scope that held for no event is said; one that held for the last event is not, although its
    window was not reached."""
    path = tmp_path / "scoped.yaml"
    path.write_text(SCOPED)
    lines = requests(
        {"path": "/a", "client_ip": "192.0.2.7", "method": "POST", "host": "shop.example"},
        {"path": "/login", "client_ip": "192.0.2.7", "method": "GET", "host": "shop.example"},
        {"path": "/last", "client_ip": "192.0.2.7", "method": "GET", "host": "shop.example"},
    )
    command = ["decide", str(path), events(lines), "--summary", "--json", "--evaluator", evaluator]
    made = json.loads(CliRunner().invoke(tidegate, command).stdout)
    never = "its scope held for no event"
    apart = "scope, actions and entity never held for the same event"
    assert made["could_not_fire"] == [
        {"policy": "elsewhere", "because": never},
        {"policy": "offices", "because": never},
        {"policy": "failing", "because": never},
        {"policy": "of-action", "because": never},
        {"policy": "apart", "because": f"clause `both`: {apart}"},
        {"policy": "never-together", "because": f"clause `two`: {apart}"},
    ]


BEHIND = (
    '{peer} - - [02/Mar/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 404 1 "-" "curl" "{visitor}"\n'
)


@pytest.mark.parametrize("trusted", [[], ["10.0.0.1"]])
def test_a_visitor_behind_a_balancer_does_not_block_the_balancer(
    events: Callable[[bytes], str], tmp_path: Path, trusted: list[str]
) -> None:
    """Trusted proxies apply to logs; where none are named, the last address is said to count."""
    document = {
        "apiVersion": "tidegate/v1",
        "settings": {"trusted_proxies": trusted},
        "entities": [{"name": "Address", "key_fields": ["derived.client_network"]}],
        "mitigations": [{"name": "Refuse", "mode": "Block", "ttl_seconds": 900}],
        "policies": [
            {
                "name": "Probes",
                "clauses": [
                    {
                        "entity": "address",
                        "mitigation": "refuse",
                        "expression": 'request.path == "/.env"',
                    }
                ],
            }
        ],
    }
    path = tmp_path / "probes.yaml"
    path.write_text(json.dumps(document))
    lines = [("192.0.2.7", "/.env"), ("192.0.2.7", "/"), ("192.0.2.8", "/")]
    text = "".join(BEHIND.format(peer="10.0.0.1", path=at, visitor=who) for who, at in lines)
    done = CliRunner().invoke(tidegate, ["decide", str(path), events(text.encode()), "--json"])
    answers = [json.loads(line)["action"]["type"] for line in done.stdout.splitlines()]
    assert answers == ["block", "block", "allow" if trusted else "block"]
    said = " ".join(done.stderr.split())
    assert ("the last one counts as the client's, 10.0.0.1 in 3 of them" in said) is (not trusted)


def test_both_evaluators_print_the_same_json(guessing: str, log: str) -> None:
    """The engine's own text of a decision, and the request read by it, are the reference's."""
    printed = []
    for evaluator in ("native", "reference"):
        command = ["decide", guessing, log, "--json", "--evaluator", evaluator]
        printed.append(CliRunner().invoke(tidegate, command).stdout)
    assert [json.loads(line) for line in printed[0].splitlines()] == [
        json.loads(line) for line in printed[1].splitlines()
    ]
    answered = [json.loads(line) for line in printed[0].splitlines()]
    assert [each["action"]["type"] for each in answered] == ["allow"] * 4 + ["block"] * 3
    assert answered[-1]["request"] == {
        "client_ip": "198.51.100.9",
        "method": "POST",
        "path": "/account/login",
    }
