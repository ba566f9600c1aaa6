"""``tidegate cluster``: the nodes that share a PostgreSQL database, and how to remove one."""

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
    from tidegate.cluster.rows import Member, Placement, Rows
    from tidegate.settings.whole import Settings
    from tidegate.stores.directory.cluster_rows import ClusterRows

LOOK_SECONDS = 1.5
"""Longer than the time between two lease renewals."""
POLL_SECONDS = 0.1
HAND_OVER_SECONDS = 60.0


class ClusterError(TidegateError):
    """A cluster command cannot be carried out."""

    code = "cluster"


@click.group()
def cluster() -> None:
    """Look at the nodes that share a database of PostgreSQL, choose the owner, take one out."""


@cluster.command(cls=SettingsCommand)
@settings_options
@json_option
def status(settings: Settings, as_json: bool) -> None:
    """Show each node, the partitions that it decides for, and how old its lease is.

    It looks for a second and a half, because leases are renewed each second.  Exits with 1 when a
    partition has no owner that lives.
    """
    with _rows(settings) as rows:
        ages = _ages(rows)
        found, epochs = rows.read(), rows.epochs()
    with database_of(settings.directory, settings.store.url).connection() as connection:
        revision = current(connection)
    placements = list(found.placements.values())
    nodes = [_described(each, placements, ages) for each in found.members.values()]
    nodes.sort(key=lambda each: str(each["name"]))
    partitions = [_placed(each, epochs) for each in placements]
    if as_json:
        first = {name: partitions[0][name] if partitions else None for name in ("owner", "epoch")}
        print_json({**first, "revision": revision, "nodes": nodes, "partitions": partitions})
    else:
        _print(nodes)
        if len(partitions) > 1:
            _print_partitions(partitions)
            console.print(f"revision {revision} of the tables", markup=False)
        else:
            text = f"epoch {epochs.get(0, 0)} of the log, revision {revision} of the tables"
            console.print(text, markup=False)
    deciding = {each["name"] for each in nodes if each["is_connected"]}
    if not partitions or any(each["owner"] not in deciding for each in partitions):
        raise ClusterError(
            "a partition has no node that decides: start one with `tidegate serve --node-name NAME`"
        )


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
        _wait(rows, lambda found: not _owned(found, name), "hand over")
        console.print(f"{name} is not the owner (any more)", markup=False)
        _wait(rows, lambda found: not found.members[name].is_connected, "stop")
        console.print(f"{name} has stopped", markup=False)


@cluster.command(cls=SettingsCommand)
@click.argument("name")
@click.option(
    "--partition",
    type=click.IntRange(min=0),
    help="Which one, as `tidegate cluster status` shows them; needed where there are several.",
)
@settings_options
def move(settings: Settings, name: str, partition: int | None) -> None:
    """Make a node the owner of a partition; the one before goes on as a gateway.

    The node reads the states first, and then the log is handed over.  Callers are not refused
    meanwhile.  Nodes share partitions out evenly: another one may move the other way afterwards.
    """
    with _rows(settings) as rows:
        found = rows.read()
        _need_live(found, name)
        number = _chosen(found, partition)
        if found.members[name].is_draining:
            raise ClusterError(f"{name} is about to stop")
        while (change := directory.move(rows.read(), number, name)) is not None:
            if rows.change(change) is not None:
                break
        _wait(rows, lambda found: found.placements[number].owner == name, "become the owner")
        of = f" of partition {number}" if len(found.placements) > 1 else ""
        console.print(f"{name} is the owner{of}", markup=False)


def _chosen(rows: Rows, partition: int | None) -> int:
    """The selected partition."""
    known = ", ".join(map(str, rows.placements))
    if partition is None and len(rows.placements) > 1:
        raise ClusterError(f"there are the partitions {known}: name one with `--partition`")
    number = next(iter(rows.placements), 0) if partition is None else partition
    if number not in rows.placements:
        raise ClusterError(f"there is no partition {number}; there are {known or 'none yet'}")
    return number


def _owned(rows: Rows, name: str) -> list[int]:
    """The partitions of a node."""
    return [each.partition for each in rows.placements.values() if each.owner == name]


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
    """Seconds since each node renewed its lease; None for one that did not during the check."""
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


def _described(
    member: Member, placements: list[Placement], ages: dict[str, float | None]
) -> dict[str, Any]:
    owns = [each.partition for each in placements if each.owner == member.name]
    return {
        "name": member.name,
        "role": "owner" if owns else "gateway",
        "owns": owns,
        "follows": [each.partition for each in placements if each.follower == member.name],
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


def _placed(placement: Placement, epochs: dict[int, int]) -> dict[str, Any]:
    return {
        "partition": placement.partition,
        "owner": placement.owner,
        "follower": placement.follower,
        "is_level": placement.is_level,
        "is_moving": placement.is_moving,
        "epoch": epochs.get(placement.partition, 0),
    }


def _print_partitions(partitions: list[dict[str, Any]]) -> None:
    table = Table(box=None)
    for title in ("partition", "owner", "follower", "state", "epoch"):
        table.add_column(title)
    for each in partitions:
        state = "followed" if each["is_level"] else "reading" if each["follower"] else "alone"
        if each["is_moving"]:
            state = "moving"
        names = (each["owner"] or "-", each["follower"] or "-")
        table.add_row(str(each["partition"]), *names, state, str(each["epoch"]))
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
