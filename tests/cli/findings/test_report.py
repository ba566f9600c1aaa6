"""Findings as ``tidegate check`` prints them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tidegate.cli.findings.report import of_expression, print_text
from tidegate.cli.main import tidegate
from tidegate.language.check.checker import check
from tidegate.language.tree.schema import Schema

BAD = """\
apiVersion: tidegate/v1
actions:
  - name: Login
    expression: request.pth == "/login"
  - name: Login
    expression: 'true'
"""


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A document with an unknown field and a repeated name."""
    path = tmp_path / "bad.yaml"
    path.write_text(BAD)
    return path


def run(*arguments: str, stdin: str | None = None, code: int = 1) -> Result:
    result = CliRunner().invoke(tidegate, ["check", *arguments], input=stdin)
    reported = getattr(result.exception, "reported", None)
    assert reported is not None or result.exit_code == code, result.output
    return result


def test_a_finding_begins_with_file_line_and_column(bad: Path) -> None:
    """An editor or terminal jumps to it, and the code can be asked for."""
    text = run(str(bad)).stderr
    assert f"{bad}:4:17: error[unknown-field]: unknown field `request.pth`" in text
    assert "did you mean" in text


def test_the_second_of_two_equals_names_the_first(bad: Path) -> None:
    """Where a name was first used is what its author has to look at."""
    text = run(str(bad)).stderr
    assert f"{bad}:5:11: error[duplicate-name]: `Login` is already the name" in text
    assert f"  {bad}:3:11: first defined here" in text


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("lists: []\nlists: []\n", "2:1: first given here"),
        ("settings: {redact: [a, b, a]}\n", "2:21: first given here"),
        (
            "policies:\n  - name: P\n    clauses:\n"
            "      - {name: C, expression: 'true'}\n      - {name: C, expression: 'true'}\n",
            "5:16: first defined here",
        ),
    ],
)
def test_every_repetition_names_the_first(tmp_path: Path, document: str, place: str) -> None:
    """Members, items of lists and clauses, each by its own place."""
    path = tmp_path / "d.yaml"
    path.write_text("apiVersion: tidegate/v1\n" + document)
    assert f"{path}:{place}" in run(str(path)).stderr


def test_an_expression_has_a_place_too() -> None:
    """Warnings as well as errors; the file is a stand-in."""
    assert run("-e", 'a == "b').stderr.startswith("<expression>:1:6: error[unterminated-string]: ")
    good = run("-e", 'request.path.matches("/a[0-9]+")', code=0)
    assert "<expression>:1:22: warning[unanchored-path-pattern]: " in good.stderr
    assert good.stdout.startswith("ok, 1 warning: bool")


def test_a_document_may_come_from_standard_input() -> None:
    """A dash is standard input, and the findings say so."""
    assert "<stdin>:4:17: error[unknown-field]" in run("-", stdin=BAD).stderr


def test_json_has_file_place_and_second_places(bad: Path) -> None:
    """Either spelling of the option prints one JSON document on standard output."""
    for flags in (["--json"], ["--format", "json"]):
        report = json.loads(run(str(bad), *flags).stdout)
        assert report["ok"] is False
        repeated = next(each for each in report["errors"] if each["code"] == "duplicate-name")
        assert (repeated["file"], repeated["line"], repeated["column"]) == (str(bad), 5, 11)
        (first,) = repeated["second"]
        assert (first["message"], first["line"]) == ("first defined here", 3)


def test_github_gets_one_escaped_annotation_a_finding(tmp_path: Path) -> None:
    """Commas and line breaks in names and messages break no command of a workflow."""
    path = tmp_path / "a,b.yaml"
    path.write_text(BAD)
    lines = run(str(path), "--format", "github").stdout.splitlines()
    assert len(lines) == 2
    name = str(path).replace(",", "%2C")
    assert lines[0].startswith(f"::error file={name},line=4,col=17,title=unknown-field::unknown")
    assert "%0Ahint: " in lines[0]


def test_sarif_names_rules_places_and_second_places(bad: Path) -> None:
    """The report has the version, a rule for each code, locations and related locations."""
    document = json.loads(run(str(bad), "--format", "sarif").stdout)
    assert document["version"] == "2.1.0"
    (found,) = document["runs"]
    rules = {
        each["id"]: each["shortDescription"]["text"] for each in found["tool"]["driver"]["rules"]
    }
    assert rules.keys() == {"unknown-field", "duplicate-name"}
    results: dict[str, Any] = {each["ruleId"]: each for each in found["results"]}
    place = results["unknown-field"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == str(bad)
    assert place["region"] == {"startLine": 4, "startColumn": 17}
    (related,) = results["duplicate-name"]["relatedLocations"]
    assert related["physicalLocation"]["region"]["startLine"] == 3


@pytest.mark.parametrize("form", ["github", "sarif", "json"])
def test_every_form_takes_a_good_document(tmp_path: Path, form: str) -> None:
    """Nothing found is exit code 0 in each."""
    path = tmp_path / "d.yaml"
    path.write_text("apiVersion: tidegate/v1\n")
    assert run(str(path), "--format", form, code=0).exit_code == 0


def test_severity_is_coloured_on_a_terminal_alone() -> None:
    """A pipe gets no escape sequences, a terminal does."""
    checked = check('request.path in ["/a", "/a"]', Schema.default())
    reported = of_expression(checked.text, checked.warnings)
    for is_terminal in (True, False):
        out = io.StringIO()
        print_text(Console(file=out, force_terminal=is_terminal, _environ={}), reported)
        assert ("\x1b[" in out.getvalue()) is is_terminal
