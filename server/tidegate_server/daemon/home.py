"""The folder of a daemon: its identity, its service, and its files."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import UUID, uuid4

import attrs
import yaml

from tidegate.errors import TidegateError
from tidegate_server.daemon import private, xml_files

CONFIG, CREDENTIALS, RUNTIME = "config.yaml", "credentials.xml", "runtime.xml"
FOLDERS = ("cache", "logs", "data")
_CREDENTIALS = ("api_key",)
_RUNTIME = ("daemon_id", "tenant_id", "public_key", "address", "certificate")
_KEY = re.compile(r"[\x21-\x7e]{1,512}")


class HomeError(TidegateError):
    """The folder isn't a daemon's; the message says how to make it one."""

    code = "not-initialised"


@attrs.frozen
class Home:
    """The opened folder.

    Args:
        path: the folder's path.
        api_key: API key of the tenant; may sync.
        daemon_id: id of this daemon.
        tenant_id: the tenant whose definitions it decides by.
        public_key: the service's public key in hexadecimal; empty before the first sync.
        address: the address of the daemon that runs, as a URL; ``unix:`` and the path of a Unix
            socket. Empty if none runs, or if it was started by an older version.
        certificate: the path of its certificate; empty without TLS.
    """

    path: Path
    api_key: str = attrs.field(repr=False)
    daemon_id: UUID
    tenant_id: UUID
    public_key: str = ""
    address: str = ""
    certificate: str = ""

    @property
    def cache(self) -> Path:
        """The folder for the service's data, which can be fetched again."""
        return self.path / "cache"

    @property
    def data(self) -> Path:
        """Definitions by kind, and the spool."""
        return self.path / "data"

    @property
    def logs(self) -> Path:
        """Log files."""
        return self.path / "logs"

    def pinned(self, public_key: str) -> Home:
        """Store the service's public key in the folder, once it is known.

        Raises:
            OSError: it cannot be written.
        """
        made = attrs.evolve(self, public_key=public_key)
        _write_runtime(made)
        return made

    def running(self, address: str, certificate: str) -> Home:
        """Store the address of the daemon in the folder, for other commands.

        Args:
            address: as in the attribute; empty once the daemon has stopped.
            certificate: as in the attribute.

        Raises:
            OSError: it cannot be written.
        """
        made = attrs.evolve(self, address=address, certificate=certificate)
        _write_runtime(made)
        return made


def make(path: Path, api_base: str, api_key: str, tenant_id: UUID) -> Home:
    """Create a folder, or point an existing one to another service; its spool stays.

    Args:
        path: the folder's path.
        api_base: the service's address.
        api_key: the tenant's API key.
        tenant_id: the tenant's id.

    Raises:
        HomeError: the key is malformed.
        PrivateFileError: existing files cannot be trusted.
        OSError: it cannot be written.
    """
    if not _KEY.fullmatch(api_key):
        raise HomeError("an API key is 1 to 512 visible ASCII characters")
    private.make_directory(path)
    for name in FOLDERS:
        private.make_directory(path / name)
    known = xml_files.read(path / RUNTIME, "runtime", _RUNTIME) or {}
    daemon_id = UUID(known["daemon_id"]) if "daemon_id" in known else uuid4()
    running = {name: known.get(name, "") for name in ("address", "certificate")}
    made = Home(path, api_key, daemon_id, tenant_id, **running)
    xml_files.write(path / CREDENTIALS, "credentials", {"api_key": api_key})
    _write_runtime(made)
    _write_config(path / CONFIG, api_base, tenant_id)
    return made


def load(path: Path) -> Home:
    """The folder of a daemon.

    Raises:
        HomeError: it isn't one, or is incomplete.
        PrivateFileError: a file in it cannot be trusted.
        XmlFileError: a file in it is malformed.
    """
    hint = "run `tidegate init --api-base URL --tenant-id ID`"
    if not path.is_dir():
        raise HomeError(f"there is no folder `{path}`: {hint}")
    private.make_directory(path)
    credentials = xml_files.read(path / CREDENTIALS, "credentials", _CREDENTIALS)
    runtime = xml_files.read(path / RUNTIME, "runtime", _RUNTIME)
    if credentials is None or runtime is None:
        raise HomeError(f"`{path}` has no {CREDENTIALS} or no {RUNTIME}: {hint}")
    try:
        ids = UUID(runtime["daemon_id"]), UUID(runtime["tenant_id"])
        key = credentials["api_key"]
    except (KeyError, ValueError):
        raise HomeError(f"a text in `{path}` is missing or no id: {hint}") from None
    if not _KEY.fullmatch(key):
        raise HomeError(f"`{path / CREDENTIALS}` holds no API key: {hint}")
    for name in FOLDERS:
        private.make_directory(path / name)
        private.remove_leftovers(path / name)
    more = (runtime.get(name, "") for name in ("public_key", "address", "certificate"))
    return Home(path, key, *ids, *more)


def _write_runtime(made: Home) -> None:
    values = {"daemon_id": str(made.daemon_id), "tenant_id": str(made.tenant_id)}
    more = {name: getattr(made, name) for name in _RUNTIME if name not in values}
    values |= {name: value for name, value in more.items() if value}
    xml_files.write(made.path / RUNTIME, "runtime", values)


def _write_config(path: Path, api_base: str, tenant_id: UUID) -> None:
    """Set the address in the settings file, and leave the other settings as they are."""
    content = private.read(path, xml_files.MAX_BYTES) if path.exists() else None
    try:
        found = yaml.safe_load(content.decode()) if content else {}
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise HomeError(f"`{path}` is no YAML: {error}") from None
    if not isinstance(found, dict | None):
        raise HomeError(f"`{path}` must hold an object")
    found = found or {}
    found["remote"] = {**found.get("remote", {}), "url": api_base, "tenant": str(tenant_id)}
    private.write(path, yaml.safe_dump(found, sort_keys=False).encode())
