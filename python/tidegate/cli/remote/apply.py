"""``tidegate apply``: make a tenant's definitions those of a document."""

from __future__ import annotations

from pathlib import Path

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.remote.client import Remote, remote_options
from tidegate.config import RemoteSettings


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@remote_options
@json_option
def apply(remote: RemoteSettings, file: Path, dry_run: bool, as_json: bool) -> None:
    """Make a tenant's definitions those of FILE, and print what changes."""
    service = Remote(remote)
    content = file.read_bytes()
    media = "application/json" if content.lstrip()[:1] == b"{" else "application/yaml"
    query = "?dry_run=true" if dry_run else ""
    path = f"tenants/{service.tenant_id()}/definitions{query}"
    done = service.call("PUT", path, content, media)
    if as_json:
        print_json(done)
        return
    for each in done["warnings"]:
        console.print(f"warning: {each['detail']} at `{each['pointer']}`", markup=False)
    for each in done["changes"]:
        members = f": {', '.join(each['members'])}" if each["members"] else ""
        console.print(f"{each['change']} {each['kind']} {each['name']}{members}", markup=False)
    count = len(done["changes"])
    said = "would change" if dry_run else "changed"
    console.print(f"{count} {said}, revision {done['revision']}", markup=False)
