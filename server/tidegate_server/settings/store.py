"""Where the data is, and who decides with it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import typed_settings as ts

from tidegate_server.settings.bounds import Between, HostAndPort, NodeName
from tidegate_server.settings.environment import DEFAULT_DIRECTORY

Durability: TypeAlias = Literal["full", "relaxed"]
Standby: TypeAlias = Literal["required", "none"]


@ts.settings
class StoreSettings:
    """The place of the data, and its durability."""

    directory: str = ts.option(
        default=DEFAULT_DIRECTORY, help="Directory of the database and of key material."
    )
    url: str = ts.secret(
        default="",
        help="Database of PostgreSQL, as in postgresql://user@host/name, in place of the one in "
        "the directory, where the keys stay. It may hold a password; better in the environment "
        "than on the command line.",
    )
    standby: Standby = ts.option(
        default="required",
        help="required: a database of PostgreSQL must have a synchronous standby; none: what was "
        "answered may be lost with its machine.",
    )
    partitions: int = ts.option(
        default=1,
        validator=Between(1, 64),
        help="Logs that the tenants of a database of PostgreSQL are shared out to. Each has a node "
        "of its own that decides, so with several partitions several nodes decide. A database "
        "keeps as many as it once had, and its tenants where they are.",
    )
    durability: Durability = ts.option(
        default="full",
        help="full: no decision is answered that is not on disk; relaxed: answer all the same when "
        "the log cannot be written, and record the gap.",
    )
    snapshot_every: int = ts.option(
        default=50_000,
        validator=Between(1_000),
        help="Decisions after which the state is saved again; a start repeats those since.",
    )
    wait_for_lock: bool = ts.option(
        default=False,
        click={
            "param_decls": (
                "--store-wait-for-lock/--no-store-wait-for-lock",
                "--wait-for-lock/--no-wait-for-lock",
            )
        },
        help="When another server owns the directory, wait for its end instead of refusing; the "
        "port is opened afterwards.",
    )


@ts.settings
class NodeSettings:
    """This node of a cluster: several services over one database of PostgreSQL."""

    name: str = ts.option(
        default="",
        validator=NodeName(),
        help="Name of this node, unique among them; it makes the service one of several "
        "over `store.url`, each of which answers any call.",
    )
    address: str = ts.option(
        default="127.0.0.1:0",
        validator=HostAndPort(),
        help="Host and port that the other nodes reach this one at, over TLS with a key of their "
        "own; port 0 takes a free one.",
    )
