"""``tidegate api-key``: the API keys of a tenant of a running service."""

from __future__ import annotations

import json
from typing import Any

import click

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.cli.remote import Remote, RemoteError
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.settings.outbound import RemoteSettings

_PAGE = 500


@click.group("api-key")
def api_key() -> None:
    """Make, list and revoke the keys that sources of events call with."""


@api_key.command()
@click.argument("name")
@click.option("--expires-at", help="When it ends, such as 2027-01-01T00:00:00Z.")
@click.option("--rate-limit-per-minute", type=click.IntRange(min=1), help="Events a minute.")
@remote_options
@json_option
def create(
    remote: RemoteSettings,
    name: str,
    expires_at: str | None,
    rate_limit_per_minute: int | None,
    as_json: bool,
) -> None:
    """Make a key called NAME and print its text, which is shown this once."""
    service = Remote(remote)
    given = {"expires_at": expires_at, "rate_limit_per_minute": rate_limit_per_minute}
    body = {"name": name} | {key: value for key, value in given.items() if value is not None}
    made = service.call("POST", _path(service), json.dumps(body).encode())
    if as_json:
        print_json(made)
        return
    click.echo(made["key"])
    errors.print(f"made key {name}; this text is not shown again", markup=False)


@api_key.command("list")
@remote_options
@json_option
def list_(remote: RemoteSettings, as_json: bool) -> None:
    """Print all keys of the tenant, also those that ended, without their texts."""
    service = Remote(remote)
    found = _all(service)
    if as_json:
        print_json(found)
        return
    for each in found:
        state = "revoked" if each["revoked_at"] else each["expires_at"] or "no end"
        console.print(
            f"{each['api_key_id']}  tg_{each['prefix']}  {each['name']}  {state}", markup=False
        )


@api_key.command()
@click.argument("name")
@remote_options
def revoke(remote: RemoteSettings, name: str) -> None:
    """End the key of this NAME, id or public prefix, for good."""
    service = Remote(remote)
    meant = [
        each
        for each in _all(service)
        if name in (each["name"], each["api_key_id"], each["prefix"], f"tg_{each['prefix']}")
    ]
    if len(meant) != 1:
        known = "several keys are" if meant else "no key is"
        raise RemoteError(f"{known} called `{name}`; `tidegate api-key list` shows all, with ids")
    service.call("DELETE", f"{_path(service)}/{meant[0]['api_key_id']}")
    console.print(f"revoked key {meant[0]['name']}", markup=False)


def _path(service: Remote) -> str:
    return f"tenants/{service.tenant_id()}/api-keys"


def _all(service: Remote) -> list[dict[str, Any]]:
    return service.pages(f"{_path(service)}?limit={_PAGE}")
