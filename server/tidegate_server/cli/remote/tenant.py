"""``tidegate tenant``: tenants of a running service."""

from __future__ import annotations

import json

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.remote import Remote
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.settings.outbound import RemoteSettings


@click.group()
def tenant() -> None:
    """Make and list tenants of a running service."""


@tenant.command()
@click.argument("name")
@remote_options
@json_option
def create(remote: RemoteSettings, name: str, as_json: bool) -> None:
    """Make a tenant called NAME; whose token is used becomes its Owner."""
    made = Remote(remote).call("POST", "tenants", json.dumps({"name": name}).encode())
    if as_json:
        print_json(made)
    else:
        console.print(f"made tenant {made['slug']} ({made['tenant_id']})", markup=False)


@tenant.command("list")
@remote_options
@json_option
def list_(remote: RemoteSettings, as_json: bool) -> None:
    """Print the tenants that the token's operator belongs to."""
    mine = Remote(remote).call("GET", "me")["memberships"]
    if as_json:
        print_json(mine)
        return
    for each in mine:
        console.print(f"{each['tenant_id']}  {each['slug']}  {each['role']}", markup=False)
