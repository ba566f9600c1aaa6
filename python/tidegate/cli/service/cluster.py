"""``tidegate cluster``: the nodes over a database of PostgreSQL, and how one is taken out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from tidegate.cli.output import console, json_option, print_json
from tidegate.cli.service.settings import SettingsCommand, settings_options, unusable
from tidegate.cluster import directory
from tidegate.cluster.rows import Drain
from tidegate.errors import TidegateError
from tidegate.server.directory.database import database_of
from tidegate.stores.migrations import current

if TYPE_CHECKING:
    from tidegate.cluster.rows import Member, Rows
    from tidegate.config import Settings
    from tidegate.stores.directory.cluster_rows import ClusterRows

LOOK_SECONDS = 1.5
"""Longer than the time between two renewals of a lease."""
PARTITION = 0
"""The one that there is."""
POLL_SECONDS = 0.1
HAND_OVER_SECONDS = 60.0


class ClusterError(TidegateError):
    """What was asked of a cluster cannot be done."""

    code = "cluster"


@click.group()
def cluster() -> None:
    """Look at the nodes that share a database of PostgreSQL, choose the owner, take one out."""


@cluster.command(cls=SettingsCommand)
@settings_options
@json_option
def status(settings: Settings, as_json: bool) -> None:
    """Show each node, which of them decides, and how old its lease is.

    It looks for a second and a half, because leases are renewed each second.  Exits with 1 when no
    node that lives is the owner.
    """
    with _rows(settings) as rows:
        ages = _ages(rows)
        found, epoch = rows.read(), rows.epoch()
    with database_of(settings.directory, settings.store.url).connection() as connection:
        revision = current(connection)
    owner = next((each.owner for each in found.placements.values()), None)
    nodes = [_described(each, owner, ages) for each in found.members.values()]
    nodes.sort(key=lambda each: str(each["name"]))
    if as_json:
        print_json({"owner": owner, "epoch": epoch, "revision": revision, "nodes": nodes})
    else:
        _print(nodes)
        console.print(f"epoch {epoch} of the log, revision {revision} of the tables", markup=False)
    if not any(each["role"] == "owner" and each["is_connected"] for each in nodes):
        raise ClusterError("no node decides: start one with `tidegate serve --node-name NAME`")


@cluster.command(cls=SettingsCommand)
@click.argument("name")
@settings_options
def drain(settings: Settings, name: str) -> None:
    """Have a node hand everything over to another one, and then stop.

    Callers are not refused meanwhile; give them another node's address first.
    """
    with _rows(settings) as rows:
        found = rows.read()
        _need_successor(found, name)
        if rows.change(Drain(name, is_draining=True)) is None:
            raise ClusterError(f"there is no node named `{name}`")
        _wait(rows, lambda found: found.placements[PARTITION].owner != name, "hand over")
        console.print(f"{name} is not the owner (any more)", markup=False)
        _wait(rows, lambda found: not found.members[name].is_connected, "stop")
        console.print(f"{name} has stopped", markup=False)


@cluster.command(cls=SettingsCommand)
@click.argument("name")
@settings_options
def move(settings: Settings, name: str) -> None:
    """Make a node the owner; the one before goes on as a gateway.

    The node reads the states first, and then the log is handed over.  Callers are not refused
    meanwhile.
    """
    with _rows(settings) as rows:
        found = rows.read()
        _need_live(found, name)
        if found.members[name].is_draining:
            raise ClusterError(f"{name} is about to stop")
        while (change := directory.move(rows.read(), PARTITION, name)) is not None:
            if rows.change(change) is not None:
                break
        _wait(rows, lambda found: found.placements[PARTITION].owner == name, "become the owner")
        console.print(f"{name} is the owner", markup=False)


@contextmanager
def _rows(settings: Settings) -> Iterator[ClusterRows]:
    if not settings.store.url:
        raise unusable("store.url", None, "nodes share a database of PostgreSQL; name it")
    from tidegate.stores.directory.cluster_rows import ClusterRows

    rows = ClusterRows(settings.store.url)
    try:
        yield rows
    finally:
        rows.close()


def _ages(rows: ClusterRows) -> dict[str, float | None]:
    """Seconds since each node renewed its lease; None for one that did not while we looked."""
    seen = {each.name: each.renewals for each in rows.read().members.values()}
    renewed: dict[str, float | None] = dict.fromkeys(seen)
    until = time.monotonic() + LOOK_SECONDS
    while (now := time.monotonic()) < until:
        for each in rows.read().members.values():
            if seen.get(each.name) != each.renewals:
                seen[each.name], renewed[each.name] = each.renewals, now
        time.sleep(POLL_SECONDS)
    end = time.monotonic()
    return {name: None if at is None else round(end - at, 1) for name, at in renewed.items()}


def _described(member: Member, owner: str | None, ages: dict[str, float | None]) -> dict[str, Any]:
    return {
        "name": member.name,
        "role": "owner" if member.name == owner else "gateway",
        "address": member.address,
        "is_connected": member.is_connected,
        "is_draining": member.is_draining,
        "lease_age_seconds": ages.get(member.name),
        "starts": member.run,
    }


def _print(nodes: list[dict[str, Any]]) -> None:
    table = Table(box=None)
    for title in ("node", "role", "address", "state", "lease renewed"):
        table.add_column(title)
    for each in nodes:
        state = "draining" if each["is_draining"] else "up"
        age = each["lease_age_seconds"]
        renewed = f"not for {LOOK_SECONDS} s" if age is None else f"{age} s ago"
        if not each["is_connected"]:
            state, renewed = "gone", "-"
        table.add_row(each["name"], each["role"], each["address"], state, renewed)
    console.print(table)


def _need_live(rows: Rows, name: str) -> None:
    if name not in rows.members:
        names = ", ".join(sorted(rows.members)) or "none"
        raise ClusterError(f"there is no node named `{name}`; there are {names}")
    if not rows.members[name].is_connected:
        raise ClusterError(f"{name} has stopped already")


def _need_successor(rows: Rows, name: str) -> None:
    _need_live(rows, name)
    others = [
        each
        for each in rows.members.values()
        if each.name != name and each.is_connected and not each.is_draining
    ]
    if not others:
        raise ClusterError(
            f"no other node could take over from {name}; start one, or stop {name} with SIGTERM"
        )


def _wait(rows: ClusterRows, is_done: Callable[[Rows], bool], what: str) -> None:
    until = time.monotonic() + HAND_OVER_SECONDS
    while not is_done(rows.read()):
        if time.monotonic() > until:
            raise ClusterError(f"the node did not {what} within {HAND_OVER_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
