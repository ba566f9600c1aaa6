"""Lines of logs as programs and their carriers write them, each with its right value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tidegate
from tidegate.cli.inputs.events import Notes, Source, read_events
from tidegate.cli.inputs.forms import FORMS, mapped_form
from tidegate.cli.main import tidegate as command
from tidegate.cli.subjects import Subjects

CORPUS = [
    json.loads(line)
    for line in (Path(__file__).parent / "log_forms.jsonl").read_text().splitlines()
]
DEFINITIONS = """\
apiVersion: tidegate/v1
settings: {trusted_proxies: [%s]}
actions:
  - {name: Any, expression: 'request.path != "never"'}
entities:
  - {name: Address, key_fields: [request.client_ip]}
mitigations:
  - {name: Refuse, mode: Block}
policies:
  - name: All
    clauses:
      - {name: any, actions: [any], entity: address, mitigation: refuse}
"""


def file_of(case: dict[str, Any], folder: Path) -> Path:
    path = folder / "some.log"
    path.write_text(case["text"] + "\n", encoding="utf-8")
    return path


def form_of_case(case: dict[str, Any]) -> Any:
    if "mapping" in case:
        return mapped_form(case["mapping"])
    name = case.get("input") or case.get("form")
    return FORMS[name] if name else None


def options_of(case: dict[str, Any]) -> list[str]:
    if "mapping" in case:
        return ["--mapping", case["mapping"]]
    name = case.get("input") or case.get("form")
    return ["--input", name] if name else []


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_library_reads_each_form(case: dict[str, Any], tmp_path: Path) -> None:
    """Every line gives the right client, method, path and time, or is refused with the mend."""
    notes = Notes()
    lines = list(read_events(Source(str(file_of(case, tmp_path)), form_of_case(case)), notes=notes))
    assert notes.passed_over == case.get("passed_over", 0)
    if "refused" in case:
        if lines[-1].error is not None:
            assert case["refused"] in str(lines[-1].error)
        return
    subjects = Subjects(case.get("trusted", ()))
    found = []
    for line in lines:
        assert line.error is None, line.error
        subject = subjects.of(line.text)
        at = tidegate.compile("observed_at").evaluate(line.text)
        found.append([subject.client_ip, subject.method, subject.path, at])
        for name, member in (("host", "request.host"), ("agent", "request.user_agent")):
            if name in case:
                assert tidegate.compile(member).evaluate(line.text) == case[name]
    right = [
        [*rest, tidegate.compile("observed_at").evaluate({"observed_at": at})]
        for *rest, at in case["gives"]
    ]
    assert found == right


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["name"])
def test_the_command_decides_each_form(case: dict[str, Any], tmp_path: Path) -> None:
    """`decide` tells the form by itself, and blocks by the right address."""
    definitions = tmp_path / "definitions.yaml"
    definitions.write_text(DEFINITIONS % ", ".join(case.get("trusted", ())))
    log = file_of(case, tmp_path)
    done = CliRunner().invoke(
        command, ["decide", str(definitions), str(log), "--json", *options_of(case)]
    )
    if "refused" in case:
        assert done.exit_code == 1
        assert case["refused"] in done.stderr
        assert case.get("mend", "") in done.stderr
        return
    assert done.exit_code == 0, done.stderr
    shown = [json.loads(line)["request"] for line in done.stdout.splitlines()]
    assert [[each["client_ip"], each["method"], each["path"]] for each in shown] == [
        right[:3] for right in case["gives"]
    ]
