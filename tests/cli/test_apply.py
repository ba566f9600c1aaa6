"""``tidegate apply`` and ``tidegate export``: a tenant equal to a document, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.server.serving import Caller, Served

from tidegate.cli.main import tidegate
from tidegate.policy.definitions.model import Tenant
from tidegate.policy.document import parse_document
from tidegate_server.cli.remote.document import AppliedDocument

SAMPLE = Path(str(resources.files("tidegate.samples") / "definitions.yaml"))
Run: TypeAlias = Callable[..., Result]


def runner(served: Served, token: str, tenant: str = "") -> Run:
    def run(*arguments: str, code: int = 0) -> Result:
        flags = ["--url", served.base_url, "--token", token, "--tenant", tenant]
        result = CliRunner().invoke(tidegate, [*arguments, *flags])
        assert result.exit_code == code, result.output
        return result

    return run


@pytest.fixture
def run(served: Served, owner: Caller) -> Run:
    """The command line of an Owner of one tenant."""
    return runner(served, owner.token)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """The sample definitions, without the tenant they name."""
    content = yaml.safe_load(SAMPLE.read_text())
    content.pop("tenant", None)
    path = tmp_path / "definitions.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def changes(result: Result) -> Any:
    return json.loads(result.stdout)["changes"]


def test_apply_is_idempotent(run: Run, document: Path) -> None:
    """The second time there is nothing to change."""
    first = json.loads(run("apply", str(document), "--yes", "--json").stdout)
    assert {each["change"] for each in first["changes"]} == {"created", "deleted"}
    again = json.loads(run("apply", str(document), "--yes", "--json").stdout)
    assert again["changes"] == []
    assert again["revision"] == first["revision"]


def test_a_dry_run_changes_nothing(run: Run, document: Path) -> None:
    """A dry run prints what the call would change, and exits with 2 if that is anything."""
    wanted = changes(run("apply", str(document), "--dry-run", "--json", code=2))
    assert wanted
    assert changes(run("apply", str(document), "--dry-run", "--json", code=2)) == wanted
    assert changes(run("apply", str(document), "--yes", "--json")) == wanted
    assert changes(run("apply", str(document), "--dry-run", "--json")) == []


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_export_applies_without_a_change(
    run: Run, document: Path, tmp_path: Path, form: str
) -> None:
    """There and back: in both forms the same definitions."""
    run("apply", str(document), "--yes")
    exported = tmp_path / f"exported.{form}"
    run("export", "--format", form, "-o", str(exported))
    assert changes(run("apply", str(exported), "--yes", "--json")) == []
    assert run("export", "--format", form).stdout == exported.read_text()


def test_an_export_makes_another_tenant_the_same(
    served: Served, run: Run, document: Path, tmp_path: Path
) -> None:
    """An export without its tenant fits any other."""
    run("apply", str(document), "--yes")
    content = json.loads(run("export", "--format", "json").stdout)
    del content["tenant"]
    moved = tmp_path / "moved.json"
    moved.write_text(json.dumps(content))
    other = runner(served, served.owner()[0].token)
    other("apply", str(moved), "--yes")
    there = json.loads(other("export", "--format", "json").stdout)
    for section in ("settings", "lists", "actions", "entities", "mitigations", "policies"):
        assert there[section] == content[section]


def test_a_document_of_another_tenant_is_refused(served: Served, run: Run, tmp_path: Path) -> None:
    """Two tenants are not mixed up by a wrong file name."""
    exported = tmp_path / "exported.yaml"
    run("export", "-o", str(exported))
    caller, tenant_id = served.owner()
    result = runner(served, caller.token)("apply", str(exported), "--yes", code=1)
    assert "wrong-tenant" in str(result.exception)
    named = runner(served, caller.token, tenant_id)
    named("apply", str(exported), "--yes")
    assert (
        json.loads(named("export", "--format", "json").stdout)["tenant"]["tenant_id"] == tenant_id
    )


def test_an_object_keeps_its_id_when_the_document_writes_none(
    owner: Caller, tenant: str, run: Run, tmp_path: Path
) -> None:
    """State is kept under ids: the object of the same slug stays the same object."""
    made = owner.post(f"{tenant}/actions", {"name": "Login", "expression": "true"}).json()
    file = tmp_path / "d.yaml"
    file.write_text(
        "apiVersion: tidegate/v1\n"
        "actions:\n"
        "  - {name: Login, expression: 'request.path == \"/\"'}\n"
    )
    done = changes(run("apply", str(file), "--yes", "--json"))
    (change,) = [each for each in done if each["kind"] == "action"]
    assert (change["change"], change["id"]) == ("updated", made["action_id"])
    assert change["members"] == ["expression"]


def test_findings_come_with_their_place_in_the_file(run: Run, tmp_path: Path) -> None:
    """Exit code 1, and line and column of what is wrong."""
    file = tmp_path / "bad.yaml"
    file.write_text(
        "apiVersion: tidegate/v1\nactions:\n  - name: A\n    expression: request.pth == 1\n"
    )
    result = run("apply", str(file), "--yes", code=1)
    assert f"{file}:4:17: error[unknown-field]: unknown field" in str(result.exception)


def test_a_doubtful_key_is_warned_about_with_its_place(run: Run, tmp_path: Path) -> None:
    """Warnings of the service have the line of the file, in a dry run and in the change."""
    file = tmp_path / "d.yaml"
    file.write_text(
        "apiVersion: tidegate/v1\nentities:\n  - {name: Paths, key_fields: [request.path]}\n"
    )
    for flags, code in ((["--dry-run"], 2), (["--yes"], 0)):
        said = run("apply", str(file), *flags, code=code).stderr
        assert f"{file}:3:32: warning[broad-key]: " in said


def test_settings_are_for_owners(served: Served, owned: tuple[Caller, str], tmp_path: Path) -> None:
    """An Admin applies definitions, not settings; those left out stay as they are."""
    owner, tenant_id = owned
    owner.patch(f"tenants/{tenant_id}", {"settings": {"retention_days": 7}})
    admin = runner(served, served.member(tenant_id, "Admin").token)
    file = tmp_path / "d.yaml"
    file.write_text("apiVersion: tidegate/v1\n")
    admin("apply", str(file), "--yes")
    file.write_text("apiVersion: tidegate/v1\nsettings: {retention_days: 8}\n")
    assert "forbidden" in str(admin("apply", str(file), "--yes", code=1).exception)
    settings = owner.get(f"tenants/{tenant_id}").json()["settings"]
    assert settings["retention_days"] == 7
    runner(served, owner.token)("apply", str(file), "--yes")
    settings = owner.get(f"tenants/{tenant_id}").json()["settings"]
    assert settings["retention_days"] == 8


def test_a_tenant_is_named_when_there_are_several(served: Served, owner: Caller, run: Run) -> None:
    """A tenant is named by slug or id; without one the command lists them."""
    other = owner.post("tenants", {"name": f"Other {owner.operator_id}"}).json()
    result = run("export", code=1)
    assert other["slug"] in str(result.exception)
    for named in (other["slug"], other["tenant_id"]):
        text = runner(served, owner.token, named)("export", "--format", "json").stdout
        assert json.loads(text)["tenant"]["tenant_id"] == other["tenant_id"]


def test_a_service_that_does_not_answer_is_said(served: Served) -> None:
    """Exit code 1 and the address, never a traceback; and no token in it."""
    for url in ("http://127.0.0.1:1", "file:///etc/passwd", "nonsense"):
        flags = ["--url", url, "--token", "secret-token"]
        result = CliRunner().invoke(tidegate, ["export", *flags])
        assert result.exit_code == 1
        assert url in str(result.exception)
        assert "secret-token" not in str(result.exception)
    result = runner(served, "bad")("export", code=1)
    assert "unauthenticated" in str(result.exception)


def test_the_document_names_the_tenant(served: Served, owner: Caller, tmp_path: Path) -> None:
    """An operator of several tenants needs no flag for a document that names its tenant."""
    other = owner.post("tenants", {"name": f"Named {owner.operator_id}"}).json()
    file = tmp_path / "d.yaml"
    file.write_text(
        f"apiVersion: tidegate/v1\ntenant: {{tenant_id: {other['tenant_id']}, name: Named}}\n"
        "actions: [{name: Here, expression: 'true'}]\n"
    )
    runner(served, owner.token)("apply", str(file), "--yes")
    actions = owner.get(f"tenants/{other['tenant_id']}/actions").json()
    assert [each["name"] for each in actions] == ["Here"]


OTHER_ID = "0190f1c4-5b7e-7c3a-9d2e-1f4a6b8c0d2e"
ACTIONS = "actions:\n  - {name: X, expression: 'true'}\n"
NAMED = [
    "apiVersion: tidegate/v1\ntenant: {name: X}\n" + ACTIONS,
    "apiVersion: tidegate/v1\ntenant: {name: X, slug: x} # whose\n" + ACTIONS,
    f"apiVersion: tidegate/v1\ntenant: {{tenant_id: {OTHER_ID}, name: X}}\n" + ACTIONS,
    f"apiVersion: tidegate/v1\ntenant: {{name: X, tenant_id: {OTHER_ID}}}\n" + ACTIONS,
    f"apiVersion: tidegate/v1\ntenant:\n  tenant_id: '{OTHER_ID}' # whose\n  name: X\n" + ACTIONS,
    f"apiVersion: tidegate/v1\ntenant:\n  tenant_id: >-\n    {OTHER_ID}\n  name: X\n" + ACTIONS,
    f"apiVersion: tidegate/v1\n'tenant':\n  name: X\n  tenant_id:\n    {OTHER_ID}\n" + ACTIONS,
    f"apiVersion: tidegate/v1\n{ACTIONS}tenant: {{tenant_id: {OTHER_ID},\n  name: X}}",
    f"apiVersion: tidegate/v1\n{ACTIONS}tenant:\n  name: X\n  tenant_id: {OTHER_ID}",
    f"---\n{{apiVersion: tidegate/v1, tenant: {{name: X, tenant_id: {OTHER_ID}}}, actions: []}}\n",
    "apiVersion: tidegate/v1\ntenant:\n" + ACTIONS,
    "apiVersion: tidegate/v1\ntenant: {}\n" + ACTIONS,
    "\ufeff" + ACTIONS + "apiVersion: tidegate/v1\n",
    json.dumps({"apiVersion": "tidegate/v1", "tenant": {"name": "X"}, "actions": []}),
    json.dumps({"apiVersion": "tidegate/v1", "tenant": {"name": "X", "tenant_id": OTHER_ID}}),
]


@pytest.mark.parametrize("text", NAMED)
def test_a_document_is_for_the_tenant_of_the_flag(text: str) -> None:
    """However a document names its tenant, the flag replaces it, and no line moves."""
    tenant = Tenant(tenant_id="0190f1c4-5b7e-7c3a-9d2e-000000000001", name="T", slug="t")
    made = AppliedDocument(text.encode()).for_tenant(tenant.tenant_id)
    source = parse_document(made.content).read(tenant).compiled.source
    assert source.tenant == tenant
    assert [each.name for each in source.actions] == (["X"] if ACTIONS in text else [])
    lines = text.removeprefix("\ufeff").splitlines()
    for number, line in enumerate(made.content.decode("utf-8-sig").splitlines()):
        if "tenant_id" not in "".join(lines[max(number - 1, 0) : number + 1]):
            assert line == lines[number]


def test_the_first_document_of_the_page_applies_to_a_tenant(
    served: Served, owner: Caller, tmp_path: Path
) -> None:
    """The example of the page, whose tenant has a name only, applies with the flag."""
    page = (Path(__file__).parents[2] / "docs" / "definitions.md").read_text()
    file = tmp_path / "d.yaml"
    file.write_text(page.split("```yaml\n")[1].split("```")[0])
    other = owner.post("tenants", {"name": f"Page {owner.operator_id}"}).json()
    done = changes(
        runner(served, owner.token, other["slug"])("apply", str(file), "--yes", "--json")
    )
    assert ("created", "Password guessing") in {(each["change"], each["name"]) for each in done}


def test_every_text_survives_export_check_and_apply(run: Run, tmp_path: Path) -> None:
    """Texts that look like numbers, words or signs of YAML are exported as texts."""
    texts = ["1e3", "08", "+1e3", ".1e3", "0o17", "yes", "~", "=", "<<", "2026-01-01", "", " a "]
    texts += ["\x00", "\x85", "\u2028", "\ufeff", "a\nb", "a // b", "\r\n", "\U0001f600"]
    block = {"body": "1e3\n", "headers": {"1e3": "08", "x": "~"}}
    content = {
        "apiVersion": "tidegate/v1",
        "lists": [{"name": "1e3", "slug": "08", "kind": "string", "entries": texts}],
        "actions": [{"name": "=", "slug": "e1", "expression": "true // a " + "long " * 40}],
        "mitigations": [{"name": "~", "slug": "1e3", "mode": "Block", "block": block}],
    }
    first, exported = tmp_path / "first.json", tmp_path / "exported.yaml"
    first.write_text(json.dumps(content))
    run("apply", str(first), "--yes")
    run("export", "-o", str(exported))
    assert CliRunner().invoke(tidegate, ["check", str(exported)]).exit_code == 0
    assert changes(run("apply", str(exported), "--yes", "--json")) == []
    assert yaml.safe_load(exported.read_text())["lists"][0]["entries"] == texts


def test_deleting_is_asked_about(served: Served, owner: Caller, document: Path) -> None:
    """The question names what the document lacks, and nothing is deleted without a yes."""
    flags = ["--url", served.base_url, "--token", owner.token]
    for answer in ("", "n\n"):
        result = CliRunner().invoke(tidegate, ["apply", str(document), *flags], input=answer)
        assert result.exit_code == 1
        assert "deletes entity ip-user-agent" in result.stderr
    exported = CliRunner().invoke(tidegate, ["export", *flags]).stdout
    assert "ip-user-agent" in exported
    result = CliRunner().invoke(tidegate, ["apply", str(document), *flags], input="y\n")
    assert result.exit_code == 0, result.output
    assert "ip-user-agent" not in CliRunner().invoke(tidegate, ["export", *flags]).stdout


def test_old_and_new_lines_are_shown(run: Run, tmp_path: Path) -> None:
    """A dry run shows the replaced line next to the new one."""
    file = tmp_path / "d.yaml"
    text = "apiVersion: tidegate/v1\nactions:\n  - {name: A, expression: request.path == '/a'}\n"
    file.write_text(text)
    run("apply", str(file), "--yes")
    file.write_text(text.replace("'/a'", "'/b'"))
    shown = run("apply", str(file), "--dry-run", code=2).stdout
    assert "- expression: request.path == '/a'" in shown
    assert "+ expression: request.path == '/b'" in shown


def test_tenants_and_keys_are_made_by_commands(served: Served, owner: Caller) -> None:
    """A key of a new tenant is shown once, listed without its text, and ended by its name."""
    flags = ["--url", served.base_url, "--token", owner.token]

    def call(*arguments: str) -> str:
        result = CliRunner().invoke(tidegate, [*arguments, *flags])
        assert result.exit_code == 0, result.output
        return result.stdout

    made = json.loads(call("tenant", "create", f"Made {owner.operator_id}", "--json"))
    assert made["slug"] in call("tenant", "list")
    tenant = ["--tenant", made["slug"]]
    key = call("api-key", "create", "edge", *tenant).strip()
    assert key.startswith("tg_")
    listed = call("api-key", "list", *tenant)
    assert "edge" in listed
    assert key not in listed
    assert "revoked key edge" in call("api-key", "revoke", "edge", *tenant)
    (ended,) = json.loads(call("api-key", "list", "--json", *tenant))
    assert ended["revoked_at"] is not None
    options = ["--can-sync", "--expires", "90d", "--limit", "120", "--source", "edge-1"]
    call("api-key", "create", "daemon", *options, *tenant)
    daemon = json.loads(call("api-key", "list", "--json", *tenant))[-1]
    assert (daemon["name"], daemon["can_sync"], daemon["source_id"]) == ("daemon", True, "edge-1")
    assert daemon["rate_limit_per_minute"] == 120
    lifetime = datetime.fromisoformat(daemon["expires_at"]) - datetime.now(UTC)
    assert timedelta(days=89) < lifetime <= timedelta(days=90)
    assert "120 a minute  can sync  source edge-1" in call("api-key", "list", *tenant)
    missing = CliRunner().invoke(tidegate, ["api-key", "revoke", "nobody", *tenant, *flags])
    assert missing.exit_code == 1
