"""``tidegate export``: a tenant's definitions as a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import yaml

from tidegate.cli.remote.client import Remote, remote_options
from tidegate.settings import RemoteSettings


class _PlainDumper(yaml.SafeDumper):
    """Writes YAML as the document reader accepts it: without anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


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
        else yaml.dump(
            document, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=100
        )
    )
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
