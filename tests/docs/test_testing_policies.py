"""The example of docs/testing-policies.md, run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidegate.cli.main import tidegate

PAGE = (Path(__file__).parents[2] / "docs" / "testing-policies.md").read_text()
YAML = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TEXT = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run(*arguments: str) -> str:
    output = CliRunner().invoke(tidegate, arguments).stdout
    return re.sub(r" \(\d+ ms\)", "", output)


def test_the_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test passes, and fails with the shown lines when the threshold is another."""
    monkeypatch.chdir(tmp_path)
    definitions, tests, *_ = YAML
    Path("shop.yaml").write_text(definitions)
    Path("shop.tidegate-test.yaml").write_text(tests)
    passed, failed, *_ = TEXT
    assert run("test") == passed
    assert TEXT[2] in run("test", "--coverage")
    Path("shop.yaml").write_text(definitions.replace("threshold: 5", "threshold: 6"))
    begin, end = failed.split("...\n")
    output = run("test")
    assert output.startswith(begin)
    assert output.endswith(end)
