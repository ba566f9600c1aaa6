"""Policy tests as they run: time, windows, both evaluators, replays."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.testing.policies.shop import DEFINITIONS, TESTS, of_steps, write

from tidegate.definitions import parse_definitions
from tidegate.policy.decision import EngineDecision
from tidegate.testing.policies import PolicyTest, TestsError, policy_tests
from tidegate.testing.policies.reading import read_tests
from tidegate.testing.policies.running import Result, Runner

LINES = [
    {
        "observed_at": f"2026-03-02T10:00:{second:02}Z",
        "request": {"method": "POST", "path": "/account/login", "client_ip": "192.0.2.7"},
        "fields": {"status": "401"},
    }
    for second in range(10)
]


def run(text: str, definitions: str = DEFINITIONS, folder: Path = Path()) -> Result:
    (case,) = read_tests(text, folder / "shop.tidegate-test.yaml").cases
    return Runner(parse_definitions(definitions)).run(case)


def of_replay(name: str, expect: str) -> str:
    head = TESTS.partition("tests:\n")[0]
    return f"{head}tests:\n  - name: replay\n    replay: {name}\n    expect: {expect}\n"


def members(result: Result) -> list[str]:
    assert result.failure is not None
    return [each.member for each in result.failure.differences]


def replay(folder: Path, expect: str, lines: list[object], name: str = "events.jsonl") -> Result:
    text = "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in lines)
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return run(of_replay(name, expect), folder=folder)


def test_time_and_windows_advance() -> None:
    """The fifth event of a window is blocked, until the mitigation ends."""
    result = run(TESTS)
    assert result.failure is None
    assert result.events == 7


def test_the_first_wrong_step_has_its_explanation() -> None:
    """A failure has the line, the time, expected and got, and the explanation of that event."""
    result = run(TESTS, DEFINITIONS.replace("threshold: 5", "threshold: 6"))
    failure = result.failure
    assert failure is not None
    assert (failure.line, failure.place, failure.time) == (12, "step 2", "2026-03-02T10:00:08.000Z")
    assert [(each.member, each.expected, each.got) for each in failure.differences] == [
        ("action", "block", "allow"),
        ("policy", "credential-stuffing", None),
        ("clause", "one address", None),
    ]
    assert "5 of 6 events in 600 s" in str(failure.explanation)


def test_each_test_begins_with_an_empty_state() -> None:
    """Events of one test are not counted in another."""
    text = TESTS + TESTS.partition("tests:\n")[2].replace("the fifth", "again, the fifth")
    first, second = read_tests(text, Path("a.yaml")).cases
    runner = Runner(parse_definitions(DEFINITIONS))
    assert [runner.run(each).failure for each in (first, second)] == [None, None]


WINDOW = 5
ADMIN = "{send: {request: {path: /admin/x, client_ip: 192.0.2.7}}, expect: {%s}}"


@pytest.mark.parametrize(
    "expect",
    [
        "action: challenge, provider: pow, difficulty: 4, reason: policy, mitigation: challenge",
        "fired: [{policy: scanners, mode: Challenge, active: false}]",
        "fired: [{}]",
        "matched_actions: [], errors: {}, entities: {address: [192.0.2.7/32]}",
    ],
)
def test_named_members_are_compared(expect: str) -> None:
    """A decision that has the named members passes, whatever else it has."""
    assert run(of_steps(ADMIN % expect)).failure is None


@pytest.mark.parametrize(
    ("expect", "member"),
    [
        ("action: allow", "action"),
        ("provider: turnstile", "provider"),
        ("status_code: 403", "status_code"),
        ("return_url: 'https://a.example/'", "return_url"),
        ("mitigation: block", "mitigation"),
        ("reason: active-mitigation", "reason"),
        ("fired: []", "fired"),
        ("fired: [{active: true}]", "fired"),
        ("fired: [{}, {}]", "fired"),
        ("fired: [{window: 1}]", "fired"),
        ("matched_actions: [login_failure]", "matched_actions"),
        ("entities: {}", "entities"),
        ("errors: {policies.scanners.expression: overflow}", "errors"),
        ("client_ip_problem: missing", "client_ip_problem"),
        ("refused: unknown", "refused"),
    ],
)
def test_a_named_member_that_differs_fails(expect: str, member: str) -> None:
    """Each member of `expect` is compared."""
    assert members(run(of_steps(ADMIN % expect))) == [member]


def test_the_window_of_a_clause_that_fired_is_compared() -> None:
    """`window` is the count with this event; a window keeps at most its threshold."""
    step = "{send: login, times: 5, expect: {matched_actions: [login_failure]}}"
    last = "{send: login, expect: {fired: [{window: %d}]}}"
    assert run(of_steps(step, last % WINDOW)).failure is None
    assert members(run(of_steps(step, last % (WINDOW - 1)))) == ["fired"]


def test_a_refused_event_fails_unless_it_is_expected() -> None:
    """An event that the engine refuses isn't passed over."""
    step = "{send: {request: {path: 3}}, expect: {%s}}"
    assert members(run(of_steps(step % "action: allow"))) == ["refused"]
    assert members(run(of_steps(step % "refused: another reason"))) == ["refused"]
    assert run(of_steps(step % "refused: /request/path")).failure is None
    without = "{send: {request: {path: 3}}}"
    assert members(run(of_steps(without, "{send: login, expect: {action: allow}}"))) == ["refused"]


def test_evaluators_that_disagree_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test fails when the two evaluators come to different decisions, whatever it expects."""
    (case,) = read_tests(of_steps("{send: login, expect: {action: allow}}"), Path("a")).cases
    runner = Runner(parse_definitions(DEFINITIONS))
    reference = runner._engines["reference"]
    decide = reference.decide

    def other(*arguments: object, **named: object) -> EngineDecision:
        record = decide(*arguments, **named).to_record()  # type: ignore[arg-type]
        return EngineDecision.from_record({**record, "matched_actions": []})

    monkeypatch.setattr(reference, "decide", other)
    result = runner.run(case)
    assert members(result) == ["decision"]
    assert result.failure is not None
    assert result.failure.evaluator == "reference"


@pytest.mark.parametrize("name", ["events.jsonl", "events.jsonl.gz"])
def test_a_replay_counts_decisions(tmp_path: Path, name: str) -> None:
    """Recorded events are decided at their own times, and decisions are counted."""
    expect = "{block: {at_least: 6, at_most: 6}, allow: {at_most: 4}, challenge: {at_most: 0}}"
    assert replay(tmp_path, expect, [*LINES], name).failure is None


def test_too_many_decisions_are_explained(tmp_path: Path) -> None:
    """The first decision over a bound is the one that is shown."""
    result = replay(tmp_path, "{block: {at_most: 2}}", [*LINES])
    assert result.failure is not None
    assert result.failure.place == "events.jsonl, line 7"
    assert members(result) == ["block"]
    assert "its window is reached: 5 of 5 events" in str(result.failure.explanation)


def test_too_few_decisions_fail(tmp_path: Path) -> None:
    """A lower bound is compared at the end."""
    assert members(replay(tmp_path, "{block: {at_least: 7}}", [*LINES])) == ["block"]


def test_a_refused_line_fails_unless_it_is_allowed(tmp_path: Path) -> None:
    """No line of a replay may be refused, unless the test says how many."""
    lines = [*LINES, "nonsense\n"]
    assert members(replay(tmp_path, "{block: {at_most: 9}}", [*lines])) == ["refused"]
    assert replay(tmp_path, "{refused: {at_least: 1, at_most: 1}}", [*lines]).failure is None


def test_decisions_of_a_replay_are_compared_by_line(tmp_path: Path) -> None:
    """A line with another decision, an extra one and a missing one fail."""
    made = replay(tmp_path, "{block: {at_most: 9}}", [*LINES])
    expected = tmp_path / "expected.jsonl"
    assert made.decisions is not None
    expected.write_bytes(made.decisions)
    expect = "{decisions: expected.jsonl}"
    assert replay(tmp_path, expect, [*LINES]).failure is None
    assert members(replay(tmp_path, expect, LINES[:-1])) == ["line 10"]
    changed = replay(tmp_path, expect, [*LINES, LINES[-1]])
    assert changed.failure is not None
    assert changed.failure.place == "events.jsonl, line 11"
    expected.write_bytes(made.decisions.replace(b'"block"', b'"challenge"', 1))
    assert members(replay(tmp_path, expect, [*LINES])) == ["action"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("none.jsonl", None), ("cut.jsonl.gz", gzip.compress(b"{}", mtime=0)[:-9])],
    ids=["missing", "cut"],
)
def test_a_replay_that_cannot_be_read_cannot_run(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    """A missing or broken file is an error, and isn't an empty replay."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TestsError, match="cannot be read"):
        run(of_replay(name, "{block: {at_most: 0}}"), folder=tmp_path)


def test_a_file_of_decisions_that_cannot_be_read_cannot_run(tmp_path: Path) -> None:
    """A file that isn't one of decisions is an error."""
    (tmp_path / "expected.jsonl").write_text("[]\n")
    with pytest.raises(TestsError, match="isn't a file of decisions"):
        replay(tmp_path, "{decisions: expected.jsonl}", [*LINES])


def test_an_empty_replay_fails(tmp_path: Path) -> None:
    """A replay without events proves nothing."""
    assert members(replay(tmp_path, "{block: {at_most: 0}}", [])) == ["events"]


def test_the_same_files_run_under_pytest(tmp_path: Path) -> None:
    """`policy_tests` gives the tests of files and folders, and a failed one says why."""
    path = write(tmp_path)
    (passed,) = policy_tests(tmp_path)
    assert isinstance(passed, PolicyTest)
    assert str(passed).startswith("the fifth failure")
    passed.check()
    write(tmp_path, definitions=DEFINITIONS.replace("threshold: 5", "threshold: 6"))
    (failed,) = policy_tests(str(path))
    with pytest.raises(AssertionError, match="action: expected block, got allow"):
        failed.check()


def test_a_folder_leaves_out_installed_packages(tmp_path: Path) -> None:
    """The tests of the packs of an installed Tidegate aren't the site's."""
    write(tmp_path)
    before = [str(each) for each in policy_tests(tmp_path)]
    for name in (".venv", "environment"):
        (tmp_path / name).mkdir()
        write(tmp_path / name)
    (tmp_path / "environment" / "pyvenv.cfg").touch()
    assert [str(each) for each in policy_tests(tmp_path)] == before
    assert policy_tests(tmp_path / ".venv")


def test_a_folder_without_tests_is_an_error(tmp_path: Path) -> None:
    """A parametrized test without cases would pass."""
    with pytest.raises(TestsError, match="there are no tests"):
        policy_tests(tmp_path)
