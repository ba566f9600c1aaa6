"""The settings of a machine that makes its own decisions; ``whole.py`` adds them to the others."""

from __future__ import annotations

from typing import Literal, TypeAlias

import typed_settings as ts

from tidegate.policy.definitions.model import FailMode
from tidegate_server.settings.bounds import Between, Networks

CaptureSource: TypeAlias = Literal["interface", "pcap", "access-log"]


@ts.settings
class DaemonSettings:
    """The daemon that decides on this machine (``tidegate run``)."""

    host: str = ts.option(default="127.0.0.1", help="Address that the daemon listens on.")
    port: int = ts.option(
        default=9411, validator=Between(0, 65_535), help="Port of it; 0 takes a free one."
    )
    unix_socket: str = ts.option(default="", help="Path of a Unix socket, instead of a port.")
    tls_certificate: str = ts.option(default="", help="Certificate chain in PEM; turns on TLS.")
    tls_key: str = ts.option(default="", help="Private key of the certificate in PEM.")
    token: str = ts.secret(
        default="",
        help="Text that callers send in `x-service-api-key`; without one, whoever reaches the "
        "address may ask. Needed, with TLS, on an address that other machines reach.",
    )
    follow: bool = ts.option(
        default=True,
        help="Follow the changes of the service; without it, `tidegate sync` alone changes what "
        "the daemon decides by.",
    )
    allow_http: bool = ts.option(
        default=False,
        help="The API key may be sent to another machine without TLS: the network is yours.",
    )
    offline_seconds: float = ts.option(
        default=60.0,
        validator=Between(1, 86_400),
        help="How long the service may be away before the tenant's fail mode counts.",
    )
    fail_mode: FailMode = ts.option(
        default="last-known",
        help="What decides while nothing of the tenant can be read, not even its own fail mode: "
        "closed refuses everything, the others let it pass.",
    )
    retry_seconds: float = ts.option(
        default=30.0,
        validator=Between(1, 3_600),
        help="Longest wait between two attempts to reach the service.",
    )
    fail_open_per_hour: int = ts.option(
        default=10_000,
        validator=Between(0),
        help="Requests let through by the fail mode in an hour before the alarm is raised.",
    )
    spool_mib: int = ts.option(
        default=1_024,
        validator=Between(1, 1_048_576),
        help="Room for decisions that are not forwarded yet; what finds none is dropped, and "
        "counted.",
    )
    log_mib: int = ts.option(
        default=10, validator=Between(1, 10_240), help="Size at which a log file is rotated."
    )


@ts.settings
class CaptureSettings:
    """Reading traffic, and refusing packets (``tidegate capture run``)."""

    interface: str = ts.option(default="", help="Interface to read requests from.")
    filter: str = ts.option(
        default="tcp dst port 80",
        help="Which packets to look at, as `tcp dst port 80 or tcp dst port 8080`. Packets are "
        "dropped on the ports that it names as destinations.",
    )
    source: CaptureSource = ts.option(
        default="interface", help="Where requests come from: interface, pcap or access-log."
    )
    file: str = ts.option(default="", help="The file of the source, if it is one.")
    one_sided: bool = ts.option(
        default=False,
        help="Only the packets to the servers are seen, as behind a tap. Then any sender can make "
        "up requests of any address, so it never goes with `--enforce`.",
    )
    queue: int = ts.option(
        default=20_000,
        validator=Between(100, 1_000_000),
        help="Events that may wait to be forwarded; more are dropped, and counted.",
    )
    per_minute: int = ts.option(
        default=5_000,
        validator=Between(1, 100_000_000),
        help="Events a minute that are forwarded; past it, alike ones are counted as one.",
    )
    guard_share: float = ts.option(
        default=0.2,
        validator=Between(0, 1),
        help="Share of other browsers in an address's recent traffic above which its packets "
        "are not dropped.",
    )
    never: str = ts.option(
        default="",
        validator=Networks(),
        help="Networks that are never dropped, with commas between them, next to those that this "
        "machine depends on.",
    )
    max_drop_seconds: int = ts.option(
        default=3_600,
        validator=Between(1, 86_400),
        help="Longest time that an address is dropped for one Block.",
    )
    max_drops: int = ts.option(
        default=20_000,
        validator=Between(1, 1_000_000),
        help="Addresses that are dropped at a time; more are left to whoever answers requests.",
    )
    drops_per_minute: int = ts.option(
        default=2_000,
        validator=Between(1, 1_000_000),
        help="Addresses that join those in a minute; more wait for the next.",
    )
    stop_share: float = ts.option(
        default=0.5,
        validator=Between(0, 1),
        help="Share of the recent visitors that may be dropped; above it nothing is, until the "
        "capture is started again.",
    )
