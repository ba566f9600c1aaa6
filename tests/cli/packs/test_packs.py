"""``tidegate packs``: from the arguments to the files and the exit code."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from tests.cli.test_commands import Run, run

from tidegate.cli.packs import tenant
from tidegate.definitions import load_definitions
from tidegate.packs import BUNDLED, bundled_pack

__all__ = ["run"]
SITE = """\
apiVersion: tidegate/v1
# our own
actions:
  - name: Search
    expression: request.path == "/search"  # the page
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A document of a site."""
    path = tmp_path / "shop.yaml"
    path.write_text(SITE)
    return path


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """A new version of the pack `scraping`, with other thresholds."""
    folder = tmp_path / "scraping"
    shutil.copytree(bundled_pack("scraping").folder, folder)
    for name, text, other in (
        ("pack.yaml", "version: 1.0.0", "version: 1.1.0"),
        ("definitions.yaml", "threshold: 60", "threshold: 80"),
        ("definitions.yaml", "threshold: 30", "threshold: 40"),
    ):
        (folder / name).write_text((folder / name).read_text().replace(text, other))
    return folder


def test_all_packs_are_listed_with_the_versions_of_a_document(run: Run, site: Path) -> None:
    """The list has every pack, and says which the document has."""
    assert run("packs", "add", "scraping", "--to", str(site)).returncode == 0
    found = json.loads(run("packs", "list", "--to", str(site), "--json").stdout)
    assert [each["name"] for each in found] == list(BUNDLED)
    assert {each["name"] for each in found if each["added"]} == {"scraping"}
    assert b"1.0.0" in run("packs", "list", "--to", str(site)).stdout


@pytest.mark.parametrize("name", BUNDLED)
def test_a_pack_is_shown_with_its_notes(run: Run, name: str) -> None:
    """Notes, figures, and the guess of each slot in the form that `add` takes."""
    text = run("packs", "show", name).stdout.decode()
    pack = bundled_pack(name)
    for note in (*pack.misses, *pack.hurts, "interval of 95 %"):
        assert note in text
    for slot in pack.slots:
        assert f"--slot {slot}='" in text
    assert json.loads(run("packs", "show", name, "--json").stdout)["hurts"] == list(pack.hurts)


def test_a_pack_is_added_behind_what_is_there(run: Run, site: Path) -> None:
    """Each line of the document stays, the pack monitors, and slots are named."""
    done = run(
        "packs",
        "add",
        "scraping",
        "--to",
        str(site),
        "--slot",
        'product_page=request.path.startsWith("/p/")',
    )
    assert done.returncode == 0
    assert b"slot product_page (given)" in done.stdout
    assert b"only monitors" in done.stdout
    assert site.read_text().startswith(SITE)
    definitions = load_definitions(site)
    assert not any(each.enabled for each in definitions.mitigations)
    assert definitions.actions[1].expression == 'request.path.startsWith("/p/")'
    again = run("packs", "add", "scraping", "--to", str(site))
    assert again.returncode == 1
    assert b"already; `tidegate packs update scraping --to" in again.stderr


def test_a_document_is_made(run: Run, tmp_path: Path) -> None:
    """Without a file, the document begins with the pack."""
    made = tmp_path / "new.yaml"
    assert run("packs", "add", "baseline", "--to", str(made), "--enforce").returncode == 0
    assert [each.slug for each in load_definitions(made).policies] == [
        "baseline-pass",
        "baseline-notes",
    ]
    assert run("packs", "update", "baseline", "--to", str(tmp_path / "x.yaml")).returncode == 2


def test_an_update_keeps_the_sites_changes_and_shows_conflicts(
    run: Run, site: Path, newer: Path
) -> None:
    """An update takes the pack's own changes, keeps the site's in a conflict, and exits with 1."""
    run("packs", "add", "scraping", "--to", str(site))
    site.write_text(site.read_text().replace("threshold: 60", "threshold: 70"))
    call = ("--to", str(site), "--from", str(newer))
    before = site.read_text()
    shown = json.loads(run("packs", "diff", *call, "--json").stdout)
    assert [each["after"] for each in shown["yours"]] == [70]
    assert [(each["site"], each["pack"]) for each in shown["conflicts"]] == [(70, 80)]
    assert run("packs", "update", *call, "--dry-run").returncode == 1
    assert site.read_text() == before
    done = run("packs", "update", *call)
    assert done.returncode == 1
    assert b"yours stays: 70; pack: 80" in done.stdout
    clauses = load_definitions(site).policies[0].clauses
    assert [each.window and each.window.threshold for each in clauses] == [70, 40, 10]
    assert site.read_text().startswith(SITE)
    again = run("packs", "update", *call)
    assert (again.returncode, b"1.1.0 to 1.1.0" in again.stdout) == (0, True)


def test_comments_in_changed_lines_are_refused_to_lose(run: Run, site: Path, newer: Path) -> None:
    """The command names the lines, changes nothing, and does it with --drop-comments."""
    run("packs", "add", "scraping", "--to", str(site))
    site.write_text(site.read_text().replace("threshold: 60", "threshold: 60 # ours"))
    before = site.read_bytes()
    record = site.with_name("shop.packs.json").read_bytes()
    call = ("packs", "update", "--to", str(site), "--from", str(newer))
    done = run(*call)
    assert (done.returncode, b"would lose the comments" in done.stderr) == (1, True)
    assert (site.read_bytes(), site.with_name("shop.packs.json").read_bytes()) == (before, record)
    assert run(*call, "--drop-comments").returncode == 0
    assert "threshold: 80" in site.read_text()


def test_remove_asks_before_it_takes_the_sites_changes(run: Run, site: Path) -> None:
    """Without --yes and a terminal, changed objects stay."""
    run("packs", "add", "scraping", "--to", str(site))
    site.write_text(site.read_text().replace("threshold: 60", "threshold: 70"))
    refused = run("packs", "remove", "scraping", "--to", str(site))
    assert (refused.returncode, b"--yes removes" in refused.stderr) == (1, True)
    assert run("packs", "remove", "scraping", "--to", str(site), "--yes").returncode == 0
    definitions = load_definitions(site)
    assert [each.slug for each in definitions.actions] == ["search", "product_page"]
    assert definitions.policies == ()
    assert not site.with_name("shop.packs.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "scrapping"], b"did you mean `scraping`?"),
        (["add", "scraping", "--slot", "product_page"], b"isn't `slot=expression`"),
        (["add"], b"name a pack"),
        (["show", "baseline", "--from", "."], b"pack.yaml` cannot be read"),
    ],
)
def test_wrong_calls_exit_with_2(
    run: Run, site: Path, arguments: list[str], message: bytes
) -> None:
    """A call that makes no sense says why, and changes nothing."""
    where = [] if arguments[0] == "show" else ["--to", str(site)]
    done = run("packs", *arguments, *where)
    assert (done.returncode, message in done.stderr) == (2, True)
    assert site.read_text() == SITE


def test_a_wrong_slot_is_refused_with_its_place(run: Run, site: Path) -> None:
    """An expression that isn't valid changes no file."""
    done = run(
        "packs", "add", "scraping", "--to", str(site), "--slot", "product_page=request.pth == 1"
    )
    assert (done.returncode, b"request.path" in done.stderr) == (1, True)
    assert site.read_text() == SITE
    assert not site.with_name("shop.packs.json").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"apiVersion": "tidegate.packs/v1", "packs": {"scraping": 1}}']
)
def test_a_record_that_cannot_be_read_is_refused(run: Run, site: Path, text: str) -> None:
    """Without the record of packs, nothing is changed."""
    site.with_name("shop.packs.json").write_text(text)
    done = run("packs", "add", "scraping", "--to", str(site))
    assert (done.returncode, b"shop.packs.json" in done.stderr) == (1, True)
    assert site.read_text() == SITE


def test_labels_are_enough_for_a_document_without_a_record(
    run: Run, site: Path, newer: Path
) -> None:
    """A document that was exported from a service has its packs, and they can be updated."""
    assert run("packs", "add", "scraping", "--to", str(site)).returncode == 0
    site.with_name("shop.packs.json").unlink()
    listed = json.loads(run("packs", "list", "--to", str(site), "--json").stdout)
    assert {each["name"] for each in listed if each["added"]} == {"scraping"}
    again = run("packs", "add", "scraping", "--to", str(site))
    assert (again.returncode, b"already" in again.stderr) == (1, True)
    unknown = run("packs", "diff", "--from", str(newer), "--to", str(site))
    assert (unknown.returncode, b"isn't known here" in unknown.stderr) == (1, True)
    (newer / "earlier").mkdir()
    earlier = bundled_pack("scraping").folder / "definitions.yaml"
    shutil.copy(earlier, newer / "earlier" / "1.0.0.yaml")
    updated = run("packs", "update", "--from", str(newer), "--to", str(site), "--json")
    assert updated.returncode == 0, updated.stderr
    assert len(json.loads(updated.stdout)["changes"]) > 0
    assert "pack_version: 1.1.0" in site.read_text().replace('"', "")


def test_without_the_service_a_tenant_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how to install it."""
    monkeypatch.setattr(tenant, "entry_points", lambda **_: EntryPoints())
    done = run("packs", "list", "--tenant", "shop")
    assert done.returncode == 2
    assert b"pip install 'tidegate[server]'" in done.stderr
    assert b"needs `--server`" in run("packs", "list", "--token", "x").stderr


@pytest.mark.parametrize("name", BUNDLED)
def test_an_added_pack_has_the_canonical_layout(run: Run, site: Path, name: str) -> None:
    """The hook that formats leaves a new document as it is, and the pack without changes."""
    done = run("packs", "add", name, "--to", str(site))
    record = site.with_name("shop.packs.json")
    assert f"wrote {site} and {record}" in done.stdout.decode()
    assert run("fmt", "--check", str(site)).returncode == 0
    assert b"you changed 0 places" in run("packs", "diff", name, "--to", str(site)).stdout
