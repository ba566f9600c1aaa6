"""``tidegate export``: a tenant's definitions as a document."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tidegate.cli.remote import Remote
from tidegate.policy.document.yaml_text import write_yaml
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.settings.outbound import RemoteSettings


@click.command()
@click.option("--format", "form", type=click.Choice(["yaml", "json"]), default="yaml")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file to write."
)
@remote_options
def export(remote: RemoteSettings, form: str, output: Path | None) -> None:
    """Print a tenant's definitions as a document that `tidegate apply` takes."""
    service = Remote(remote)
    document = service.call("GET", f"tenants/{service.tenant_id()}/definitions")
    text = (
        json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        if form == "json"
        else write_yaml(document)
    )
    if output is None:
        click.echo(text.encode(), nl=False)
    else:
        output.write_bytes(text.encode())
