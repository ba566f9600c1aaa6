"""``tidegate coverage`` and ``tidegate test --coverage``."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from tests.testing.policies.shop import DEFINITIONS, TESTS, write

from tidegate.cli.main import tidegate
from tidegate.cli.policies import covered

SAMPLE = Path(str(resources.files("tidegate.samples") / "definitions.yaml"))
TRAFFIC = str(resources.files("tidegate.samples") / "traffic.jsonl.gz")
ADMIN = """
  - name: admin paths are challenged
    steps:
      - {send: {request: {path: /admin}}, expect: {action: challenge}}
      - {send: {request: {path: /.env}}, expect: {action: challenge}}
"""


def run(*arguments: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(tidegate, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_traffic_shows_what_is_exercised() -> None:
    """Every clause has its counts, and every expression its atoms."""
    done = run("coverage", SAMPLE, TRAFFIC)
    assert "scraping / many products: covered" in done.stdout
    assert "window 25 of 25" in done.stdout
    assert (
        'request.method == "POST": true 170, false 830; decided 150 true, 830 false' in done.stdout
    )
    assert "8 of 8 clauses covered (100.0 %)" in done.stdout


def test_a_clause_that_never_fired_is_not_covered(tmp_path: Path) -> None:
    """Tests that leave out a clause, or an alternative of its condition, are told so."""
    write(tmp_path)
    done = run("test", tmp_path, "--coverage")
    assert "scanners / admin: not covered, it never fired" in done.stdout
    assert "1 of 2 clauses covered (50.0 %)" in done.stdout
    write(tmp_path, TESTS + ADMIN.rsplit("      -", 1)[0])
    shown = run("test", tmp_path, "--coverage").stdout
    assert 'not covered, its condition was never true because of `request.path == "/.env"`' in shown
    write(tmp_path, TESTS + ADMIN)
    assert "2 of 2 clauses covered (100.0 %)" in run("test", tmp_path, "--coverage").stdout


def test_too_little_coverage_exits_with_1(tmp_path: Path) -> None:
    """`--fail-under` is the share of covered clauses, for tests and for traffic."""
    write(tmp_path)
    run("test", tmp_path, "--coverage", "--fail-under", "50")
    done = run("test", tmp_path, "--coverage", "--fail-under", "50.1", code=1)
    assert "50.0 % of the clauses are covered, less than 50.1 %" in done.stderr
    traffic = tmp_path / "events.jsonl"
    traffic.write_text('{"request": {"path": "/"}}\n')
    run("coverage", tmp_path / "shop.yaml", traffic, "--fail-under", "1", code=1)
    run("coverage", tmp_path / "shop.yaml", traffic, "--fail-under", "0")
    assert "need --coverage" in run("test", tmp_path, "--fail-under", "1", code=2).stderr


def test_tests_of_one_document_are_counted_together(tmp_path: Path) -> None:
    """Two files of tests for the same definitions cover them together."""
    write(tmp_path)
    head = TESTS.partition("tests:\n")[0]
    (tmp_path / "more.tidegate-test.yaml").write_text(f"{head}tests:{ADMIN}")
    report = json.loads(run("test", tmp_path, "--coverage", "--json").stdout)
    assert [each["percent"] for each in report["coverage"]] == [100]


def test_json_has_clauses_and_atoms(tmp_path: Path) -> None:
    """One document with every count."""
    write(tmp_path)
    traffic = tmp_path / "events.jsonl"
    traffic.write_text('{"request": {"path": "/admin/x"}}\nnonsense\n')
    report = json.loads(run("coverage", tmp_path / "shop.yaml", traffic, "--json", code=1).stdout)
    assert (report["events"], report["refused"], report["percent"]) == (1, 1, 0)
    clause = report["clauses"][1]
    assert (clause["policy"], clause["fired"], clause["covered"]) == ("scanners", 1, False)
    atoms = report["expressions"][-1]["atoms"]
    assert [(each["true"], each["decided_true"]) for each in atoms] == [(1, 1), (0, 0)]


def test_cobertura_has_the_lines_of_the_document(tmp_path: Path) -> None:
    """Clauses are lines with hits, and atoms are branches on their own line."""
    split = DEFINITIONS.replace(
        'expression: request.path.startsWith("/admin") || request.path == "/.env"',
        'expression: |-\n          request.path.startsWith("/admin")\n'
        '          || request.path == "/.env"',
    )
    write(tmp_path, TESTS + ADMIN, split)
    file = tmp_path / "cobertura.xml"
    run("test", tmp_path, "--coverage", "--cobertura", file)
    root = ElementTree.parse(file).getroot()
    (made,) = root.iter("class")
    assert made.get("filename") == str(tmp_path / "shop.yaml")
    text = split.splitlines()
    lines = {text[int(str(each.get("number"))) - 1].strip(): each for each in made.iter("line")}
    assert lines["- name: admin"].get("hits") == "2"
    assert lines['request.path.startsWith("/admin")'].get("condition-coverage") == "100% (2/2)"
    assert lines['|| request.path == "/.env"'].get("condition-coverage") == "100% (2/2)"
    assert lines["- name: one address"].get("hits") == "1"
    assert root.get("lines-covered") == root.get("lines-valid")


def test_expressions_are_painted_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Atoms have colours by the values they had; elsewhere the text is plain."""
    write(tmp_path, TESTS + ADMIN)
    assert "\x1b" not in run("test", tmp_path, "--coverage").stdout
    with (tmp_path / "out").open("w") as out:
        painted = Console(file=out, force_terminal=True, color_system="standard", width=200)
        monkeypatch.setattr(covered, "console", painted)
        run("test", tmp_path, "--coverage", "--filter", "admin")
    text = (tmp_path / "out").read_text()
    assert '\x1b[32mrequest.path.startsWith("/admin")\x1b[0m || ' in text
    assert '\x1b[1;31mfields["status"] == "401"\x1b[0m' in text
