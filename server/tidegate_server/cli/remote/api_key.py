"""``tidegate api-key``: the API keys of a tenant of a running service."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from tidegate.cli.output import console, errors, json_option, print_json
from tidegate.cli.remote import Remote, RemoteError
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.settings.outbound import RemoteSettings

_PAGE = 500
_SPAN = re.compile(r"([1-9][0-9]{0,4})([mhdwy])")
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


def expiry(text: str) -> datetime:
    """Read a time with its zone, a day, or a span from now.

    Raises:
        click.BadParameter: the text is anything else.
    """
    span = _SPAN.fullmatch(text)
    if span is not None:
        return datetime.now(UTC) + timedelta(seconds=int(span[1]) * _UNITS[span[2]])
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"`{text}` is not a time; write it as 90d, 2027-01-01 or 2027-01-01T00:00:00Z"
        ) from None
    is_day = "T" not in text and " " not in text
    if found.tzinfo is None and not is_day:
        raise click.BadParameter(f"`{text}` names no time zone; add Z for UTC")
    return found.replace(tzinfo=found.tzinfo or UTC)


@click.group("api-key")
def api_key() -> None:
    """Make, list and revoke the keys that sources of events call with."""


@api_key.command()
@click.argument("name")
@click.option(
    "--can-sync",
    is_flag=True,
    help="Daemons and captures may read the definitions, and forward decisions with it.",
)
@click.option(
    "--expires",
    "--expires-at",
    "expires_at",
    type=expiry,
    metavar="WHEN",
    help="When it ends: 90d, 2027-01-01 (in UTC) or 2027-01-01T00:00:00Z. Without it, never.",
)
@click.option(
    "--limit",
    "--rate-limit-per-minute",
    "rate_limit_per_minute",
    type=click.IntRange(min=1),
    help="Most events a minute; the service's default without it.",
)
@click.option("--source", "source_id", help="Source of the events that are sent with it.")
@remote_options
@json_option
def create(
    remote: RemoteSettings,
    name: str,
    can_sync: bool,
    expires_at: datetime | None,
    as_json: bool,
    **given: int | str | None,
) -> None:
    """Make a key called NAME and print its text, which is shown this once."""
    service = Remote(remote)
    body: dict[str, Any] = {"name": name, "can_sync": can_sync}
    body |= {key: value for key, value in given.items() if value is not None}
    if expires_at is not None:
        body["expires_at"] = expires_at.isoformat()
    made = service.call("POST", _path(service), json.dumps(body).encode())
    if as_json:
        print_json(made)
        return
    click.echo(made["key"])
    errors.print(
        f"made key {name}: {', '.join(_described(made))}; this text is not shown again",
        markup=False,
    )


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
        shown = (each["api_key_id"], f"tg_{each['prefix']}", each["name"], *_described(each))
        console.print("  ".join(shown), markup=False)


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


def _described(key: dict[str, Any]) -> Iterator[str]:
    """Yield the state of a key, its limit, and its rights and source if it has them."""
    if key["revoked_at"]:
        yield "revoked"
    else:
        yield f"expires {key['expires_at']}" if key["expires_at"] else "never expires"
    yield f"{key['rate_limit_per_minute']} a minute"
    if key["can_sync"]:
        yield "can sync"
    if key["source_id"]:
        yield f"source {key['source_id']}"


def _path(service: Remote) -> str:
    return f"tenants/{service.tenant_id()}/api-keys"


def _all(service: Remote) -> list[dict[str, Any]]:
    return service.pages(f"{_path(service)}?limit={_PAGE}")
