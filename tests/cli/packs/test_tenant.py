"""``tidegate packs --server``: the packs of a tenant, by the same commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest
from click.testing import CliRunner, Result
from tests.server.conftest import owned, owner, served, tenant
from tests.server.serving import Caller, Served

from tidegate.cli.main import tidegate
from tidegate.cli.remote import RemoteError
from tidegate.packs import BUNDLED, bundled_pack
from tidegate_server.definitions import packs as handlers

__all__ = ["owned", "owner", "served", "tenant"]
Run: TypeAlias = Callable[..., Result]


@pytest.fixture
def run(served: Served, owned: tuple[Caller, str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line of an Owner of one tenant."""
    caller, tenant_id = owned
    monkeypatch.setenv("TIDEGATE_TOKEN", caller.token)

    def run(*arguments: str, code: int = 0) -> Result:
        flags = ["--server", served.base_url, "--tenant", tenant_id]
        result = CliRunner().invoke(tidegate, ["packs", *arguments, *flags])
        assert result.exit_code == code, result.output
        return result

    return run


def definitions(owner: Caller, tenant: str) -> Any:
    return owner.get(f"{tenant}/definitions").json()


def test_a_pack_of_a_tenant_is_added_and_removed(run: Run, owner: Caller, tenant: str) -> None:
    """The same words as for a document, with the notes and versions of the service."""
    before = definitions(owner, tenant)
    shown = run("show", "scraping").stdout
    assert all(note in shown for note in bundled_pack("scraping").misses)
    done = run("add", "scraping", "--slot", 'product_page=request.path.startsWith("/p/")').stdout
    assert "+ policies.scraping-pages" in done
    assert "slot product_page (given)" in done
    assert "It only monitors." in done
    listed = json.loads(run("list", "--json").stdout)
    assert [each["name"] for each in listed] == list(BUNDLED)
    assert {each["name"]: each["added"] for each in listed if each["added"]} == {
        "scraping": "1.0.0"
    }
    assert "- policies.scraping-pages" in run("remove", "scraping").stdout
    after = definitions(owner, tenant)
    assert [each["slug"] for each in after.pop("actions")] == ["product_page"]
    assert {**after, "revision": 0} == {
        **{name: value for name, value in before.items() if name != "actions"},
        "revision": 0,
    }


def test_changes_of_a_tenant_are_kept_by_an_update_and_asked_about(
    run: Run, owner: Caller, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conflict is printed and ends with 1; nothing changed is removed without `--yes`."""
    run("add", "scraping")
    document = definitions(owner, tenant)
    document["policies"][-1]["priority"] = 7
    owner.request("PUT", f"{tenant}/definitions", json=document)
    before = bundled_pack("scraping")
    (policy,) = before.definitions["policies"]
    newer = {**before.definitions, "policies": [{**policy, "priority": 8}]}
    changed = attrs.evolve(before, definitions=newer, version="1.1.0")
    earlier = monkeypatch.context()
    with earlier as patch:
        patch.setattr(type(before), "definitions_of", lambda *_: before.definitions)
        patch.setattr(handlers, "bundled_pack", lambda _: changed)
        found = json.loads(run("diff", "scraping", "--json").stdout)
        conflict = {"place": "policies.scraping-pages.priority", "site": 7, "pack": 8}
        assert found["conflicts"] == [conflict]
        assert [each["after"] for each in found["yours"]] == [7]
        assert (found["from"], found["to"]) == ("1.0.0", "1.1.0")
        dry = run("update", "scraping", "--dry-run", code=1).stdout
        assert dry == run("update", "scraping", code=1).stdout
        assert "yours stays: 7; pack: 8" in dry
    assert definitions(owner, tenant)["policies"][-1]["priority"] == 7


def test_what_a_tenant_changed_is_removed_only_with_yes(
    run: Run, owner: Caller, tenant: str
) -> None:
    """Without a terminal to ask at, the command changes nothing and ends with 1."""
    run("add", "scraping")
    document = definitions(owner, tenant)
    document["policies"][-1]["priority"] = 7
    owner.request("PUT", f"{tenant}/definitions", json=document)
    assert "nothing is removed" in run("remove", "scraping", code=1).output
    assert len(definitions(owner, tenant)["policies"]) == len(document["policies"])
    run("remove", "scraping", "--yes")
    assert len(definitions(owner, tenant)["policies"]) == len(document["policies"]) - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "scraping", "--enforce"), "`--enforce` is for documents"),
        (("update", "scraping", "--to", "shop.yaml"), "`--to` is for documents"),
        (("remove",), "name a pack"),
    ],
)
def test_flags_of_documents_are_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    """A flag that would have no effect is a wrong call."""
    assert message in run(*arguments, code=2).output


def test_a_refusal_of_the_service_is_said(run: Run) -> None:
    """The problem's text and code end the command."""
    for arguments, said in (
        (("update", "scraping"), "don't have the pack `scraping`"),
        (("show", "none-such"), "not-found"),
        (("add", "scraping", "--slot", "page=true"), "no such slot"),
    ):
        error = run(*arguments, code=1).exception
        assert isinstance(error, RemoteError)
        assert said in str(error)
