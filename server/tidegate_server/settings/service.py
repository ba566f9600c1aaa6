"""The settings of the service, apart from its data and operators."""

from __future__ import annotations

from typing import Literal, TypeAlias

import typed_settings as ts

from tidegate_server.settings.bounds import Between, Networks, split_list

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
LogFormat: TypeAlias = Literal["auto", "json", "text"]
PublicMetrics: TypeAlias = Literal["none", "health", "all"]

_PER_MINUTE = Between(1, 100_000_000)


@ts.settings
class GeoSettings:
    """Where clients are."""

    databases: str = ts.option(
        default="",
        help="Address databases in MaxMind's format that give country, AS number and organization "
        "of clients: paths of files, with commas between. The first that knows an answer counts. "
        "A file that is replaced is read again.",
    )


@ts.settings
class ServerSettings:
    """The address of the server, and how it listens."""

    host: str = ts.option(
        default="127.0.0.1",
        click={"param_decls": ("--server-host", "--host")},
        help="Address to listen on; one that other machines reach needs TLS, or a proxy in front.",
    )
    port: int = ts.option(
        default=8080,
        click={"param_decls": ("--server-port", "--port")},
        validator=Between(0, 65_535),
        help="Port to listen on; 0 takes a free one.",
    )
    unix_socket: str = ts.option(default="", help="Path of a Unix socket, instead of a port.")
    tls_certificate: str = ts.option(default="", help="Certificate chain in PEM; turns on TLS.")
    tls_key: str = ts.option(default="", help="Private key of the certificate in PEM.")
    behind_proxy: bool = ts.option(
        default=False,
        help="A proxy with TLS is in front, so plain HTTP may be served on an address that other "
        "machines reach.",
    )
    trusted_proxies: str = ts.option(
        default="",
        validator=Networks(unix=True),
        help="Addresses and networks of the proxies in front, with commas between; `unix` for a "
        "Unix socket. The caller is then the one that they name in X-Forwarded-For or Forwarded.",
    )
    public_url: str = ts.option(
        default="", help="Address that browsers reach the server by; by default the listening one."
    )
    drain_seconds: float = ts.option(
        default=10.0,
        validator=Between(0, 3600),
        help="How long a stop waits for requests that were accepted.",
    )
    max_connections: int = ts.option(
        default=4_096,
        validator=Between(1),
        help="Connections that may be open at once; more are refused with 503.",
    )
    max_connections_per_address: int = ts.option(
        default=1_024,
        validator=Between(1),
        help="How many of them one client address may have, or one IPv6 network of 64 bits. All "
        "that a proxy in front brings comes from its address, unless it is trusted.",
    )
    workers: int = ts.option(
        default=1,
        validator=Between(1, 64),
        help="Processes that decide, behind one port; each tenant has one of them. On SQLite only. "
        "A directory keeps as many as it once had.",
    )
    rate_limit_header: bool = ts.option(
        default=False, help="Send the RateLimit headers with every decision, not only with a 429."
    )
    tenant_rate_limit_per_minute: int = ts.option(
        default=600_000,
        validator=_PER_MINUTE,
        help="Events a minute of one tenant, by all of its keys together.",
    )
    max_api_key_rate_limit_per_minute: int = ts.option(
        default=600_000,
        validator=_PER_MINUTE,
        help="Most events a minute that an Admin may give an API key.",
    )
    tenant_waiting_calls: int = ts.option(
        default=2_000,
        validator=Between(100, 100_000),
        help="Hot calls of one tenant that may wait to be decided; more are answered with 429.",
    )

    @property
    def proxies(self) -> list[str]:
        """The entries of :attr:`trusted_proxies`."""
        return split_list(self.trusted_proxies)


@ts.settings
class WorkersSettings:
    """The processes for long work, which run alongside the decisions."""

    processes: int = ts.option(
        default=2,
        validator=Between(1, 64),
        help="Processes for what takes long: checks, definitions, explanations, large documents.",
    )
    memory_mib: int = ts.option(
        default=2_048,
        validator=Between(256, 1024 * 1024),
        help="Memory that one such process may take before it is ended and replaced.",
    )
    operator_places: int = ts.option(
        default=6,
        validator=Between(1),
        help="Requests of one operator for such work that may be under way; for others the double.",
    )
    tenant_places: int = ts.option(
        default=12,
        validator=Between(1),
        help="The same of one tenant.",
    )
    places: int = ts.option(
        default=64,
        validator=Between(1),
        help="The same of all together.",
    )


@ts.settings
class CatalogSettings:
    """Limits of the field catalog."""

    names: int = ts.option(
        default=1_000,
        validator=Between(100, 10_000),
        help="Names captured from traffic that are kept for one tenant.",
    )
    memory_mib: int = ts.option(
        default=64,
        validator=Between(8, 16_384),
        help="Memory for learning of all tenants together.",
    )


@ts.settings
class LogSettings:
    """Settings of the log."""

    level: LogLevel = ts.option(default="info", help="Least level that is logged.")
    format: LogFormat = ts.option(
        default="auto", help="JSON lines or text; auto: text on a terminal, JSON elsewhere."
    )
    sample_seconds: float = ts.option(
        default=10.0,
        validator=Between(0, 86_400),
        help="One decision gets a line in as many seconds, with how many there were; 0: none.",
    )


@ts.settings
class MetricsSettings:
    """Permission to see figures."""

    public: PublicMetrics = ts.option(
        default="health",
        help="What /metrics shows without a credential: none; health: those of the process and the "
        "store; all: also what tenants have and decide.",
    )
    token: str = ts.secret(
        default="", help="Bearer token that sees all figures; without one nobody needs it."
    )
    policies: int = ts.option(
        default=500,
        validator=Between(0, 10_000),
        help="Policies that have figures of their own; further ones are counted together.",
    )


@ts.settings
class ConsoleSettings:
    """The console in the browser."""

    enabled: bool = ts.option(default=True, help="Hand out the console at /console/.")
