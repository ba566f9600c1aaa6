"""Commands that take several documents, folders and patterns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_commands import Run, run
from tests.cli.test_hooks import BROKEN, GOOD, LATER_NEVER, UNTIDY

__all__ = ["run"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two documents, one of them further below, and other files."""
    made = tmp_path / "policies"
    (made / "below").mkdir(parents=True)
    (made / ".hidden").mkdir()
    (made / "a.yaml").write_text(GOOD)
    (made / "below" / "b.json").write_text(
        '{"apiVersion": "tidegate/v1", "actions": [{"name": "A", "expression": "true==true"}]}'
    )
    (made / "compose.yml").write_text("services: {}\n")
    (made / ".hidden" / "c.yaml").write_text(BROKEN)
    return made


def test_a_folder_stands_for_its_documents(run: Run, folder: Path) -> None:
    """Other files are named, not silently left out; hidden folders aren't searched."""
    done = run("check", str(folder))
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert [each.partition(": ")[0] for each in lines] == [
        str(folder / "a.yaml"),
        str(folder / "below" / "b.json"),
    ]
    assert b"passed over 1 file" in done.stderr
    assert b"compose.yml" in done.stderr


def test_a_folder_leaves_out_virtual_environments(run: Run, folder: Path) -> None:
    """The packs of an installed Tidegate aren't examined, or written again by `fmt`."""
    environment = folder / "venv"
    environment.mkdir()
    (environment / "pyvenv.cfg").touch()
    (environment / "d.yaml").write_text(BROKEN)
    assert run("check", str(folder)).returncode == 0
    assert run("check", str(environment)).returncode == 1


def test_a_folder_leaves_out_records_of_packs_and_tests(run: Run, tmp_path: Path) -> None:
    """The definitions within them don't make them definitions documents."""
    assert run("packs", "add", "scraping", "--to", str(tmp_path / "shop.yaml")).returncode == 0
    (tmp_path / "shop.tidegate-test.yaml").write_text("apiVersion: tidegate.test/v1\n")
    assert (tmp_path / "shop.packs.json").exists()
    for command in ("check", "lint"):
        done = run(command, str(tmp_path), "--warnings-as-errors")
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_last_line_counts_warnings(run: Run, tmp_path: Path) -> None:
    """A document with warnings isn't just called good."""
    path = tmp_path / "shop.yaml"
    path.write_text(LATER_NEVER)
    assert b"ok, 1 warning: " in run("lint", str(path)).stdout
    path.write_text(GOOD)
    assert run("lint", str(path)).stdout.startswith(b"ok: ")


def test_a_pattern_and_a_name_are_read_as_they_are(run: Run, folder: Path) -> None:
    """A file that is named isn't passed over, whatever is in it."""
    assert run("check", f"{folder}/**/*.json", str(folder / "a.yaml")).returncode == 0
    done = run("check", f"{folder}/*.y*ml", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert [each["ok"] for each in report["files"]] == [True, False]
    assert report["ok"] is False


@pytest.mark.parametrize("name", ["nothing*.yaml", "missing.yaml", "empty"])
@pytest.mark.parametrize("command", ["check", "lint", "fmt"])
def test_names_that_stand_for_nothing_are_wrong_calls(
    run: Run, tmp_path: Path, command: str, name: str
) -> None:
    """A misspelt name doesn't look like success."""
    (tmp_path / "empty").mkdir()
    assert run(command, str(tmp_path / name)).returncode == 2


def test_one_bad_document_does_not_hide_the_others(run: Run, folder: Path) -> None:
    """All documents are examined, and the exit code says that one is wrong."""
    (folder / "a.yaml").write_text(BROKEN)
    done = run("lint", str(folder))
    assert done.returncode == 1
    assert b"a.yaml:6:" in done.stderr
    assert b"b.json: ok" not in done.stderr
    assert b"b.json: ok, 1 warning: 1 actions" in done.stdout


def test_warnings_can_be_errors(run: Run, tmp_path: Path) -> None:
    """A pipeline can insist on documents without findings."""
    doubtful = tmp_path / "doubtful.yaml"
    doubtful.write_text(LATER_NEVER)
    assert run("check", str(doubtful), "--warnings-as-errors").returncode == 0
    assert run("lint", str(doubtful)).returncode == 0
    strict = run("lint", str(doubtful), "--warnings-as-errors")
    assert strict.returncode == 1
    assert b"error[contradiction]" in strict.stderr
    sarif = json.loads(run("lint", str(doubtful), "--format", "sarif").stdout)
    (result,) = sarif["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("contradiction", "warning")


def test_fmt_formats_documents_in_place_and_checks_them(run: Run, folder: Path) -> None:
    """A document keeps everything but the layout of its expressions."""
    (folder / "a.yaml").write_text(UNTIDY)
    assert run("fmt", str(folder)).returncode == 2
    checked = run("fmt", "--check", str(folder))
    assert checked.returncode == 1
    assert checked.stderr.count(b"would be formatted") == 2
    assert (folder / "a.yaml").read_text() == UNTIDY
    assert run("fmt", "--write", str(folder)).returncode == 0
    assert (folder / "a.yaml").read_text() == GOOD
    assert '"true == true"' in (folder / "below" / "b.json").read_text()
    assert run("fmt", "--check", str(folder)).returncode == 0


def test_fmt_of_one_document_prints_it(run: Run, folder: Path) -> None:
    """Without an option nothing is written."""
    (folder / "a.yaml").write_text(UNTIDY)
    assert run("fmt", str(folder / "a.yaml")).stdout.decode() == GOOD
    assert run("fmt", "-", stdin=UNTIDY.encode()).stdout.decode() == GOOD
    assert (folder / "a.yaml").read_text() == UNTIDY
    (folder / "a.yaml").write_text(GOOD.replace('"GET"', '"GET" &&'))
    broken = run("fmt", "--write", str(folder / "a.yaml"))
    assert broken.returncode == 1
    assert b"a.yaml:6:" in broken.stderr


def test_lint_with_events_examines_their_traffic(run: Run, tmp_path: Path) -> None:
    """Static findings and those from traffic come together, each with its place."""
    document, events = tmp_path / "shop.yaml", tmp_path / "events.jsonl"
    document.write_text(GOOD)
    events.write_text('{"request": {"path": "/shop", "method": "GET"}}\n' * 120 + "{}\n")
    done = run("lint", str(document), "--events", str(events), "--json")
    report = json.loads(done.stdout)
    assert (report["events"], report["refused"]) == (120, 1)
    assert [(each["code"], each["line"]) for each in report["warnings"]] == [("never-matched", 6)]
    assert b"line 121: error[" in done.stderr


def test_keys_judges_each_key(run: Run, tmp_path: Path) -> None:
    """The verdict comes first, and JSON has every figure."""
    document, events = tmp_path / "shop.yaml", tmp_path / "events.jsonl"
    document.write_text(
        "apiVersion: tidegate/v1\nentities:\n"
        "  - {name: Address, key_fields: [derived.client_network]}\n"
        "  - {name: Method, key_fields: [request.method]}\n"
    )
    events.write_text(
        "".join(
            json.dumps({"request": {"method": "GET", "client_ip": f"192.0.2.{number % 50}"}}) + "\n"
            for number in range(200)
        )
    )
    done = run("keys", str(document), str(events), "--json")
    assert done.returncode == 0
    address, method = json.loads(done.stdout)["keys"]
    assert (address["findings"], address["distinct"]) == ([], 50)
    assert {each["code"] for each in method["findings"]} == {
        "key-forgeable",
        "key-too-broad",
        "key-shared",
    }
    text = run("keys", str(document), str(events), "--entity", "method", "--warnings-as-errors")
    assert text.returncode == 1
    assert text.stdout.startswith(b"method: The client chooses every part")
    assert run("keys", str(document), str(events), "--entity", "metod").returncode == 2
