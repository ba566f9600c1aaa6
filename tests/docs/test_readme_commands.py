"""The commands of the README and of the page about commands, run."""

from __future__ import annotations

import re
import shlex
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.newcomer.pages import ROOT, blocks

from tidegate.cli.main import tidegate

PAGES = ("README.md", "docs/cli.md")
SERVED = ("serve", "play", "init", "apply", "export", "operator", "migrate")
"""Commands that need a server or run one; tests of their own start them."""
COMMANDS = [
    (page, line.partition("  #")[0].strip())
    for page in PAGES
    for block in blocks(page)
    for line in block.text.splitlines()
    if not block.language and line.startswith("tidegate ") and line.split()[1] not in SERVED
]
MAPPING = re.search(r"```yaml\n(observed_at:.*?)```", (ROOT / PAGES[1]).read_text(), re.DOTALL)
ACCESS = '192.0.2.7 - - [02/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"\n'
OTHER = (
    '{"time": "2026-03-02T10:00:00Z", "client": {"address": "192.0.2.7"}, "verb": "GET",'
    ' "uri": "/a?b=1", "agent": "curl/8", "http": {"status": 200}}\n'
)
POLICIES = """apiVersion: tidegate/v1
policies:
  - name: Admin
    clauses:
      - {name: all, expression: request.path == "/admin"}
"""
TABLE = "time,client.address,verb,uri\n2026-03-02T10:00:00Z,192.0.2.7,GET,/a?b=1\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that the pages speak of."""
    samples = resources.files("tidegate.samples")
    (tmp_path / "shop.yaml").write_bytes((samples / "definitions.yaml").read_bytes())
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "admin.yaml").write_text(POLICIES)
    (tmp_path / "events.jsonl.gz").write_bytes((samples / "traffic.jsonl.gz").read_bytes())
    (tmp_path / "access.log").write_text(ACCESS)
    (tmp_path / "access.log.1").write_text(ACCESS)
    (tmp_path / "app.log").write_text(OTHER)
    (tmp_path / "app.csv").write_text(TABLE)
    assert MAPPING is not None
    (tmp_path / "mapping.yaml").write_text(MAPPING[1])
    monkeypatch.chdir(tmp_path)


def test_the_pages_have_commands() -> None:
    """The patterns of this file find what they look for."""
    assert len(COMMANDS) >= 12


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[line for _, line in COMMANDS])
def test_a_command_of_a_page_works(page: str, command: str) -> None:
    """A command of a page works as it is written there, with exit code 0."""
    words, _, written = command.partition(" > ")
    result = CliRunner().invoke(tidegate, shlex.split(words)[1:])
    if written:
        Path(written).write_text(result.stdout)
    assert result.exit_code == 0, f"{page}: {result.output}"


def test_the_figures_of_the_readme_are_those_of_the_results() -> None:
    """Each figure of the README stands in the results with its method, so that none is a claim."""
    _, _, rest = (ROOT / "README.md").read_text().partition("\n## How fast\n")
    figures, _, text = rest.partition("\nMeasured on ")
    known = (ROOT / "benchmarks" / "RESULTS.md").read_text()
    shown = re.findall(r"[\d.,]+\d", "".join(re.findall(r"\|([^|]+)\|$", figures, re.MULTILINE)))
    assert len(shown) >= 8
    assert not [each for each in shown if not re.search(rf"(?<![\d.,]){re.escape(each)}\b", known)]
    assert "23 November 2026" in known
    assert "23 November 2026" in text
