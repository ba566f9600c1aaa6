"""Settings, declared once; the only reader of the environment and of settings files.

Each setting has one name and three spellings: ``store.url`` in the file, ``TIDEGATE_STORE_URL``
in the environment, ``--store-url`` on the command line.  A flag wins over the environment, the
environment over the file, the file over the default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args, get_origin

import attrs
import orjson
import typed_settings as ts
import yaml
from typed_settings.loaders import Loader
from typed_settings.types import LoadedSettings, LoaderMeta, OptionList, SettingsClass

from tidegate.errors import SettingsError
from tidegate.hybrid_settings import CaptureSettings, DaemonSettings
from tidegate.setting_bounds import Between, HostAndPort, JsonObject, NodeName

ENVIRONMENT_PREFIX = "TIDEGATE_"
FILE_VARIABLE = "TIDEGATE_CONFIG"
HOME_VARIABLE = "TIDEGATE_HOME"
DEFAULT_DIRECTORY = "~/.tidegate"


Durability: TypeAlias = Literal["full", "relaxed"]
Standby: TypeAlias = Literal["required", "none"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
LogFormat: TypeAlias = Literal["auto", "json", "text"]
NewOperators: TypeAlias = Literal["invited", "anyone"]
PublicMetrics: TypeAlias = Literal["none", "health", "all"]


_PER_MINUTE = Between(1, 100_000_000)


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
        "that a proxy in front brings comes from its address.",
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


@ts.settings
class CatalogSettings:
    """Bounds of the field catalog."""

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
class TokenSettings:
    """Operators' tokens."""

    lifetime_seconds: int = ts.option(
        default=8 * 3600,
        validator=Between(60, 30 * 24 * 3600),
        help="How long a token counts.",
    )


@ts.settings
class LoginSettings:
    """How operators log in."""

    local: bool = ts.option(default=True, help="Log in with email and password.")
    providers: str = ts.secret(
        default="",
        validator=JsonObject(),
        help="Identity providers by name, each an object: client_id, client_secret or "
        "client_secret_file, issuer, display_name, scopes, hosts, email_domains. docs/login.md "
        "has all members. JSON in the environment; in the settings file a group.",
    )
    new_operators: NewOperators = ts.option(
        default="invited",
        help="Who becomes an operator by a first login with an identity provider: invited, whose "
        "address a tenant has given a role; anyone, whom a provider knows.",
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
class PublishSettings:
    """The destination of published decisions."""

    url: str = ts.secret(
        default="",
        help="Where each decision is sent on to: a file:///PATH of JSON lines, the https:// "
        "address of a webhook, or the nats:// or tls:// address of a server with JetStream.",
    )
    secret: str = ts.secret(default="", help="Signs what a webhook gets.")
    subject: str = ts.option(
        default="tidegate.decisions",
        help="Subject of NATS; the tenant's id is added to it.",
    )


@ts.settings
class ChallengeSettings:
    """Providers of challenges that need keys of their own."""

    turnstile_site_key: str = ts.option(
        default="", help="Site key of Turnstile; the provider works with both keys only."
    )
    turnstile_secret: str = ts.secret(default="", help="Secret key of Turnstile.")
    turnstile_verify_url: str = ts.option(
        default="https://challenges.cloudflare.com/turnstile/v0/siteverify",
        help="Where solutions of Turnstile are checked.",
    )


@ts.settings
class WorkersSettings:
    """The processes for long work, beside the decisions."""

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
class ConsoleSettings:
    """The console in the browser."""

    enabled: bool = ts.option(default=True, help="Hand out the console at /console/.")


@ts.settings
class RemoteSettings:
    """The service and the key that commands use."""

    url: str = ts.option(default="http://127.0.0.1:8080", help="Address of the service.")
    token: str = ts.secret(
        default="", help="An operator's token; better in the environment than on the command line."
    )
    tenant: str = ts.option(
        default="", help="Slug or id of the tenant; not needed for the only one."
    )


@ts.settings
class Settings:
    """Everything that can be set."""

    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    node: NodeSettings = NodeSettings()
    catalog: CatalogSettings = CatalogSettings()
    log: LogSettings = LogSettings()
    token: TokenSettings = TokenSettings()
    login: LoginSettings = LoginSettings()
    metrics: MetricsSettings = MetricsSettings()
    publish: PublishSettings = PublishSettings()
    challenge: ChallengeSettings = ChallengeSettings()
    workers: WorkersSettings = WorkersSettings()
    console: ConsoleSettings = ConsoleSettings()
    remote: RemoteSettings = RemoteSettings()
    daemon: DaemonSettings = DaemonSettings()
    capture: CaptureSettings = CaptureSettings()

    @property
    def directory(self) -> Path:
        """The data directory of the server."""
        if self.store.directory == DEFAULT_DIRECTORY:
            return home()
        return Path(self.store.directory).expanduser()

    @property
    def database_url(self) -> str:
        """The database, in the data directory or elsewhere."""
        return self.store.url or f"sqlite:///{self.directory / 'tidegate.db'}"


def fields_of(settings: type[Any], group: str = "") -> Iterator[tuple[str, attrs.Attribute[Any]]]:
    """Every setting of a class, with its name as in the settings file."""
    for field in attrs.fields(attrs.resolve_types(settings)):
        if field.type is not None and attrs.has(field.type):
            yield from fields_of(field.type, f"{group}{field.name}.")
        else:
            yield group + field.name, field


def check_value(setting: str, field: attrs.Attribute[Any], value: object, source: str) -> None:
    """Check a value as it was read.

    Args:
        setting: the name, as in the settings file.
        field: the setting.
        value: as it was read, before it is converted.
        source: where it was read, for the message.

    Raises:
        SettingsError: it is of the wrong type, none of the choices, or out of bounds.
    """
    try:
        converted = _converted(field, value)
        if field.validator is not None:
            field.validator(None, field, converted)
    except ValueError as error:
        # What is secret has a representation of its own.
        shown = None if callable(field.repr) else value
        raise SettingsError(str(error), setting, shown, source) from None


def _converted(field: attrs.Attribute[Any], value: object) -> Any:
    kind: Any = field.type
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        if value not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return value
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
    is_simple = isinstance(value, str | int | float)
    if not is_simple or (kind is int and isinstance(value, bool | float)):
        raise ValueError(f"it must be {wanted}")
    try:
        return ts.default_converter().structure(value, kind)
    except (TypeError, ValueError):
        raise ValueError(f"it must be {wanted}") from None


@attrs.frozen
class _File:
    """A settings file in YAML or TOML."""

    path: Path

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> LoadedSettings:
        """The settings of the file.

        Raises:
            SettingsError: it cannot be read, or holds what is no setting or cannot be one.
        """
        del options
        content = self._read()
        known = dict(fields_of(settings_cls))
        for name, value in _flat(content):
            if name not in known:
                raise SettingsError(_unknown(name, list(known)), name, None, f"from {self.path}")
            check_value(name, known[name], value, f"from {self.path}")
        return LoadedSettings(content, LoaderMeta(str(self.path), self.path.parent))

    def has(self, setting: str) -> bool:
        """Whether the file gives a setting."""
        return setting in dict(_flat(self._read()))

    def _read(self) -> dict[str, Any]:
        try:
            text = self.path.read_text(encoding="utf-8")
            data = (
                tomllib.loads(text)
                if self.path.suffix == ".toml"
                else yaml.load(text, Loader=yaml.CSafeLoader)
            )
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())
            raise SettingsError(
                f"the settings file `{self.path}` cannot be read: {reason}"
            ) from None
        if not isinstance(data, dict | None):
            raise SettingsError(f"the settings file `{self.path}` must hold an object")
        return _with_texts(data or {})


def _with_texts(content: dict[Any, Any]) -> dict[Any, Any]:
    """The content of a file, with a JSON text for each setting that is an object there."""
    for name, field in fields_of(Settings):
        group, member = name.split(".")
        members = content.get(group)
        if isinstance(field.validator, JsonObject) and isinstance(members, dict):
            value = members.get(member)
            if isinstance(value, dict):
                written = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
                content = {**content, group: {**members, member: written.decode()}}
    return content


@attrs.frozen
class _Section:
    """One section of a settings file, for commands that need no other."""

    file: _File
    name: str

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> LoadedSettings:
        """The settings of the section.

        Raises:
            SettingsError: as of the whole file.
        """
        whole = self.file(Settings, options)
        content = whole.settings.get(self.name) or {}
        known = dict(fields_of(settings_cls))
        return LoadedSettings(
            {each: content[each] for each in content if each in known}, whole.meta
        )


def _flat(content: dict[Any, Any], group: str = "") -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{group}{name}.")
        else:
            yield f"{group}{name}", value


def _unknown(name: str, known: list[str]) -> str:
    members = [each for each in known if each.startswith(name + ".")]
    if members:
        return f"it is a group of settings, such as `{members[0]}`"
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    return "there is no such setting" + (f"; did you mean `{near[0]}`?" if near else "")


class _Environment(ts.EnvLoader):
    """Settings in the environment, checked where they are read."""

    def __call__(self, settings_cls: SettingsClass, options: OptionList) -> LoadedSettings:
        """The settings of the environment.

        Raises:
            SettingsError: one of them cannot be used.
        """
        for name, field in fields_of(settings_cls):
            variable = variable_of(name)
            if variable in os.environ:
                check_value(name, field, os.environ[variable], f"from {variable}")
        return super().__call__(settings_cls, options)


def variable_of(setting: str) -> str:
    """The environment variable of a setting."""
    return ENVIRONMENT_PREFIX + setting.replace(".", "_").upper()


def home() -> Path:
    """The folder of this user, absolute: what ``TIDEGATE_HOME`` names, else ``~/.tidegate``."""
    return Path(os.environ.get(HOME_VARIABLE) or DEFAULT_DIRECTORY).expanduser().absolute()


def _file() -> _File | None:
    """The settings file: the one ``TIDEGATE_CONFIG`` names, else the default one if it is there.

    Raises:
        SettingsError: the one that is named is not there.
    """
    named = os.environ.get(FILE_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise SettingsError(f"{FILE_VARIABLE} names `{named}`, and there is no such file")
        return _File(Path(named))
    default = home() / "config.yaml"
    return _File(default) if default.is_file() else None


def loaders() -> list[Loader]:
    """The sources of settings, in order: a file, then the environment.

    The file is the one ``TIDEGATE_CONFIG`` names, else ``~/.tidegate/config.yaml`` if there.

    Raises:
        SettingsError: the file that is named is not there.
    """
    file = _file()
    environment = _Environment(prefix=ENVIRONMENT_PREFIX)
    return [environment] if file is None else [file, environment]


def remote_loaders() -> list[Loader]:
    """The sources of settings for commands that talk to a service.

    That is the section ``remote`` of the settings file, then the environment.

    Raises:
        SettingsError: the file that is named is not there.
    """
    file = _file()
    environment = _Environment(prefix=ENVIRONMENT_PREFIX)
    return [environment] if file is None else [_Section(file, "remote"), environment]


def where_read(setting: str) -> str:
    """The source of a setting's value, when no flag gives it."""
    if variable_of(setting) in os.environ:
        return f"from {variable_of(setting)}"
    file = _file()
    if file is not None and file.has(setting):
        return f"from {file.path}"
    return "the default"


def load_settings() -> Settings:
    """The settings of file and environment, without flags.

    Raises:
        SettingsError: one of them cannot be used.
    """
    return ts.load_settings(Settings, loaders())
