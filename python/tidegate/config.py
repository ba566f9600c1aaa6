"""Settings, declared once; the only reader of the environment and of settings files.

Each setting has one name and three spellings: ``store.url`` in the file, ``TIDEGATE_STORE_URL``
in the environment, ``--store-url`` on the command line.  A flag wins over the environment, the
environment over the file, the file over the default.
"""

from __future__ import annotations

from pathlib import Path

import attrs
import typed_settings as ts
import yaml
from attrs import validators
from typed_settings.exceptions import ConfigFileLoadError
from typed_settings.loaders import FileFormat, Loader
from typed_settings.types import OptionList, SettingsClass, SettingsDict

ENVIRONMENT_PREFIX = "TIDEGATE_"
FILE_VARIABLE = "TIDEGATE_CONFIG"
DEFAULT_DIRECTORY = "~/.tidegate"


def _port(_instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    if not 0 <= value <= 65_535:
        raise ValueError(f"`{attribute.name}` must be 0 to 65,535, not {value}")


_PER_MINUTE = validators.and_(validators.ge(1), validators.le(100_000_000))


@ts.settings
class ServerSettings:
    """Where and how the server listens."""

    host: str = ts.option(default="127.0.0.1", help="Address to listen on.")
    port: int = ts.option(
        default=8080, validator=_port, help="Port to listen on; 0 takes a free one."
    )
    unix_socket: str = ts.option(default="", help="Path of a Unix socket, instead of a port.")
    tls_certificate: str = ts.option(default="", help="Certificate chain in PEM; turns on TLS.")
    tls_key: str = ts.option(default="", help="Private key of the certificate in PEM.")
    public_url: str = ts.option(
        default="", help="Address that browsers reach the server by; by default the listening one."
    )
    drain_seconds: float = ts.option(
        default=10.0,
        validator=validators.and_(validators.ge(0), validators.le(3600)),
        help="How long a stop waits for requests that were accepted.",
    )
    max_connections: int = ts.option(
        default=4_096,
        validator=validators.ge(1),
        help="Connections that may be open at once; more are refused with 503.",
    )
    max_connections_per_address: int = ts.option(
        default=1_024,
        validator=validators.ge(1),
        help="How many of them one client address may have, or one IPv6 network of 64 bits. All "
        "that a proxy in front brings comes from its address.",
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
        validator=validators.and_(validators.ge(100), validators.le(100_000)),
        help="Hot calls of one tenant that may wait to be decided; more are answered with 429.",
    )


@ts.settings
class StoreSettings:
    """Where data is kept, and how surely."""

    directory: str = ts.option(
        default=DEFAULT_DIRECTORY, help="Directory of the database and of key material."
    )
    durability: str = ts.option(
        default="full",
        validator=validators.in_(("full", "relaxed")),
        help="full: no decision is answered that is not on disk; relaxed: answer all the same when "
        "the log cannot be written, and record the gap.",
    )
    snapshot_every: int = ts.option(
        default=50_000,
        validator=validators.ge(1_000),
        help="Decisions after which the state is saved again; a start repeats those since.",
    )
    wait_for_lock: bool = ts.option(
        default=False,
        click={"param_decls": ("--wait-for-lock/--no-wait-for-lock",)},
        help="When another server owns the directory, wait for its end instead of refusing; the "
        "port is opened afterwards.",
    )


@ts.settings
class LogSettings:
    """What is logged."""

    level: str = ts.option(
        default="info",
        validator=validators.in_(("debug", "info", "warning", "error")),
        help="Least level that is logged.",
    )
    format: str = ts.option(
        default="json", validator=validators.in_(("json", "text")), help="json or text."
    )


@ts.settings
class TokenSettings:
    """Operators' tokens."""

    lifetime_seconds: int = ts.option(
        default=8 * 3600,
        validator=validators.and_(validators.ge(60), validators.le(30 * 24 * 3600)),
        help="How long a token counts.",
    )


@ts.settings
class MetricsSettings:
    """Who sees which figures."""

    public: str = ts.option(
        default="health",
        validator=validators.in_(("none", "health", "all")),
        help="What /metrics shows without a credential: none; health: those of the process and the "
        "store; all: also what tenants have and decide.",
    )
    token: str = ts.secret(
        default="", help="Bearer token that sees all figures; without one nobody needs it."
    )


@ts.settings
class WorkersSettings:
    """The processes that work beside the decisions."""

    processes: int = ts.option(
        default=2,
        validator=validators.and_(validators.ge(1), validators.le(64)),
        help="Processes for what takes long: checks, definitions, explanations, large documents.",
    )
    memory_mib: int = ts.option(
        default=2_048,
        validator=validators.and_(validators.ge(256), validators.le(1024 * 1024)),
        help="Memory that one such process may take before it is ended and replaced.",
    )
    operator_places: int = ts.option(
        default=6,
        validator=validators.ge(1),
        help="Requests of one operator for such work that may be under way; for others the double.",
    )
    tenant_places: int = ts.option(
        default=12,
        validator=validators.ge(1),
        help="The same of one tenant.",
    )
    places: int = ts.option(
        default=64,
        validator=validators.ge(1),
        help="The same of all together.",
    )


@ts.settings
class Settings:
    """Everything that can be set."""

    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    log: LogSettings = LogSettings()
    token: TokenSettings = TokenSettings()
    metrics: MetricsSettings = MetricsSettings()
    workers: WorkersSettings = WorkersSettings()

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.store.directory).expanduser()

    @property
    def database_url(self) -> str:
        """The database in the data directory."""
        return f"sqlite:///{self.directory / 'tidegate.db'}"


@ts.settings
class RemoteSettings:
    """Which service commands talk to, and as whom."""

    url: str = ts.option(default="http://127.0.0.1:8080", help="Address of the service.")
    token: str = ts.secret(
        default="", help="An operator's token; better in the environment than on the command line."
    )
    tenant: str = ts.option(
        default="", help="Slug or id of the tenant; not needed for the only one."
    )


class _YamlFormat:
    """Settings files in YAML, read by the safe loader."""

    def __call__(
        self, path: Path, settings_cls: SettingsClass, options: OptionList
    ) -> SettingsDict:
        """The settings of a file.

        Raises:
            ConfigFileLoadError: it cannot be read, or holds no object.
        """
        del settings_cls, options
        try:
            data = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
        except (OSError, yaml.YAMLError) as error:
            raise ConfigFileLoadError(str(error)) from error
        if not isinstance(data, dict | None):
            raise ConfigFileLoadError("the settings must be an object")
        return data or {}


def loaders() -> list[Loader]:
    """Where settings come from, in order: a file, then the environment.

    The file is the one ``TIDEGATE_CONFIG`` names, else ``~/.tidegate/config.yaml`` if there.
    """
    default = Path(DEFAULT_DIRECTORY).expanduser() / "config.yaml"
    formats: dict[str, FileFormat] = {
        "*.yaml": _YamlFormat(),
        "*.yml": _YamlFormat(),
        "*.toml": ts.TomlFormat(None),
    }
    return [
        ts.FileLoader(formats, [default], env_var=FILE_VARIABLE),
        ts.EnvLoader(prefix=ENVIRONMENT_PREFIX),
    ]


def remote_loaders() -> list[Loader]:
    """Where the settings of commands that talk to a service come from: the environment."""
    return [ts.EnvLoader(prefix=ENVIRONMENT_PREFIX)]


def load_settings() -> Settings:
    """The settings of file and environment, without flags."""
    return ts.load_settings(Settings, loaders())
