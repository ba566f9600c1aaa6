"""The command line, from the arguments to the exit code; `tests/smoke` starts it as a process."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from subprocess import CompletedProcess
from typing import Protocol

import pytest

from tidegate.cli.main import main
from tidegate_server.stores.rows.compression import compressed, compressor

DEFINITIONS = str(resources.files("tidegate.samples") / "definitions.yaml")
TRAFFIC = str(resources.files("tidegate.samples") / "traffic.jsonl.gz")


def zstd(content: bytes) -> bytes:
    return compressed(content, compressor(3))


class Run(Protocol):
    """Runs the command line on arguments and standard input, to its end."""

    def __call__(self, *arguments: str, stdin: bytes = b"") -> CompletedProcess[bytes]: ...


@pytest.fixture
def run(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    """The command line within this process."""

    def called(*arguments: str, stdin: bytes = b"") -> CompletedProcess[bytes]:
        given = tmp_path / "standard input"
        given.write_bytes(stdin)
        monkeypatch.setattr(sys, "argv", ["tidegate", *arguments])
        with given.open() as opened:
            monkeypatch.setattr(sys, "stdin", opened)
            with pytest.raises(SystemExit) as ended:
                main()
        return CompletedProcess(arguments, int(ended.value.code or 0), *capfdbinary.readouterr())

    return called


def test_check_accepts_the_sample_definitions(run: Run) -> None:
    """Good definitions: a count of what is in them and exit code 0."""
    done = run("check", DEFINITIONS)
    assert done.returncode == 0
    assert b"7 actions, 3 entities, 3 mitigations, 5 policies, 2 lists" in done.stdout


def test_check_points_at_what_is_wrong(run: Run, tmp_path: Path) -> None:
    """Bad definitions: every finding with its line, and exit code 1."""
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "apiVersion: tidegate/v1\nactions:\n  - name: A\n    expression: request.pth == 1\n"
    )
    done = run("check", str(bad))
    assert done.returncode == 1
    assert b"request.path" in done.stderr
    report = json.loads(run("check", str(bad), "--json").stdout)
    assert report["ok"] is False
    assert report["errors"][0]["line"] == 4


def test_check_of_an_expression_gives_type_and_cost(run: Run) -> None:
    """An expression alone is checked against the field model."""
    report = json.loads(run("check", "-e", 'request.path.startsWith("/a")', "--json").stdout)
    assert report["type"] == "bool"
    assert report["fields"] == ["request.path"]


def test_wrong_calls_exit_with_2(run: Run) -> None:
    """A call that makes no sense ends with a message and exit code 2."""
    assert run("check").returncode == 2
    assert run("decide", "no-such-file.yaml").returncode == 2
    assert run("no-such-command").returncode == 2


def test_a_setting_that_cannot_be_is_told_in_a_line(run: Run) -> None:
    """A faulty setting is a wrong call: its line names it, its source, and the possible values."""
    done = run("serve", "--store-durability", "most")
    assert done.returncode == 2
    assert done.stderr == (
        b"error: `store.durability` is `most` (from --store-durability):"
        b" it must be one of full, relaxed\n"
    )
    assert len(done.stderr.splitlines()) == 1


def test_fmt_prints_the_canonical_layout(run: Run) -> None:
    """Formatting goes to standard output, and --check only answers."""
    assert run("fmt", "-e", "a&&( b )").stdout == b"a && b\n"
    assert run("fmt", "-", stdin=b"a&&b\n").stdout == b"a && b\n"
    assert run("fmt", "-e", "a&&b", "--check").returncode == 1
    assert run("fmt", "-e", "a && b", "--check").returncode == 0


def test_eval_prints_a_value_a_line(run: Run) -> None:
    """One expression runs over JSON lines from standard input; errors stand among the values."""
    events = b'{"fields":{"n":"4"}}\n\n{"fields":{"n":"four"}}\n'
    done = run("eval", 'int(fields["n"]) * 2', "--json", stdin=events)
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first == {"line": 1, "value": 8}
    assert (second["line"], second["error"]) == (3, "invalid_argument")
    assert done.returncode == 1


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_decide_reads_packed_and_plain_from_file_and_standard_input(
    run: Run, tmp_path: Path, pack: Callable[[bytes], bytes], process: None
) -> None:
    """The same events give the same decisions however they come."""
    content = gzip.decompress(Path(TRAFFIC).read_bytes())
    file = tmp_path / "events"
    file.write_bytes(pack(content))
    from_file = run("decide", DEFINITIONS, str(file), "--json")
    from_stdin = run("decide", DEFINITIONS, "--json", stdin=file.read_bytes())
    assert from_file.returncode == 0
    assert len(from_file.stdout.splitlines()) == 1_000
    assert from_stdin.stdout == from_file.stdout


def test_decide_tells_refused_lines_and_goes_on(run: Run) -> None:
    """A bad line is named and counted; the others are decided; the exit code says so."""
    done = run(
        "decide",
        DEFINITIONS,
        "--summary",
        "--json",
        stdin=b'{"fields":{"n":"1"}}\nnonsense\n{"fields":{"n":"2"}}\n',
    )
    assert done.returncode == 1
    assert b"line 2" in done.stderr
    summary = json.loads(done.stdout)
    assert summary["events"] == 2
    assert summary["refused"] == {"invalid-event": 1}


def test_evaluators_give_the_same_summary(run: Run) -> None:
    """The sample traffic has one answer."""
    summaries = []
    for evaluator in ("native", "reference"):
        summary = json.loads(
            run(
                "decide", DEFINITIONS, TRAFFIC, "--summary", "--json", "--evaluator", evaluator
            ).stdout
        )
        for figure in ("seconds", "engine_seconds", "events_per_second"):
            del summary[figure]
        summaries.append(summary)
    assert summaries[0] == summaries[1]
    assert all(summaries[0]["outcomes"].values())


def test_explain_shows_values_and_windows(run: Run) -> None:
    """The explanation of a line names the clause, the window and the values seen."""
    done = run("explain", DEFINITIONS, TRAFFIC, "--line", "500")
    assert done.returncode == 0
    assert b"request." in done.stdout


def test_demo_shows_summary_and_one_block(run: Run) -> None:
    """`tidegate demo` prints a summary and one block."""
    done = run("demo")
    assert done.returncode == 0
    assert b"1,000 events" in done.stdout
    assert b"was blocked" in done.stdout


def test_check_warns_about_a_key_that_most_share(run: Run, tmp_path: Path) -> None:
    """A path alone, in a definitions file."""
    doubtful = tmp_path / "doubtful.yaml"
    doubtful.write_text(
        "apiVersion: tidegate/v1\nentities:\n  - name: A\n    key_fields: [request.raw_path]\n"
    )
    done = run("check", str(doubtful))
    assert done.returncode == 0
    assert b"[broad-key]" in done.stderr


FOREIGN_LOG = b'{"remote_addr": "192.0.2.1", "status": 200}\n'
TYPO = b'{"reqest": {"path": "/"}, "fields": {"status": "200"}}\n'


@pytest.mark.parametrize("line", [FOREIGN_LOG, TYPO, b"{}\n"])
@pytest.mark.parametrize(
    "command",
    [("decide", DEFINITIONS), ("eval", "request.path"), ("explain", DEFINITIONS)],
    ids=lambda command: command[0],
)
def test_events_that_say_nothing_are_refused(
    run: Run, command: tuple[str, str], line: bytes
) -> None:
    """A line of a foreign log, a misspelt member, nothing at all."""
    done = run(*command, stdin=line)
    assert done.returncode == 1
    assert b"no such member" in done.stdout + done.stderr or line == b"{}\n"


def test_unknown_members_are_ignored_on_request(run: Run) -> None:
    """The rest of the event is decided on; without any content it is refused all the same."""
    assert run("decide", DEFINITIONS, "--ignore-unknown", stdin=TYPO).returncode == 0
    assert run("eval", "fields.status", "--ignore-unknown", stdin=TYPO).returncode == 0
    assert run("decide", DEFINITIONS, "--ignore-unknown", stdin=FOREIGN_LOG).returncode == 1
