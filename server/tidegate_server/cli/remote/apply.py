"""``tidegate apply``: replace a tenant's definitions by a document's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from tidegate.cli.findings.report import STANDARD_INPUT, FindingsError, of_document, print_text
from tidegate.cli.output import console, errors, json_option, print_json, say_if_terminal
from tidegate.cli.remote import Remote, RemoteError
from tidegate.policy.definitions.findings import Finding
from tidegate.policy.document.tree import MAX_BYTES
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.cli.remote.document import AppliedDocument
from tidegate_server.cli.remote.values import Values, shown
from tidegate_server.settings.outbound import RemoteSettings

WOULD_CHANGE = 2
"""The exit code of a dry run that found something to change."""
_COLOURS = {"-": "red", "+": "green"}


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--dry-run", is_flag=True, help="Print what would change, change nothing, exit with 2 then."
)
@click.option("--yes", is_flag=True, help="Delete what the document lacks without asking.")
@remote_options
@json_option
def apply(remote: RemoteSettings, file: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Make a tenant's definitions those of FILE (- is standard input), and print what changes.

    The tenant is the one that FILE names, unless --tenant says another.
    """
    document = AppliedDocument(_content(file))
    name = STANDARD_INPUT if file == "-" else file
    service = Remote(remote)
    tenant_id = _tenant_of(service, document)
    if remote.tenant:
        document = document.for_tenant(tenant_id)
    before = Values.of_document(service.call("GET", f"tenants/{tenant_id}/definitions"))
    done = _put(service, tenant_id, document, name, dry_run=dry_run or not yes)
    deleted = [each for each in done["changes"] if each["change"] == "deleted"]
    if not dry_run and not yes:
        if deleted:
            _ask(deleted)
        done = _put(service, tenant_id, document, name, dry_run=False)
    if as_json:
        print_json(done)
    else:
        _print(name, done, before, document.values())
    sys.exit(WOULD_CHANGE if dry_run and done["changes"] else 0)


def _content(file: str) -> bytes:
    if file == "-":
        say_if_terminal("a document")
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    return Path(file).read_bytes()


def _tenant_of(service: Remote, document: AppliedDocument) -> str:
    """The selected tenant: from --tenant, else from the document, else the only one.

    Raises:
        RemoteError: the document names a tenant that the token has no access to.
    """
    written = document.tenant
    if service.settings.tenant or written is None:
        return service.tenant_id()
    for slug, tenant_id in service.tenants().items():
        if written in (slug, tenant_id):
            return tenant_id
    raise RemoteError(
        f"wrong-tenant: the document is of the tenant `{written}`, and the token is not; give"
        " --tenant to apply it to another"
    )


def _put(
    service: Remote, tenant_id: str, document: AppliedDocument, name: str, *, dry_run: bool
) -> Any:
    query = "?dry_run=true" if dry_run else ""
    path = f"tenants/{tenant_id}/definitions{query}"
    try:
        return service.call("PUT", path, document.content, document.media)
    except RemoteError as error:
        found = [each for each in error.problem.get("errors", ()) if "line" in each]
        if not found:
            raise
        raise FindingsError(of_document(name, map(_finding, found))) from None


def _finding(error: dict[str, Any]) -> Finding:
    return Finding(
        error.get("code", "invalid-definitions"),
        error["detail"],
        error.get("pointer", ""),
        error.get("line", 1),
        error.get("column", 1),
        error.get("severity", "error"),
        error.get("hint"),
    )


def _ask(deleted: list[dict[str, Any]]) -> None:
    for each in deleted:
        errors.print(f"deletes {each['kind']} {each['name']}", style="red", markup=False)
    if not click.confirm("Delete what the document lacks?", err=True):
        raise click.Abort


def _print(name: str, done: Any, before: Values, after: Values) -> None:
    warnings = [_finding({**each, "severity": "warning"}) for each in done["warnings"]]
    print_text(errors, of_document(name, warnings))
    for change in done["changes"]:
        console.print(f"{change['change']} {change['kind']} {change['name']}", markup=False)
        for member in change["members"]:
            old, new = before.find(change, member), after.find(change, member)
            for sign, value in (("-", old), ("+", new)):
                for line in shown(member, value):
                    console.print(f"  {sign} {line}", style=_COLOURS[sign], markup=False)
    said = "would change" if done["dry_run"] else "changed"
    console.print(f"{len(done['changes'])} {said}, revision {done['revision']}", markup=False)
    if not done["dry_run"] and not done.get("active", True):
        errors.print(
            f"saved, and not active yet: the definitions of before decide until active_revision is"
            f" {done['revision']} in {done['status']}",
            style="yellow",
            markup=False,
        )
