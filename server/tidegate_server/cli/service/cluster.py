"""``tidegate cluster``: the nodes that share a PostgreSQL database, and how to remove one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from tidegate.cli.output import console, json_option, print_json
from tidegate.errors import TidegateError
from tidegate_server.cli.service.settings import SettingsCommand, settings_options, unusable
from tidegate_server.cluster import ownership
from tidegate_server.directory.database import database_of
from tidegate_server.stores.migrations import current
from tidegate_server.stores.objects import tenants

if TYPE_CHECKING:
    from tidegate_server.cluster.ownership import Member, Partition, Place, View
    from tidegate_server.settings.whole import Settings
    from tidegate_server.stores.directory.members import ClusterReader

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
    """Show each node, and the owner, the follower and the tenants of each partition.

    A new tenant goes to the partition with the fewest.  A follower is level when it has all states,
    so that it can take over at once.  Exits with 1 when a partition has no owner.
    """
    with _reader(settings) as reader:
        view = reader.read()
    with database_of(settings.directory, settings.store.url).connection() as connection:
        revision, load = current(connection), tenants.counts(connection)
    places = ownership.plan(view)
    nodes = [_described(each, view) for each in view.members.values()]
    nodes.sort(key=lambda each: str(each["name"]))
    partitions = [
        _placed(each, places[each.number], load.get(each.number, 0))
        for each in view.partitions.values()
    ]
    first = {name: partitions[0][name] if partitions else None for name in ("owner", "epoch")}
    if as_json:
        print_json({**first, "revision": revision, "nodes": nodes, "partitions": partitions})
    else:
        _print(nodes)
        console.print()
        _print_partitions(partitions)
        console.print()
        console.print(f"revision {revision} of the tables", markup=False)
    if not partitions or any(each["owner"] is None for each in partitions):
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
    with _reader(settings) as reader:
        _need_successor(reader.read(), name)
        reader.drain(name)
        _wait(reader, lambda view: not _owned(view, name), "hand over")
        console.print(f"{name} is no longer the owner", markup=False)
        _wait(reader, lambda view: view.members[name].session is None, "stop")
        console.print(f"{name} has stopped", markup=False)


def _owned(view: View, name: str) -> list[int]:
    """The partitions of a node."""
    return [number for number, each in view.partitions.items() if each.owner == name]


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
    meanwhile.  Nodes share partitions evenly: another one may move the other way afterwards.
    """
    with _reader(settings) as reader:
        view = reader.read()
        _need_live(view, name)
        number = _chosen(view, partition)
        if view.members[name].is_draining:
            raise ClusterError(f"{name} is about to stop")
        reader.move(number, name)
        _wait(reader, lambda view: view.partitions[number].owner == name, "become the owner")
        of = f" of partition {number}" if len(view.partitions) > 1 else ""
        console.print(f"{name} is the owner{of}", markup=False)


def _chosen(view: View, partition: int | None) -> int:
    """The selected partition."""
    known = ", ".join(map(str, view.partitions))
    if partition is None and len(view.partitions) > 1:
        raise ClusterError(f"there are the partitions {known}: name one with `--partition`")
    number = next(iter(view.partitions), 0) if partition is None else partition
    if number not in view.partitions:
        raise ClusterError(f"there is no partition {number}; there are {known or 'none yet'}")
    return number


@contextmanager
def _reader(settings: Settings) -> Iterator[ClusterReader]:
    if not settings.store.url:
        raise unusable("store.url", None, "nodes share a database of PostgreSQL; name it")
    from tidegate_server.stores.directory.members import ClusterReader

    reader = ClusterReader(settings.store.url)
    try:
        yield reader
    finally:
        reader.close()


def _described(member: Member, view: View) -> dict[str, Any]:
    owns = [number for number, each in view.partitions.items() if each.owner == member.name]
    places = ownership.plan(view)
    follows = [number for number, each in places.items() if each.follower == member.name]
    return {
        "name": member.name,
        "role": "owner" if owns else "gateway",
        "owns": owns,
        "follows": follows,
        "address": member.address,
        "is_connected": member.session is not None,
        "is_draining": member.is_draining,
        "starts": member.run,
    }


def _print(nodes: list[dict[str, Any]]) -> None:
    table = Table(box=None)
    for title in ("node", "role", "address", "state"):
        table.add_column(title)
    for each in nodes:
        state = "draining" if each["is_draining"] else "up"
        if not each["is_connected"]:
            state = "gone"
        role = "follower" if each["role"] == "gateway" and each["follows"] else each["role"]
        table.add_row(each["name"], role, each["address"], state)
    console.print(table)


def _placed(partition: Partition, place: Place, load: int) -> dict[str, Any]:
    return {
        "partition": partition.number,
        "owner": partition.owner,
        "follower": place.follower,
        "is_level": place.follower in partition.level,
        "is_moving": partition.owner != place.owner,
        "epoch": partition.epoch,
        "tenants": load,
    }


def _print_partitions(partitions: list[dict[str, Any]]) -> None:
    table = Table(box=None)
    for title in ("partition", "owner", "follower", "state", "epoch", "tenants"):
        table.add_column(title)
    for each in partitions:
        state = "no follower"
        if each["is_moving"]:
            state = "moving"
        elif each["follower"]:
            state = "level" if each["is_level"] else "catching up"
        names = (each["owner"] or "-", each["follower"] or "-")
        numbers = (str(each["epoch"]), str(each["tenants"]))
        table.add_row(str(each["partition"]), *names, state, *numbers)
    console.print(table)


def _need_live(view: View, name: str) -> None:
    if name not in view.members:
        names = ", ".join(sorted(view.members)) or "none"
        raise ClusterError(f"there is no node named `{name}`; there are {names}")
    if view.members[name].session is None:
        raise ClusterError(f"{name} has stopped already")


def _need_successor(view: View, name: str) -> None:
    _need_live(view, name)
    others = [
        each
        for each in view.members.values()
        if each.name != name and each.session is not None and not each.is_draining
    ]
    if not others:
        raise ClusterError(
            f"no other node could take over from {name}; start one, or stop {name} with SIGTERM"
        )


def _wait(reader: ClusterReader, is_done: Callable[[View], bool], what: str) -> None:
    until = time.monotonic() + HAND_OVER_SECONDS
    while not is_done(reader.read()):
        if time.monotonic() > until:
            raise ClusterError(f"the node did not {what} within {HAND_OVER_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
