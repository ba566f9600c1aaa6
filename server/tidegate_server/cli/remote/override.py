"""``tidegate ban``, ``allow`` and ``override``: answers by hand on a running service."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import click

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.remote import Remote, RemoteError
from tidegate.errors import EvaluationError
from tidegate.functions.addresses import parse_range
from tidegate.functions.time import parse_duration
from tidegate_server.cli.remote.client import remote_options
from tidegate_server.settings.outbound import RemoteSettings

_PAGE = 500
_SECOND = 1_000_000_000
_MAX_NAME = 200
_VERBS = {"ban": "Ban", "allow": "Let through"}
_DONE = {"ban": "banned", "allow": "let through"}


def _whole_seconds(_: click.Context, __: click.Parameter, value: str) -> int:
    """Whole seconds of a text such as ``2h`` or ``1h30m``."""
    try:
        seconds = parse_duration(value).nanoseconds // _SECOND
    except EvaluationError:
        seconds = 0
    if seconds < 1:
        raise click.BadParameter(f"`{value}` isn't a duration such as 2h, 1h30m or 45s")
    return seconds


_for = click.option(
    "--for",
    "seconds",
    callback=_whole_seconds,
    required=True,
    metavar="DURATION",
    help="How long, such as 2h or 30m.",
)
_reason = click.option("--reason", required=True, help="Why; it is shown to other operators.")
_wide = click.option("--wide", is_flag=True, help="Take a network wider than /8 or, IPv6, /19.")


@click.command()
@click.argument("target")
@_for
@_reason
@_wide
@remote_options
@json_option
def ban(
    remote: RemoteSettings, target: str, seconds: int, reason: str, wide: bool, as_json: bool
) -> None:
    """Block TARGET for a time, before any policy.

    TARGET is an address, a network, the id of an entity, or DEFINITION=KEY such as account=ann
    (several parts of a key as JSON: session=["ann","web"]).
    """
    _override(remote, "ban", target, (seconds, reason, wide), as_json=as_json)


@click.command()
@click.argument("target")
@_for
@_reason
@_wide
@remote_options
@json_option
def allow(
    remote: RemoteSettings, target: str, seconds: int, reason: str, wide: bool, as_json: bool
) -> None:
    """Let TARGET through for a time, whatever policies, mitigations and bans say.

    TARGET is as for `tidegate ban`.
    """
    _override(remote, "allow", target, (seconds, reason, wide), as_json=as_json)


@click.group()
def override() -> None:
    """List and end bans and exemptions of a running service."""


@override.command("list")
@remote_options
@json_option
def list_(remote: RemoteSettings, as_json: bool) -> None:
    """Print the bans and exemptions of the tenant, also those that ended and are still there."""
    found = _all(Remote(remote))
    if as_json:
        print_json(found)
        return
    for each in found:
        target = each["network"] or each["name"]
        console.print(
            f"{each['override_id']}  {each['kind']}  {target}  until {each['ends_at']}"
            f"  {each['author']}: {each['reason']}",
            markup=False,
            soft_wrap=True,
        )


@override.command()
@click.argument("target")
@remote_options
def end(remote: RemoteSettings, target: str) -> None:
    """End the ban or exemption of TARGET now: its id, its name, or whom it is for."""
    service = Remote(remote)
    meant = [
        each
        for each in _all(service)
        if target in (each["override_id"], each["name"], each["network"], each["entity_id"])
    ]
    if len(meant) != 1:
        known = f"{len(meant)} overrides are" if meant else "no override is"
        raise RemoteError(f"{known} for `{target}`; `tidegate override list` shows all, with ids")
    service.call("DELETE", f"{_path(service)}/{meant[0]['override_id']}")
    console.print(f"ended {meant[0]['name']}", markup=False)


def _override(
    remote: RemoteSettings,
    kind: str,
    target: str,
    how: tuple[int, str, bool],
    *,
    as_json: bool,
) -> None:
    service = Remote(remote)
    seconds, reason, wide = how
    body = {"kind": kind, "duration_seconds": seconds, "reason": reason, "wide": wide}
    body |= _target(service, kind, target)
    made = service.call("POST", _path(service), json.dumps(body).encode())
    if as_json:
        print_json(made)
        return
    console.print(
        f"{_DONE[kind]} {target} until {made['ends_at']} ({made['override_id']})",
        markup=False,
        soft_wrap=True,
    )


def _target(service: Remote, kind: str, target: str) -> dict[str, Any]:
    """The members of the body that say whom an override is for.

    Raises:
        RemoteError: the target is nothing of the kind, or its entity definition doesn't exist.
    """
    if parse_range(target) is not None:
        return {"network": target}
    definition, sign, text = target.partition("=")
    if not sign:
        try:
            return {"entity_id": str(UUID(target))}
        except ValueError:
            form = "an address, a network, the id of an entity, or DEFINITION=KEY"
            raise RemoteError(f"`{target}` isn't {form}") from None
    tenant = f"tenants/{service.tenant_id()}"
    known = service.pages(f"{tenant}/entity-definitions?limit={_PAGE}")
    ids = {each["slug"]: each["entity_definition_id"] for each in known}
    if definition not in ids:
        raise RemoteError(
            f"no entity definition is called `{definition}`; there are: {', '.join(sorted(ids))}"
        )
    wanted = {"entity_definition_id": ids[definition], "key": _key(text)}
    found = service.call("POST", f"{tenant}/entities/find", json.dumps(wanted).encode())
    shown = ", ".join(map(str, found["key"]))
    name = f"{_VERBS[kind]} {definition} {shown}"[:_MAX_NAME]
    printable = "".join(each if each.isprintable() else "?" for each in name)
    return {"entity_id": found["entity_id"], "name": printable}


def _key(text: str) -> list[Any]:
    """The parts of a key: a JSON array, or the one part as text."""
    try:
        parts = json.loads(text)
    except ValueError:
        parts = None
    return parts if isinstance(parts, list) else [text]


def _path(service: Remote) -> str:
    return f"tenants/{service.tenant_id()}/overrides"


def _all(service: Remote) -> list[dict[str, Any]]:
    return service.pages(f"{_path(service)}?limit={_PAGE}")
