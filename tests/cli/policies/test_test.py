"""``tidegate test``, from the arguments to the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from tests.testing.policies.shop import DEFINITIONS, TESTS, write

from tidegate.cli.main import tidegate
from tidegate.cli.policies import test as command

BROKEN = DEFINITIONS.replace("threshold: 5", "threshold: 6")
REPLAY = """
  - name: Monday
    replay: monday.jsonl
    expect: {decisions: monday.expected.jsonl}
"""


def run(*arguments: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(tidegate, ["test", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_tests_that_pass_exit_with_0(tmp_path: Path) -> None:
    """A line for each test, and the totals."""
    write(tmp_path)
    done = run(tmp_path)
    assert done.stdout.startswith("ok ")
    assert done.stdout.endswith("1 passed, 0 failed\n")


def test_a_failure_exits_with_1_and_says_where(tmp_path: Path) -> None:
    """Expected, got, and the explanation of the step."""
    path = write(tmp_path, definitions=BROKEN)
    done = run(path, code=1)
    assert f"{path}:12: step 2 at 2026-03-02T10:00:08.000Z (native)" in done.stdout
    assert "action: expected block, got allow" in done.stdout
    assert "the window is not reached: 5 of 6 events in 600 s" in done.stdout


@pytest.mark.parametrize(
    ("tests", "definitions", "error"),
    [
        (TESTS.replace("tests:", "test:"), DEFINITIONS, "unknown member `test`"),
        (TESTS, "nonsense", "expected a definitions document, found text"),
        (TESTS.replace("shop.yaml", "none.yaml"), DEFINITIONS, "cannot be read"),
        (TESTS + REPLAY, DEFINITIONS, "cannot be read"),
    ],
)
def test_tests_that_cannot_run_exit_with_2(
    tmp_path: Path, tests: str, definitions: str, error: str
) -> None:
    """A file that cannot be used is named, and the others run."""
    folder = tmp_path / "broken"
    folder.mkdir()
    write(tmp_path)
    broken = write(folder, tests, definitions)
    done = run(tmp_path, code=2)
    assert f"{broken} could not run" in done.stderr
    assert error in done.stderr
    assert "1 file could not run" in done.stdout
    assert f"ok    {tmp_path}/shop" in done.stdout


def test_no_tests_exit_with_2(tmp_path: Path) -> None:
    """An empty folder, a missing file or a filter that matches nothing proves nothing."""
    assert "there are no tests" in run(tmp_path, code=2).stderr
    run(tmp_path / "none.yaml", code=2)
    write(tmp_path)
    assert "no test has a name" in run(tmp_path, "--filter", "sixth", code=2).stderr
    assert "regular expression" in run(tmp_path, "--filter", "(", code=2).stderr


def test_the_filter_is_a_regular_expression(tmp_path: Path) -> None:
    """Only tests with a name that matches run."""
    more = "  - {name: wrong, steps: [{send: login, expect: {action: block}}]}\n"
    write(tmp_path, TESTS + more)
    run(tmp_path, code=1)
    run(tmp_path, "--filter", "^the f[a-z]*th")


@pytest.mark.parametrize("evaluator", ["native", "reference"])
def test_one_evaluator_can_be_chosen(tmp_path: Path, evaluator: str) -> None:
    """A failure names the evaluator."""
    write(tmp_path, definitions=BROKEN)
    assert f"({evaluator})" in run(tmp_path, "--evaluator", evaluator, code=1).stdout


def test_patterns_name_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern is expanded here where the shell doesn't; without arguments, the folder runs."""
    (tmp_path / "a").mkdir()
    write(tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    assert "1 passed" in run("**/*.tidegate-test.yaml", "a").stdout
    assert "1 passed" in run().stdout
    assert "there are no tests in `*.yaml`" in run("*.yaml", code=2).stderr


def test_json_has_every_result(tmp_path: Path) -> None:
    """One document with each test, its failure, and its explanation."""
    write(tmp_path, definitions=BROKEN)
    report = json.loads(run(tmp_path, "--json", code=1).stdout)
    assert (report["passed"], report["failed"], report["not_run"]) == (0, 1, [])
    failure = report["tests"][0]["failure"]
    assert failure["differences"][0] == {"member": "action", "expected": "block", "got": "allow"}
    assert failure["explanation"]["decision"]["action"] == {"type": "allow"}


def test_junit_has_every_result(tmp_path: Path) -> None:
    """Failures, and files that could not run, are in the XML."""
    for name in ("good", "bad", "broken"):
        (tmp_path / name).mkdir()
    write(tmp_path / "good")
    write(tmp_path / "bad", definitions=BROKEN)
    write(tmp_path / "broken", "nonsense")
    file = tmp_path / "junit.xml"
    run(tmp_path, "--junit", file, code=2)
    root = ElementTree.parse(file).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    (failure,) = root.iter("failure")
    assert "expected block, got allow" in str(failure.text)
    (error,) = root.iter("error")
    assert "expected an object, found text" in str(error.get("message"))


@pytest.mark.parametrize("options", [["--junit"], ["--coverage", "--cobertura"]])
def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, options: list[str]) -> None:
    """A folder that doesn't exist is a wrong call."""
    write(tmp_path)
    done = run(tmp_path, *options, tmp_path / "none" / "file.xml", code=2)
    assert "cannot be written: No such file or directory" in done.stderr


def test_update_writes_expected_decisions(tmp_path: Path) -> None:
    """The file is written with the changes shown, and the test passes then."""
    write(tmp_path, TESTS + REPLAY)
    event = {"request": {"method": "POST", "path": "/account/login", "client_ip": "192.0.2.7"}}
    line = json.dumps({**event, "fields": {"status": "401"}})
    (tmp_path / "monday.jsonl").write_text(f"{line}\n" * 6)
    run(tmp_path, code=2)
    done = run(tmp_path, "--update")
    assert '+{"line":5,"action":"block"' in done.stderr
    run(tmp_path)
    assert run(tmp_path, "--update").stderr == ""
    write(tmp_path, TESTS + REPLAY, BROKEN)
    assert "monday.jsonl, line 5" in run(tmp_path, "--filter", "Monday", code=1).stdout
    changed = run(tmp_path, "--filter", "Monday", "--update").stderr
    assert '-{"line":5,"action":"block"' in changed
    assert '+{"line":5,"action":"allow"' in changed
    run(tmp_path, "--filter", "Monday")


def test_watch_runs_again_when_a_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of the definitions, a new file and a removed one each run the tests again."""
    write(tmp_path, definitions=BROKEN)
    changes: list[Callable[[], object]] = [
        lambda: write(tmp_path),
        lambda: (tmp_path / "more.tidegate-test.yaml").write_text(TESTS),
        lambda: (tmp_path / "more.tidegate-test.yaml").unlink(),
        lambda: (tmp_path / "shop.tidegate-test.yaml").unlink(),
    ]

    def sleep(_seconds: float) -> None:
        if not changes:
            raise KeyboardInterrupt
        changes.pop(0)()

    monkeypatch.setattr(command.time, "sleep", sleep)
    result = CliRunner().invoke(tidegate, ["test", str(tmp_path), "--watch"])
    assert result.exit_code == 130
    totals = [line for line in result.stdout.splitlines() if " passed, " in line]
    assert totals == [
        "0 passed, 1 failed",
        "1 passed, 0 failed",
        "2 passed, 0 failed",
        "1 passed, 0 failed",
        "0 passed, 0 failed",
    ]
